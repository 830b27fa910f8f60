//===- MemoryMonitor.cpp - What threads do to memory ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryMonitor.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>
#include <sys/mman.h>

using namespace regather::nvptx;

/// Around each region. Only addresses are taken, no memory.
static constexpr size_t kGuardBytes = size_t(1) << 30;
static constexpr size_t kPageBytes = 4096;

MemoryMonitor::~MemoryMonitor() {
  for (Region &region : regions)
    munmap(region.mapping, region.mappedBytes);
}

char *MemoryMonitor::allocate(std::string name, size_t bytes, Kind kind) {
  Region &region = regions.emplace_back();
  size_t usable = llvm::alignTo(std::max<size_t>(bytes, 1), kPageBytes);
  region.name = std::move(name);
  region.kind = kind;
  region.bytes = bytes;
  region.mappedBytes = usable + 2 * kGuardBytes;
  void *mapping = mmap(nullptr, region.mappedBytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED)
    llvm::report_fatal_error("no addresses are left for the emulation");
  region.mapping = static_cast<char *>(mapping);
  region.begin = region.mapping + kGuardBytes;
  if (mprotect(region.begin, usable, PROT_READ | PROT_WRITE) != 0)
    llvm::report_fatal_error("no memory is left for the emulation");
  // What was there before must not matter.
  memset(region.begin, 0x5a, usable);
  region.shadow.resize(bytes);
  for (Byte &byte : region.shadow)
    byte.isKnown = kind == Kind::Argument || kind == Kind::InPlace;
  return region.begin;
}

void MemoryMonitor::beginLaunch() {
  for (Region &region : regions)
    for (Byte &byte : region.shadow) {
      bool isKnown = byte.isKnown;
      byte = Byte();
      byte.isKnown = isKnown;
    }
}

void MemoryMonitor::beginBlock(int64_t number) {
  block = number;
  epoch = 0;
  for (Region &region : regions)
    if (region.kind == Kind::Shared)
      llvm::fill(region.shadow, Byte());
}

/// True if what `thread` does to a byte is not ordered with `touch`.
bool MemoryMonitor::isRace(const Touch &touch, int64_t thread) const {
  if (touch.block == kNone)
    return false;
  if (touch.block != block)
    return true;
  return touch.epoch == epoch && touch.thread != thread;
}

void MemoryMonitor::note(Touch &touch, int64_t thread) const {
  if (touch.block != kNone && touch.block != block)
    touch.block = kSeveral;
  else if (touch.block == block && touch.epoch == epoch &&
           touch.thread != thread)
    touch.thread = kSeveral;
  else
    touch = {block, thread, epoch};
}

bool MemoryMonitor::access(int64_t thread, const char *address, int64_t bytes,
                           int64_t alignment, AccessKind kind) {
  std::string fault = findFault(thread, address, bytes, alignment, kind);
  if (fault.empty())
    return true;
  if (error.empty())
    error = llvm::formatv("thread {0} of block {1} {2}", thread, block, fault);
  return false;
}

/// What is wrong with one byte, of the given name if something is.
const char *MemoryMonitor::touch(Byte &byte, int64_t thread, AccessKind kind) {
  bool ends = kind == AccessKind::EndCopy;
  if (byte.isBeingCopied && !ends)
    return "touches {0}, which is being copied";
  bool reads = kind == AccessKind::Read || kind == AccessKind::Atomic;
  if (reads && !byte.isKnown)
    return "reads {0}, which nothing has written";
  // Atomic operations are ordered with each other.
  if (isRace(byte.write, thread) ||
      (kind != AccessKind::Read && isRace(byte.read, thread)) ||
      (kind != AccessKind::Atomic && isRace(byte.atomic, thread)))
    return "races with another thread at {0}";
  if (kind == AccessKind::Read)
    note(byte.read, thread);
  else if (kind == AccessKind::Atomic)
    note(byte.atomic, thread);
  else
    byte.write = {block, thread, epoch};
  byte.isBeingCopied = kind == AccessKind::BeginCopy;
  byte.isKnown = true;
  return nullptr;
}

std::string MemoryMonitor::findFault(int64_t thread, const char *address,
                                     int64_t bytes, int64_t alignment,
                                     AccessKind kind) {
  auto found = llvm::find_if(regions, [&](const Region &region) {
    return address >= region.mapping &&
           address < region.mapping + region.mappedBytes;
  });
  if (found == regions.end())
    return "touches memory that is not the kernel's";
  Region &region = *found;
  int64_t offset = address - region.begin;
  auto getPlace = [&](int64_t place) {
    return llvm::formatv("byte {0} of {1}", place, region.name).str();
  };
  if (offset < 0 || offset + bytes > static_cast<int64_t>(region.bytes))
    return llvm::formatv("touches {0}, which has {1} bytes", getPlace(offset),
                         region.bytes);
  if (reinterpret_cast<uintptr_t>(address) % alignment != 0)
    return llvm::formatv("touches {0} with an alignment of {1}",
                         getPlace(offset), alignment);
  if (kind != AccessKind::Read && region.kind == Kind::Argument)
    return "writes " + getPlace(offset);
  for (int64_t i = offset; i != offset + bytes; ++i)
    if (const char *fault = touch(region.shadow[i], thread, kind))
      return llvm::formatv(fault, getPlace(i));
  return "";
}
