//===- MemoryMonitor.h - What threads do to memory --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_UNIT_KERNEL_NVPTX_MEMORYMONITOR_H
#define REGATHER_TEST_UNIT_KERNEL_NVPTX_MEMORYMONITOR_H

#include "llvm/Support/Error.h"

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace regather::nvptx {

enum class AccessKind : int32_t {
  Read,
  Write,
  Atomic,
  /// A write that goes on while the thread does, until the thread waits for it.
  BeginCopy,
  EndCopy
};

/// Memory whose every access by the threads of a kernel is looked at. Wrong are
/// those outside of it, those that are not aligned, reads of bytes that nothing
/// has written, writes to what may only be read, and races: two threads touch
/// one byte, one of them writes it, no barrier is between, and they do not both
/// do so by atomic operations. Between blocks of a launch there are no
/// barriers. Nor may anything touch a byte while it is being copied.
class MemoryMonitor {
public:
  enum class Kind {
    /// Memory of all blocks that has contents and is not written.
    Argument,
    /// The same, where a result takes the place of the contents.
    InPlace,
    /// Memory of all blocks without contents.
    Global,
    /// Memory of one block.
    Shared,
  };

  MemoryMonitor() = default;
  MemoryMonitor(const MemoryMonitor &) = delete;
  MemoryMonitor &operator=(const MemoryMonitor &) = delete;
  ~MemoryMonitor();

  /// Memory with space around it that nothing may touch. Addresses in it stay
  /// what they are.
  char *allocate(std::string name, size_t bytes, Kind kind);

  void beginLaunch();
  void beginBlock(int64_t number);
  /// All threads of the block have met.
  void passBarrier() { ++epoch; }

  /// Notes what a thread of the block is about to do. False if it must not.
  bool access(int64_t thread, const char *address, int64_t bytes,
              int64_t alignment, AccessKind kind);

  /// Notes that rows of a matrix lie in the same banks of shared memory. That
  /// is not wrong, only slow.
  void noteBankConflict() { ++bankConflicts; }
  int64_t getBankConflicts() const { return bankConflicts; }

  /// The first thing that was wrong; empty if nothing was.
  const std::string &getError() const { return error; }

private:
  /// Who has touched a byte last.
  struct Touch {
    int64_t block = kNone, thread = 0, epoch = 0;
  };
  struct Byte {
    Touch write, read, atomic;
    bool isKnown = false, isBeingCopied = false;
  };
  struct Region {
    std::string name;
    Kind kind;
    char *begin;
    size_t bytes;
    /// What is reserved, with the space around the region.
    char *mapping;
    size_t mappedBytes;
    std::vector<Byte> shadow;
  };

  static constexpr int64_t kNone = -1;
  static constexpr int64_t kSeveral = -2;

  bool isRace(const Touch &touch, int64_t thread) const;
  /// Notes what others may do as well.
  void note(Touch &touch, int64_t thread) const;
  const char *touch(Byte &byte, int64_t thread, AccessKind kind);
  std::string findFault(int64_t thread, const char *address, int64_t bytes,
                        int64_t alignment, AccessKind kind);

  std::deque<Region> regions;
  int64_t block = 0, epoch = 0;
  int64_t bankConflicts = 0;
  std::string error;
};

} // namespace regather::nvptx

#endif // REGATHER_TEST_UNIT_KERNEL_NVPTX_MEMORYMONITOR_H
