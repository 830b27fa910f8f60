//===- Arena.cpp - The memory of a rank -----------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arena.h"

#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace regather::runtime;

static constexpr std::byte kPattern{0xa5};

int64_t regather::runtime::getMachineMemory() {
  return int64_t(sysconf(_SC_PHYS_PAGES)) * int64_t(sysconf(_SC_PAGE_SIZE));
}

Arena::~Arena() {
  if (data)
    munmap(data, size_t(numBytes));
}

bool Arena::allocate(int64_t wanted) {
  if (wanted == 0)
    return true;
  void *memory = mmap(nullptr, size_t(wanted), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  // Fewer page faults and misses of the translation buffer. Only a hint.
  madvise(memory, size_t(wanted), MADV_HUGEPAGE);
  data = static_cast<std::byte *>(memory);
  numBytes = wanted;
  return true;
}

void Arena::fillWithPattern() {
  if (data)
    std::memset(data, int(kPattern), size_t(numBytes));
}

int64_t Arena::findTouchedEnd() const {
  int64_t end = numBytes;
  while (end > 0 && data[end - 1] == kPattern)
    --end;
  return end;
}
