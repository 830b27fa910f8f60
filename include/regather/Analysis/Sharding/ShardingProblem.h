//===- ShardingProblem.h - Strategies with costs and memory -----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The problem behind a choice of placements, without MLIR: choose one strategy
// for each node, so that the costs of nodes and of edges between them are least
// and the bytes of the nodes that are live fit into memory at every time.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_SHARDING_SHARDINGPROBLEM_H
#define REGATHER_ANALYSIS_SHARDING_SHARDINGPROBLEM_H

#include "regather/Support/Result.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace regather {

/// A choice of this cost or more is never made: a combination that does not
/// exist.
inline constexpr int64_t kForbiddenCost = 1000000000000000000;

/// What one strategy is chosen for, known by its index.
struct ShardingNode {
  /// The half-open interval of time in which its bytes are taken; empty if
  /// `end <= begin`.
  int64_t begin = 0;
  int64_t end = 0;
  /// By strategy, in any unit that all costs share; not negative.
  std::vector<int64_t> costs;
  /// By strategy; not negative.
  std::vector<int64_t> bytes;
};

/// What a pair of strategies costs, such as the collective between two
/// placements. Several edges of two nodes add up.
struct ShardingEdge {
  uint32_t from = 0;
  uint32_t to = 0;
  /// Row-major: by strategy of `from`, then of `to`; not negative.
  std::vector<int64_t> costs;
};

struct ShardingProblem {
  std::vector<ShardingNode> nodes;
  std::vector<ShardingEdge> edges;
  /// The bytes that live nodes may take at any time; none: any number.
  std::optional<int64_t> limit;
};

/// What a choice amounts to.
struct ShardingValue {
  /// At least `kForbiddenCost` if the choice contains what does not exist.
  int64_t cost = 0;
  /// The most bytes at a time, and the first time at which they are taken.
  int64_t peak = 0;
  int64_t peakTime = 0;
};

/// Why `problem` is none: an edge to a node that does not exist, a number of
/// costs that differs from the number of strategies, a node without strategies,
/// a negative number, sums that do not fit into 63 bits. Linear in its size.
Failure checkShardingProblem(const ShardingProblem &problem);

/// The value of a choice of one strategy for each node. Takes problems that
/// `checkShardingProblem` finds nothing wrong with, and strategies that exist.
/// O(n log n) for n nodes, and linear in the number of edges.
ShardingValue evaluateSharding(const ShardingProblem &problem,
                               llvm::ArrayRef<uint32_t> strategies);

} // namespace regather

#endif // REGATHER_ANALYSIS_SHARDING_SHARDINGPROBLEM_H
