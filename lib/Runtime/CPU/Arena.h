//===- Arena.h - The memory of a rank ---------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_CPU_ARENA_H
#define REGATHER_LIB_RUNTIME_CPU_ARENA_H

#include <cstddef>
#include <cstdint>

namespace regather::runtime {

/// Bytes of memory that this machine has.
int64_t getMachineMemory();

/// One range of zeroed memory that is taken from the system at once and begins
/// at the border of a page.
class Arena {
public:
  Arena() = default;
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;
  ~Arena();

  /// False if the system does not grant so much. Called once.
  bool allocate(int64_t numBytes);

  std::byte *getData() const { return data; }
  int64_t getNumBytes() const { return numBytes; }

  /// Fills all of it with a pattern that programs are unlikely to write: as a
  /// float it is -2.9e-16, as an i1 it is invalid.
  void fillWithPattern();

  /// The end of the last byte that does not hold the pattern.
  int64_t findTouchedEnd() const;

private:
  std::byte *data = nullptr;
  int64_t numBytes = 0;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_CPU_ARENA_H
