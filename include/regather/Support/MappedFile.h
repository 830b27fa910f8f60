//===- MappedFile.h - The bytes of a file -----------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_SUPPORT_MAPPEDFILE_H
#define REGATHER_SUPPORT_MAPPEDFILE_H

#include "regather/Support/Result.h"

#include <string_view>

namespace regather {

/// A file that is mapped into memory for reading.
class MappedFile {
public:
  MappedFile() = default;
  MappedFile(MappedFile &&other) noexcept { swap(other); }
  MappedFile &operator=(MappedFile &&other) noexcept {
    swap(other);
    return *this;
  }
  ~MappedFile();

  /// The message says only why, not which file.
  static Result<MappedFile> open(const std::string &path);

  std::string_view getBytes() const { return {data, size}; }

private:
  void swap(MappedFile &other) noexcept {
    std::swap(data, other.data);
    std::swap(size, other.size);
  }

  const char *data = nullptr;
  size_t size = 0;
};

} // namespace regather

#endif // REGATHER_SUPPORT_MAPPEDFILE_H
