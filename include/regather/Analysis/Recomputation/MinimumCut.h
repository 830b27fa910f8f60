//===- MinimumCut.h - Minimum cuts of flow networks -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_RECOMPUTATION_MINIMUMCUT_H
#define REGATHER_ANALYSIS_RECOMPUTATION_MINIMUMCUT_H

#include "regather/Support/Result.h"

#include <cstdint>
#include <vector>

namespace regather {

/// The capacity of an edge that must not be cut. The sum of all other
/// capacities of a network is less than half of it.
inline constexpr int64_t kInfiniteCapacity = int64_t(1) << 62;

struct FlowEdge {
  uint32_t from = 0;
  uint32_t to = 0;
  /// Not negative; everything from kInfiniteCapacity on is infinite.
  int64_t capacity = 0;
};

/// A directed graph, whose nodes are numbered from zero. Parallel edges and
/// edges from a node to itself are allowed.
struct FlowNetwork {
  uint32_t numNodes = 0;
  uint32_t source = 0;
  uint32_t sink = 0;
  std::vector<FlowEdge> edges;
};

struct MinimumCut {
  /// Sum of the capacities of the edges that lead to the side of the sink.
  int64_t value = 0;
  /// By node. Of all minimum cuts, the one whose sink side is contained in that
  /// of every other one: there is only one such cut, so that it depends neither
  /// on the order of the edges nor on the algorithm.
  std::vector<bool> onSinkSide;
};

/// Finds the minimum cut between source and sink, by Dinic's algorithm
/// (O(V^2 E), close to linear on the networks of partitions), without
/// recursion.
///
/// Fails if there is no finite cut, if an edge has an end that does not exist
/// or a negative capacity, if source and sink are one, and if finite capacities
/// add up to half of kInfiniteCapacity or more.
Result<MinimumCut> findMinimumCut(const FlowNetwork &network);

} // namespace regather

#endif // REGATHER_ANALYSIS_RECOMPUTATION_MINIMUMCUT_H
