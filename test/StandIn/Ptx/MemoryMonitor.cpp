//===- MemoryMonitor.cpp - What the threads of a kernel touch -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryMonitor.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

using namespace regather::runtime;

/// Around each region. Only addresses are taken, no memory.
static constexpr size_t kGuardBytes = size_t(1) << 30;
static constexpr size_t kPageBytes = 4096;

/// What memory holds before anything has written it; it must not matter.
static constexpr int kUnwritten = 0x5a;

MemoryMonitor::~MemoryMonitor() {
  for (Region &region : regions)
    munmap(region.mapping, region.mappedBytes);
}

std::byte *MemoryMonitor::allocate(std::string name, size_t bytes, Kind kind) {
  size_t usable =
      (std::max<size_t>(bytes, 1) + kPageBytes - 1) / kPageBytes * kPageBytes;
  size_t mappedBytes = usable + 2 * kGuardBytes;
  void *mapping = mmap(nullptr, mappedBytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  std::byte *begin = static_cast<std::byte *>(mapping) + kGuardBytes;
  if (mapping == MAP_FAILED ||
      mprotect(begin, usable, PROT_READ | PROT_WRITE) != 0) {
    std::perror("cannot reserve memory that is watched");
    std::abort();
  }
  std::memset(begin, kUnwritten, usable);
  Byte unwritten;
  unwritten.isKnown = kind == Kind::Argument || kind == Kind::InPlace;
  regions.push_back({std::move(name), kind, begin, bytes,
                     static_cast<std::byte *>(mapping), mappedBytes,
                     std::vector<Byte>(bytes, unwritten)});
  return begin;
}

MemoryMonitor::Region *MemoryMonitor::find(const std::byte *address) {
  auto holds = [&](const Region &region) {
    return address >= region.mapping &&
           address < region.mapping + region.mappedBytes;
  };
  if (!last || !holds(*last)) {
    auto found = std::find_if(regions.begin(), regions.end(), holds);
    last = found == regions.end() ? nullptr : &*found;
  }
  return last;
}

bool MemoryMonitor::access(int64_t thread, const std::byte *address,
                           size_t bytes, size_t alignment, MemoryAccess kind) {
  std::string fault = findFault(thread, address, bytes, alignment, kind);
  if (fault.empty())
    return true;
  if (error.empty())
    error = "thread " + std::to_string(thread) + " of block " +
            std::to_string(block) + ' ' + fault;
  return false;
}

std::string MemoryMonitor::findFault(int64_t thread, const std::byte *address,
                                     size_t bytes, size_t alignment,
                                     MemoryAccess kind) {
  Region *region = find(address);
  if (!region)
    return "touches memory that is not the kernel's";
  ptrdiff_t offset = address - region->begin;
  auto getPlace = [&](ptrdiff_t place) {
    return "byte " + std::to_string(place) + " of " + region->name;
  };
  if (offset < 0 || size_t(offset) + bytes > region->bytes)
    return "touches " + getPlace(offset) + ", which has " +
           std::to_string(region->bytes) + " bytes";
  if (reinterpret_cast<uintptr_t>(address) % alignment != 0)
    return "touches " + getPlace(offset) + " with an alignment of " +
           std::to_string(alignment);
  if (kind != MemoryAccess::Read && region->kind == Kind::Argument)
    return "writes " + getPlace(offset);
  for (size_t i = 0; i < bytes; ++i)
    if (const char *fault =
            touch(region->shadow[size_t(offset) + i],
                  region->kind == Kind::Shared, int32_t(thread), kind)) {
      std::string text = fault;
      return text.replace(text.find('$'), 1, getPlace(offset + ptrdiff_t(i)));
    }
  return "";
}

/// True if what `thread` does to a byte is not ordered with `touch`.
bool MemoryMonitor::isRace(const Touch &touch, uint32_t first,
                           int32_t thread) const {
  if (touch.epoch < first)
    return false;
  return touch.epoch < firstOfBlock ||
         (touch.epoch == epoch && touch.thread != thread);
}

const char *MemoryMonitor::touch(Byte &byte, bool isShared, int32_t thread,
                                 MemoryAccess kind) const {
  uint32_t first = isShared ? firstOfBlock : firstOfLaunch;
  // What one block leaves in shared memory is nothing to the next one.
  bool isOfBlockBefore = isShared && byte.write.epoch < first;
  if (byte.isBeingCopied && !isOfBlockBefore && kind != MemoryAccess::EndCopy)
    return "touches $, which is being copied";
  bool isRead = kind == MemoryAccess::Read;
  if (isRead && (!byte.isKnown || isOfBlockBefore))
    return "reads $, which nothing has written";
  if (isRace(byte.write, first, thread) ||
      (!isRead && isRace(byte.read, first, thread)))
    return "races with another thread at $";
  if (!isRead) {
    byte.write = {epoch, thread};
    byte.isBeingCopied = kind == MemoryAccess::BeginCopy;
    byte.isKnown = true;
  } else if (byte.read.epoch < first || byte.read.epoch >= firstOfBlock) {
    bool isShareable = byte.read.epoch == epoch && byte.read.thread != thread;
    byte.read = {epoch, isShareable ? kSeveral : thread};
  }
  return nullptr;
}
