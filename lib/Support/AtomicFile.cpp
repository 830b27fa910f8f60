//===- AtomicFile.cpp - Files that appear whole ---------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Support/AtomicFile.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace regather;

static Failure explain(int error) { return Failure(std::strerror(error)); }

static Failure writeParts(int file,
                          const std::vector<std::string_view> &parts) {
  for (std::string_view part : parts) {
    while (!part.empty()) {
      ssize_t written = write(file, part.data(), part.size());
      if (written < 0 && errno == EINTR)
        continue;
      if (written < 0)
        return explain(errno);
      part.remove_prefix(static_cast<size_t>(written));
    }
  }
  return Failure();
}

/// Writes and closes an open file.
static Failure writeAndClose(int file,
                             const std::vector<std::string_view> &parts) {
  Failure failure = writeParts(file, parts);
  // Some file systems report only here that they are full.
  if (close(file) != 0 && !failure)
    return explain(errno);
  return failure;
}

/// What new files may be used for, with the bits that the process masks.
static mode_t getMode(FileAccess access) {
  if (access == FileAccess::OwnerOnly)
    return S_IRUSR | S_IWUSR;
  mode_t mask = umask(0);
  umask(mask);
  return (S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH) & ~mask;
}

Failure
regather::writeFileAtomically(const std::string &path,
                              const std::vector<std::string_view> &parts,
                              FileAccess access) {
  struct stat status;
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    return file < 0 ? explain(errno) : writeAndClose(file, parts);
  }
  std::string temporary = path + ".temporary-XXXXXX";
  int file = mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0)
    return explain(errno);
  fchmod(file, getMode(access));
  Failure failure = writeAndClose(file, parts);
  if (!failure && std::rename(temporary.c_str(), path.c_str()) != 0)
    failure = explain(errno);
  if (failure)
    unlink(temporary.c_str());
  return failure;
}
