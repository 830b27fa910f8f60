//===- MemoryMonitor.h - What the threads of a kernel touch -----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_STANDIN_PTX_MEMORYMONITOR_H
#define REGATHER_TEST_STANDIN_PTX_MEMORYMONITOR_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace regather::runtime {

enum class MemoryAccess {
  Read,
  Write,
  /// A copy that goes on while the thread does, until the thread waits for it.
  BeginCopy,
  EndCopy
};

/// Memory whose every access by the threads of a kernel is looked at. Wrong are
/// those outside of it, those that are not aligned, reads of bytes that nothing
/// has written, writes to what may only be read, and races: two threads touch
/// one byte, one of them writes it, and no barrier is between. Between blocks
/// of a launch there are no barriers. Nor may anything touch a byte while it is
/// being copied. Each byte takes 20 bytes to watch, and an access constant time
/// for each of its bytes.
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

  /// Memory with space around it that nothing may touch, so that an address
  /// beyond its end is not that of its neighbour.
  std::byte *allocate(std::string name, size_t bytes, Kind kind);

  /// The blocks of a launch run one after the other.
  void beginLaunch() { firstOfLaunch = firstOfBlock = ++epoch; }
  void beginBlock(int64_t number) {
    block = number;
    firstOfBlock = ++epoch;
  }
  /// All threads of the block have met.
  void passBarrier() { ++epoch; }

  /// Notes what a thread of the block is about to do. False if it must not.
  bool access(int64_t thread, const std::byte *address, size_t bytes,
              size_t alignment, MemoryAccess kind);

  /// Notes that rows of a matrix lie in the same banks of shared memory. That
  /// is not wrong, only slow.
  void noteBankConflict() { ++bankConflicts; }
  int64_t getBankConflicts() const { return bankConflicts; }

  /// The first thing that was wrong; empty if nothing was.
  const std::string &getError() const { return error; }

private:
  /// Who has touched a byte last, and when. Epochs count blocks and barriers of
  /// all launches, so a touch of a launch before is an old one. What another
  /// block has touched stays so: no barrier will come.
  struct Touch {
    uint32_t epoch = 0;
    int32_t thread = 0;
  };
  struct Byte {
    Touch write, read;
    bool isKnown = false, isBeingCopied = false;
  };
  struct Region {
    std::string name;
    Kind kind;
    std::byte *begin;
    size_t bytes;
    /// What is reserved, with the space around the region.
    std::byte *mapping;
    size_t mappedBytes;
    std::vector<Byte> shadow;
  };

  static constexpr int32_t kSeveral = -1;

  Region *find(const std::byte *address);
  std::string findFault(int64_t thread, const std::byte *address, size_t bytes,
                        size_t alignment, MemoryAccess kind);
  /// What is wrong with touching a byte, with a $ where its name belongs; null
  /// if nothing is.
  const char *touch(Byte &byte, bool isShared, int32_t thread,
                    MemoryAccess kind) const;
  /// Touches before the epoch `first` do not count.
  bool isRace(const Touch &touch, uint32_t first, int32_t thread) const;

  std::deque<Region> regions;
  Region *last = nullptr;
  int64_t block = 0;
  uint32_t epoch = 0, firstOfLaunch = 0, firstOfBlock = 0;
  int64_t bankConflicts = 0;
  std::string error;
};

} // namespace regather::runtime

#endif // REGATHER_TEST_STANDIN_PTX_MEMORYMONITOR_H
