//===- RankGather.cpp - Bytes of all ranks on rank 0 ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankGather.h"

#include "StoreMessage.h"

#include <algorithm>
#include <cstring>

using namespace regather::runtime;

/// With a name it has to fit into a message.
static constexpr auto kPieceBytes = int64_t(kMaxStoreMessage / 2);

static std::string getName(int32_t rank) {
  return "the results of rank " + std::to_string(rank);
}

bool RankGather::send(const char *data, int64_t bytes, std::string &message) {
  return store.put(getName(rank), std::string(data, size_t(bytes)), message);
}

bool RankGather::receive(int32_t from, char *data, int64_t bytes,
                         std::string &message) {
  std::string piece;
  if (!store.take(getName(from), piece, message))
    return false;
  if (int64_t(piece.size()) != bytes) {
    message = getName(from) + " have another size than those of rank 0";
    return false;
  }
  std::memcpy(data, piece.data(), size_t(bytes));
  return true;
}

bool RankGather::gather(const char *data, int64_t bytes, char *const *parts,
                        std::string &message) {
  if (rank == 0 && bytes)
    std::memcpy(parts[0], data, size_t(bytes));
  for (int64_t begin = 0; begin < bytes; begin += kPieceBytes) {
    int64_t size = std::min(bytes - begin, kPieceBytes);
    if (rank != 0 && !send(data + begin, size, message))
      return false;
    for (int32_t from = 1; rank == 0 && from < ranks; ++from)
      if (!receive(from, parts[from] + begin, size, message))
        return false;
  }
  // A rank that ends early would look as if it had failed.
  return store.barrier("result " + std::to_string(numGathers++), message);
}
