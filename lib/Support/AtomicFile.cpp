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
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace regather;
namespace fs = std::filesystem;

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

/// Waits until the file is on the disk, where the file system can say so.
static Failure sync(int file) {
  if (fsync(file) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP)
    return Failure();
  return explain(errno);
}

/// Writes and closes an open file.
static Failure writeAndClose(int file,
                             const std::vector<std::string_view> &parts,
                             bool syncs) {
  Failure failure = writeParts(file, parts);
  if (!failure && syncs)
    failure = sync(file);
  // Some file systems report only here that they are full.
  if (close(file) != 0 && !failure)
    return explain(errno);
  return failure;
}

/// What new files may be used for, with the bits that the process masks.
static mode_t getMode(FileKind kind) {
  if (kind == FileKind::Internal)
    return S_IRUSR | S_IWUSR;
  mode_t mask = umask(0);
  umask(mask);
  return (S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH) & ~mask;
}

/// The folder that holds a name.
static std::string getFolder(const std::string &path) {
  fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

/// Where symbolic links lead to, whether or not something is there.
static Result<std::string> followLinks(const std::string &path) {
  constexpr int kMaxLinks = 40;
  fs::path target = path;
  std::error_code error;
  for (int i = 0; fs::is_symlink(target, error); ++i) {
    if (i == kMaxLinks)
      return explain(ELOOP);
    fs::path next = fs::read_symlink(target, error);
    if (error)
      return Failure(error.message());
    target = target.parent_path() / next;
  }
  return target.string();
}

/// Makes a file beside `path` and replaces the latter's text with its name.
static Result<int> openBeside(std::string &path) {
  path += ".temporary-XXXXXX";
  int file = mkostemp(path.data(), O_CLOEXEC);
  if (file < 0)
    return explain(errno);
  return file;
}

Failure
regather::writeFileAtomically(const std::string &path,
                              const std::vector<std::string_view> &parts,
                              FileKind kind) {
  struct stat status;
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    return file < 0 ? explain(errno)
                    : writeAndClose(file, parts, /*syncs=*/false);
  }
  Result<std::string> target = followLinks(path);
  if (!target)
    return target.getFailure();
  std::string temporary = *target;
  Result<int> file = openBeside(temporary);
  if (!file)
    return file.getFailure();
  fchmod(*file, getMode(kind));
  bool syncs = kind == FileKind::Result;
  Failure failure = writeAndClose(*file, parts, syncs);
  if (!failure && std::rename(temporary.c_str(), target->c_str()) != 0)
    failure = explain(errno);
  if (failure) {
    unlink(temporary.c_str());
    return failure;
  }
  return syncs ? syncFolder(getFolder(*target)) : Failure();
}

Failure regather::checkWritable(const std::string &path) {
  struct stat status;
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    if (S_ISDIR(status.st_mode))
      return explain(EISDIR);
    // To open a pipe would wait for its reader.
    return access(path.c_str(), W_OK) == 0 ? Failure() : explain(errno);
  }
  Result<std::string> target = followLinks(path);
  if (!target)
    return target.getFailure();
  Result<int> file = openBeside(*target);
  if (!file)
    return file.getFailure();
  close(*file);
  unlink(target->c_str());
  return Failure();
}

Failure regather::checkFolderWritable(const std::string &path) {
  // What exists of the path decides about the rest.
  fs::path folder = path;
  std::error_code error;
  fs::file_status status = fs::status(folder, error);
  while (status.type() == fs::file_type::not_found) {
    if (fs::is_symlink(folder, error))
      return Failure("it is a symbolic link to nothing");
    fs::path parent = folder.parent_path();
    folder = parent.empty() ? fs::path(".") : parent;
    status = fs::status(folder, error);
  }
  if (status.type() != fs::file_type::directory)
    return explain(error ? error.value() : ENOTDIR);
  std::string temporary = (folder / "temporary-XXXXXX").string();
  if (!mkdtemp(temporary.data()))
    return explain(errno);
  rmdir(temporary.c_str());
  return Failure();
}

Failure regather::syncFolder(const std::string &path) {
  int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0)
    return explain(errno);
  Failure failure = sync(folder);
  close(folder);
  return failure;
}
