//===- RankGather.h - Bytes of all ranks on rank 0 --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_STORE_RANKGATHER_H
#define REGATHER_LIB_RUNTIME_STORE_RANKGATHER_H

#include "TcpStore.h"

#include <cstdint>

namespace regather::runtime {

/// Sends bytes of every rank to rank 0 by way of the store, a piece of each at
/// a time, so that it never holds more than one of each. Needs no files that
/// the ranks share, and no device.
class RankGather {
public:
  RankGather(TcpStore &store, int32_t rank, int32_t ranks)
      : store(store), rank(rank), ranks(ranks) {}

  /// All ranks call it in the same order with as many bytes. On rank 0
  /// `parts[i]` is where those of rank i go. Returns when all have arrived, and
  /// fails if they do not in time.
  Failure gather(const char *data, int64_t bytes, char *const *parts);

private:
  Failure receive(int32_t from, char *data, int64_t bytes);

  TcpStore &store;
  int32_t rank, ranks;
  int64_t numGathers = 0;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_STORE_RANKGATHER_H
