//===- MemoryFile.cpp - Bytes that have a path ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryFile.h"

#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

using namespace regather::fuzz;

/// What fails here is the machine, not the reader: no find.
static void check(bool succeeds, const char *what) {
  if (succeeds)
    return;
  std::perror(what);
  std::_Exit(2);
}

MemoryFile::MemoryFile() : file(memfd_create("input", MFD_CLOEXEC)) {
  check(file >= 0, "memfd_create");
  path = "/proc/self/fd/" + std::to_string(file);
}

MemoryFile::~MemoryFile() { close(file); }

void MemoryFile::write(std::string_view bytes) {
  check(ftruncate(file, 0) == 0, "ftruncate");
  for (size_t done = 0; done != bytes.size();) {
    ssize_t count =
        pwrite(file, bytes.data() + done, bytes.size() - done, off_t(done));
    check(count > 0, "pwrite");
    done += size_t(count);
  }
}
