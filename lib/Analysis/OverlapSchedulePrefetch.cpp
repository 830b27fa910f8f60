//===- OverlapSchedulePrefetch.cpp - Prefetch by a fixed distance ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OverlapScheduleGraph.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace regather;
using namespace regather::overlap;

/// Emits all operations in the order of their places, and before each what is
/// demanded before it, with what that needs and has not been emitted.
static Order emitWithDemands(const Graph &graph, ArrayRef<uint32_t> order,
                             const IndexLists &demands) {
  Order result;
  result.reserve(order.size());
  std::vector<bool> done(graph.size());
  // An operation is emitted when it comes up a second time, its predecessors
  // being above it.
  std::vector<std::pair<uint32_t, bool>> stack;
  auto demand = [&](uint32_t root) {
    stack.emplace_back(root, false);
    while (!stack.empty()) {
      auto [op, isReady] = stack.back();
      stack.pop_back();
      if (done[op])
        continue;
      if (isReady) {
        done[op] = true;
        result.push_back(op);
        continue;
      }
      stack.emplace_back(op, true);
      for (uint32_t predecessor : llvm::reverse(graph.predecessors[op]))
        if (!done[predecessor])
          stack.emplace_back(predecessor, false);
    }
  };
  for (uint32_t op : order) {
    for (uint32_t earlier : demands[op])
      demand(earlier);
    demand(op);
  }
  return result;
}

/// The given order, with each wait in `deferred` before the next start, or
/// before its first use.
static Order deferWaits(const Graph &graph, ArrayRef<uint32_t> deferred) {
  std::vector<std::pair<uint32_t, uint32_t>> moved;
  std::vector<bool> isMoved(graph.size());
  for (auto [i, start] : enumerate(deferred)) {
    if (!graph.hasWait(start))
      continue;
    uint32_t wait = graph.partner[start];
    uint32_t target = i + 1 == deferred.size() ? graph.size() : deferred[i + 1];
    for (uint32_t user : graph.successors[wait])
      target = std::min(target, user);
    isMoved[wait] = true;
    moved.emplace_back(target, wait);
  }
  IndexLists movedTo(graph.size() + 1, moved);
  Order order;
  for (uint32_t op = 0; op != graph.size() + 1; ++op) {
    llvm::append_range(order, movedTo[op]);
    if (op != graph.size() && !isMoved[op])
      order.push_back(op);
  }
  return order;
}

Expected<OverlapSchedule>
regather::schedulePrefetch(const TimedProgram &program,
                           const PrefetchPlan &plan) {
  if (Error error = checkTimedProgram(program))
    return error;
  Graph graph(program, /*allowsConflicts=*/false);
  // A collective starts before the wait of an earlier one, or where the step
  // begins.
  std::vector<std::pair<uint32_t, uint32_t>> demands;
  for (auto [i, start] : enumerate(plan.prefetched)) {
    if (i < plan.depth)
      continue;
    uint32_t earlier = plan.prefetched[i - plan.depth];
    demands.emplace_back(
        graph.hasWait(earlier) ? graph.partner[earlier] : earlier, start);
  }
  OverlapSchedule result;
  result.order = emitWithDemands(graph, deferWaits(graph, plan.deferred),
                                 IndexLists(graph.size(), demands));
  result.given = getScore(graph, getGivenOrder(graph));
  result.score = getScore(graph, result.order);
  result.bounds = computeStepBounds(program);
  result.lowerBound = getLowerBound(graph);
  result.memoryLimit = std::max(result.given.peakBytes, result.score.peakBytes);
  result.strategy = "fixed prefetch";
  return result;
}
