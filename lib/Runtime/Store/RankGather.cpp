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
using regather::Failure;
using regather::Result;

/// With a name it has to fit into a message.
static constexpr auto kPieceBytes = int64_t(kMaxStoreMessage / 2);

static std::string getName(int32_t rank) {
  return "the results of rank " + std::to_string(rank);
}

Failure RankGather::receive(int32_t from, char *data, int64_t bytes) {
  Result<std::string> piece = store.take(getName(from));
  if (!piece)
    return piece.getFailure();
  if (int64_t(piece->size()) != bytes)
    return getName(from) + " have another size than those of rank 0";
  std::memcpy(data, piece->data(), size_t(bytes));
  return Failure();
}

Failure RankGather::gather(const char *data, int64_t bytes,
                           char *const *parts) {
  if (rank == 0 && bytes)
    std::memcpy(parts[0], data, size_t(bytes));
  for (int64_t begin = 0; begin < bytes; begin += kPieceBytes) {
    int64_t size = std::min(bytes - begin, kPieceBytes);
    if (rank != 0)
      if (Failure failure =
              store.put(getName(rank), std::string(data + begin, size_t(size))))
        return failure;
    for (int32_t from = 1; rank == 0 && from < ranks; ++from)
      if (Failure failure = receive(from, parts[from] + begin, size))
        return failure;
  }
  // A rank that ends early would look as if it had failed.
  return store.barrier("result " + std::to_string(numGathers++));
}
