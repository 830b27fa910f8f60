//===- ShardingSolver.h - Strategies of least cost --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Strategies that determine each other are tied first, which leaves a problem
// of a few hundred nodes of one of tens of thousands. A relaxation proves what
// no choice can undercut; its prices of memory guide a search. docs/sharding-
// solver.md says how.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_SHARDING_SHARDINGSOLVER_H
#define REGATHER_ANALYSIS_SHARDING_SHARDINGSOLVER_H

#include "regather/Analysis/Sharding/ShardingProblem.h"

#include <chrono>

namespace regather {

struct ShardingSolverOptions {
  /// Steps of inner loops, which are the same on every machine; about 6e8 take
  /// a second. The solver stops before they are spent if it proves a choice
  /// optimal.
  uint64_t work = 2000000000;
  /// Stops here at the latest. What a solver finds that the clock stopped
  /// depends on the machine.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  uint64_t seed = 0;
};

struct ShardingSolution {
  /// By node.
  std::vector<uint32_t> strategies;
  ShardingValue value;
  /// No choice within the limit costs less.
  int64_t bound = 0;
};

/// Chooses a strategy for each node. Fails if `checkShardingProblem` does, if
/// every choice contains a forbidden cost, and if none was found that fits into
/// the limit: then it says whether that is proven, and the least limit that it
/// has a choice for. Deterministic, unless the deadline strikes. Beside `work`,
/// near-linear in the size of the problem.
Result<ShardingSolution> solveSharding(const ShardingProblem &problem,
                                       const ShardingSolverOptions &options);

} // namespace regather

#endif // REGATHER_ANALYSIS_SHARDING_SHARDINGSOLVER_H
