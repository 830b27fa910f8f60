//===- MappedFile.cpp - The bytes of a file -------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Support/MappedFile.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace regather;

MappedFile::~MappedFile() {
  if (size > 0)
    munmap(const_cast<char *>(data), size);
}

Result<MappedFile> MappedFile::open(const std::string &path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (file < 0)
    return Failure(std::strerror(errno));
  int error = fstat(file, &status) != 0 ? errno
              : S_ISDIR(status.st_mode) ? EISDIR
                                        : 0;
  MappedFile mapped;
  auto size = static_cast<size_t>(status.st_size);
  if (!error && size > 0) {
    void *memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (memory == MAP_FAILED)
      error = errno;
    else
      mapped.data = static_cast<const char *>(memory), mapped.size = size;
  }
  close(file);
  if (error)
    return Failure(std::strerror(error));
  return mapped;
}
