//===- NcclFolder.cpp - Members of a group in other processes -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NcclFolder.h"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <unistd.h>

using namespace regather::runtime;

namespace {
/// An operation in a file; the bytes that it sends follow.
struct StoredOperation {
  NcclOperation::Kind kind;
  int type, reduction, peer;
  size_t count;
};
} // namespace

std::unique_ptr<NcclFolder> NcclFolder::open(const std::string &id, int ranks) {
  const char *folder = std::getenv("REGATHER_STAND_IN_NCCL_FOLDER");
  if (!folder)
    return nullptr;
  std::string prefix = std::string(folder) + '/';
  for (char c : id)
    prefix += std::isalnum(static_cast<unsigned char>(c)) ? c : '-';
  return std::unique_ptr<NcclFolder>(new NcclFolder(prefix, ranks));
}

std::string NcclFolder::getPath(const std::string &what, int position) const {
  return prefix + '.' + what + '.' + std::to_string(position);
}

bool NcclFolder::join(int position) {
  int file = ::open(getPath("member", position).c_str(),
                    O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0)
    return false;
  close(file);
  return true;
}

bool NcclFolder::isComplete() {
  for (int position = 0; !wasComplete && position < ranks; ++position)
    if (access(getPath("member", position).c_str(), F_OK) != 0)
      return false;
  return wasComplete = true;
}

void NcclFolder::post(size_t exchange, int position,
                      const std::vector<NcclOperation> &operations) {
  std::string path = getPath(std::to_string(exchange), position);
  std::string whole = path + ".part";
  std::ofstream file(whole, std::ios::binary);
  for (const NcclOperation &operation : operations) {
    StoredOperation stored = {operation.kind, operation.type,
                              operation.reduction, operation.peer,
                              operation.count};
    file.write(reinterpret_cast<const char *>(&stored), sizeof(stored));
    file.write(operation.source,
               std::streamsize(getSourceBytes(operation, ranks)));
  }
  file.close();
  // Others see all of it or nothing.
  std::rename(whole.c_str(), path.c_str());
}

bool NcclFolder::read(size_t exchange, int position,
                      std::vector<NcclOperation> &operations,
                      std::deque<std::vector<char>> &memory) const {
  std::ifstream file(getPath(std::to_string(exchange), position),
                     std::ios::binary);
  if (!file)
    return false;
  auto allocate = [&](size_t bytes) {
    return memory.emplace_back(bytes).data();
  };
  StoredOperation stored;
  while (file.read(reinterpret_cast<char *>(&stored), sizeof(stored))) {
    NcclOperation operation = {stored.kind,  nullptr,     nullptr,
                               stored.count, stored.type, stored.reduction,
                               stored.peer};
    size_t bytes = getSourceBytes(operation, ranks);
    char *source = allocate(bytes);
    file.read(source, std::streamsize(bytes));
    operation.source = source;
    operation.target = allocate(getTargetBytes(operation, ranks));
    operations.push_back(operation);
  }
  return true;
}

void NcclFolder::remove(size_t exchange, int position) const {
  std::remove(getPath(std::to_string(exchange), position).c_str());
}
