//===- ShardingProblem.cpp - Strategies with costs and memory -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Sharding/ShardingProblem.h"

#include "regather/Support/LLVM/MakeFailure.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <utility>

using namespace llvm;
using namespace regather;

namespace {
/// Sums of what a choice may add up to, each of which fits if the largest do.
class LargestSums {
public:
  bool addCosts(ArrayRef<int64_t> costs) {
    int64_t largest = 0;
    for (int64_t cost : costs)
      if (cost < kForbiddenCost)
        largest = std::max(largest, cost);
    return !AddOverflow(cost, largest, cost) && cost < kForbiddenCost;
  }
  bool addBytes(ArrayRef<int64_t> bytes) {
    return !AddOverflow(this->bytes, *max_element(bytes), this->bytes);
  }

private:
  int64_t cost = 0;
  int64_t bytes = 0;
};

bool hasNegative(ArrayRef<int64_t> numbers) {
  return any_of(numbers, [](int64_t number) { return number < 0; });
}
} // namespace

static Failure checkNode(const ShardingNode &node, size_t index,
                         LargestSums &sums) {
  if (node.costs.empty())
    return makeFailure("node {0} has no strategies", index);
  if (node.bytes.size() != node.costs.size())
    return makeFailure("node {0} has {1} costs, but bytes of {2} strategies",
                       index, node.costs.size(), node.bytes.size());
  if (hasNegative(node.costs) || hasNegative(node.bytes))
    return makeFailure("node {0} has a negative cost or negative bytes", index);
  if (!sums.addCosts(node.costs) || !sums.addBytes(node.bytes))
    return makeFailure("costs or bytes are too large to be added: those of the "
                       "nodes up to {0}",
                       index);
  return {};
}

static Failure checkEdge(const ShardingProblem &problem, size_t index,
                         LargestSums &sums) {
  const ShardingEdge &edge = problem.edges[index];
  for (uint32_t node : {edge.from, edge.to})
    if (node >= problem.nodes.size())
      return makeFailure("edge {0} ends at node {1}, but there are {2} nodes",
                         index, node, problem.nodes.size());
  size_t numFrom = problem.nodes[edge.from].costs.size();
  size_t numTo = problem.nodes[edge.to].costs.size();
  if (edge.costs.size() != numFrom * numTo)
    return makeFailure("edge {0} has {1} costs, but joins {2} strategies of "
                       "node {3} and {4} of node {5}",
                       index, edge.costs.size(), numFrom, edge.from, numTo,
                       edge.to);
  if (hasNegative(edge.costs))
    return makeFailure("edge {0} has a negative cost", index);
  if (!sums.addCosts(edge.costs))
    return makeFailure("costs are too large to be added: those of all nodes "
                       "and of the edges up to {0}",
                       index);
  return {};
}

Failure regather::checkShardingProblem(const ShardingProblem &problem) {
  LargestSums sums;
  for (size_t node = 0; node != problem.nodes.size(); ++node)
    if (Failure failure = checkNode(problem.nodes[node], node, sums))
      return failure;
  for (size_t edge = 0; edge != problem.edges.size(); ++edge)
    if (Failure failure = checkEdge(problem, edge, sums))
      return failure;
  return {};
}

ShardingValue regather::evaluateSharding(const ShardingProblem &problem,
                                         ArrayRef<uint32_t> strategies) {
  ShardingValue value;
  bool isForbidden = false;
  auto add = [&](int64_t cost) {
    isForbidden |= cost >= kForbiddenCost;
    value.cost += isForbidden ? 0 : cost;
  };
  std::vector<std::pair<int64_t, int64_t>> changes;
  for (auto [node, strategy] : zip_equal(problem.nodes, strategies)) {
    add(node.costs[strategy]);
    if (node.begin >= node.end)
      continue;
    changes.emplace_back(node.begin, node.bytes[strategy]);
    changes.emplace_back(node.end, -node.bytes[strategy]);
  }
  for (const ShardingEdge &edge : problem.edges)
    add(edge.costs[strategies[edge.from] * problem.nodes[edge.to].costs.size() +
                   strategies[edge.to]]);
  if (isForbidden)
    value.cost = kForbiddenCost;
  // What ends at a time goes before what begins, being negative.
  llvm::sort(changes);
  int64_t live = 0;
  for (auto [time, bytes] : changes)
    if ((live += bytes) > value.peak) {
      value.peak = live;
      value.peakTime = time;
    }
  return value;
}
