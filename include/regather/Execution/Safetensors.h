//===- Safetensors.h - Files of named tensors -------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Reads and writes the safetensors format: eight bytes with the length of a
// JSON header (little endian), the header, and the bytes of all tensors.
// Source: the format section of https://github.com/huggingface/safetensors.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_SAFETENSORS_H
#define REGATHER_EXECUTION_SAFETENSORS_H

#include "regather/Execution/HostTensor.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <string>
#include <vector>

namespace regather {

struct NamedTensor {
  std::string name;
  HostTensor tensor;
};

/// A safetensors file that was opened for reading. The header is checked as a
/// whole when the file is opened: types and shapes make sense, and the tensors
/// cover the file without gap or overlap.
class SafetensorsFile {
public:
  /// Maps `path`. Errors name the file, and the tensor where there is one.
  static llvm::Expected<SafetensorsFile> open(llvm::StringRef path);

  bool contains(llvm::StringRef name) const { return entries.contains(name); }

  /// Names of all tensors, in the order of their data.
  const std::vector<std::string> &getNames() const { return names; }

  /// Copies the tensor called `name`, whose type and global shape must be as
  /// given.
  llvm::Expected<HostTensor> read(llvm::StringRef name, ElementType type,
                                  llvm::ArrayRef<int64_t> shape) const;

private:
  struct Entry {
    std::string dtype;
    std::vector<int64_t> shape;
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  llvm::Error parseHeader(llvm::StringRef header, uint64_t dataSize);
  llvm::Error checkLayout(uint64_t dataSize);

  std::string path;
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  llvm::StringRef data;
  llvm::StringMap<Entry> entries;
  std::vector<std::string> names;
};

/// Writes `tensors` in the given order. The file appears under its name when it
/// is complete; names are unique.
llvm::Error writeSafetensors(llvm::StringRef path,
                             llvm::ArrayRef<NamedTensor> tensors);

} // namespace regather

#endif // REGATHER_EXECUTION_SAFETENSORS_H
