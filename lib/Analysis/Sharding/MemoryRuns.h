//===- MemoryRuns.h - Bytes of choices over time ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_SHARDING_MEMORYRUNS_H
#define REGATHER_LIB_ANALYSIS_SHARDING_MEMORYRUNS_H

#include "CoreProblem.h"

namespace regather::sharding {

/// Times `[begin, end)` in which the bytes of each strategy stay the same.
struct MemoryRun {
  uint32_t begin = 0;
  uint32_t end = 0;
  /// By strategy, above the strategy with the fewest, so that one is zero.
  std::vector<int64_t> bytes;
};

/// The times at which memory may run out, numbered in order, and what choices
/// take then. Times at which every choice fits, and those at which no choice
/// takes more than it does right before or after, are left out.
struct MemoryRuns {
  /// By time: the bytes that are left when each node has the fewest. Negative
  /// if nothing fits.
  std::vector<int64_t> room;
  /// By time, as the problem counts it.
  std::vector<int64_t> times;
  /// By core node, in order.
  std::vector<std::vector<MemoryRun>> runs;
};

/// Empty if there is no limit. O(n log n) for n nodes, times strategies.
MemoryRuns findMemoryRuns(const ShardingProblem &problem,
                          const CoreProblem &core);

} // namespace regather::sharding

#endif // REGATHER_LIB_ANALYSIS_SHARDING_MEMORYRUNS_H
