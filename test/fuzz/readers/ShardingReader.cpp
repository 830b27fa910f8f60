//===- ShardingReader.cpp - Problems of sharding --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JsonMutation.h"
#include "Reader.h"

#include "regather/Analysis/Sharding/ShardingReader.h"

using namespace regather;
using namespace regather::fuzz;

static std::string readShardingBytes(std::string_view bytes) {
  Result<ShardingProblem> problem =
      readShardingProblem({bytes.data(), bytes.size()});
  if (!problem)
    return problem.getMessage();
  if (Failure failure = checkShardingProblem(*problem))
    reportFind("a problem that is none: " + failure.getMessage());
  return std::string();
}

const Reader regather::fuzz::shardingReader = {"sharding", readShardingBytes,
                                               mutateJson};
