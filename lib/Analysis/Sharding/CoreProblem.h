//===- CoreProblem.h - What is left to decide -------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Many strategies determine each other: of the pairs that an edge joins, all
// but one for each strategy are forbidden. Such nodes are tied into one, and
// what no choice contains is dropped. What remains has one node in fifty of a
// captured problem, and few forbidden pairs.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_SHARDING_COREPROBLEM_H
#define REGATHER_LIB_ANALYSIS_SHARDING_COREPROBLEM_H

#include "regather/Analysis/Sharding/ShardingProblem.h"

namespace regather::sharding {

struct CoreEdge {
  uint32_t from = 0;
  uint32_t to = 0;
  /// Row-major, by strategy of `from`, then of `to`.
  std::vector<int64_t> costs;
};

/// Where a node of the whole problem went.
struct Tie {
  uint32_t coreNode = 0;
  /// Its strategy, by strategy of the core node.
  std::vector<uint32_t> strategies;
};

struct CoreProblem {
  /// By core node, costs of its strategies.
  std::vector<std::vector<int64_t>> costs;
  /// At most one between two nodes, none from a node to itself.
  std::vector<CoreEdge> edges;
  /// By node of the whole problem.
  std::vector<Tie> ties;
};

/// Equal costs at equal choices; no optimal choice is lost. Fails if every
/// choice contains a forbidden cost that can be found pair by pair. Linear in
/// the size of the tables, times how often a node loses strategies.
Result<CoreProblem> tieStrategies(const ShardingProblem &problem);

/// The choice for the whole problem that one for the core stands for.
std::vector<uint32_t> expandChoice(const CoreProblem &core,
                                   llvm::ArrayRef<uint32_t> choice);

} // namespace regather::sharding

#endif // REGATHER_LIB_ANALYSIS_SHARDING_COREPROBLEM_H
