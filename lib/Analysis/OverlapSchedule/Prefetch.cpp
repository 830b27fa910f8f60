//===- Prefetch.cpp - Prefetch by a fixed distance ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bounds.h"
#include "Distances.h"

#include "llvm/ADT/STLExtras.h"

#include <deque>

using namespace llvm;
using namespace regather;
using namespace regather::overlap;

/// Emits all operations in the order of their places, and before each the
/// operations that are demanded before it, with everything that they need.
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

namespace {
/// Holds waits back, together with the operations that depend on them, until
/// another collective has started.
class WaitDeferral {
public:
  WaitDeferral(const Graph &graph, ArrayRef<PrefetchPlan> plans);
  Order run();

private:
  /// What was held back for a collective is done next.
  void release(uint32_t start);
  void visit(uint32_t op);

  const Graph &graph;
  /// By collective, the one before it in its list.
  std::vector<uint32_t> previous;
  /// By wait: it is held back.
  std::vector<bool> isDeferred;
  /// By operation that is held back, the collective that it is held back for.
  std::vector<uint32_t> heldFor;
  /// By collective, what is held back for it.
  std::vector<std::vector<uint32_t>> held;
  std::deque<uint32_t> todo;
  Order order;
};
} // namespace

WaitDeferral::WaitDeferral(const Graph &graph, ArrayRef<PrefetchPlan> plans)
    : graph(graph), previous(graph.size(), Graph::kNone),
      isDeferred(graph.size()), heldFor(graph.size(), Graph::kNone),
      held(graph.size()), todo(graph.size()) {
  std::iota(todo.begin(), todo.end(), 0);
  for (const PrefetchPlan &plan : plans) {
    uint32_t last = Graph::kNone;
    for (uint32_t start : plan.deferred) {
      if (!graph.hasWait(start))
        continue;
      previous[start] = std::exchange(last, start);
      isDeferred[graph.partner[start]] = true;
    }
  }
  order.reserve(graph.size());
}

void WaitDeferral::release(uint32_t start) {
  isDeferred[graph.partner[start]] = false;
  for (uint32_t op : held[start])
    heldFor[op] = Graph::kNone;
  todo.insert(todo.begin(), held[start].begin(), held[start].end());
  held[start].clear();
}

void WaitDeferral::visit(uint32_t op) {
  uint32_t reason = isDeferred[op] ? graph.partner[op] : Graph::kNone;
  for (uint32_t predecessor : graph.predecessors[op])
    if (heldFor[predecessor] != Graph::kNone)
      reason = heldFor[predecessor];
  if (reason != Graph::kNone) {
    heldFor[op] = reason;
    held[reason].push_back(op);
    return;
  }
  uint32_t before = previous[op];
  if (before != Graph::kNone && isDeferred[graph.partner[before]]) {
    todo.push_front(op);
    release(before);
    return;
  }
  order.push_back(op);
}

Order WaitDeferral::run() {
  while (true) {
    while (!todo.empty()) {
      uint32_t op = todo.front();
      todo.pop_front();
      visit(op);
    }
    // No start follows the last ones of the lists. Releasing them may hold back
    // others, so that the search begins again.
    auto it = find_if(held, [](const auto &ops) { return !ops.empty(); });
    if (it == held.end())
      return std::move(order);
    release(it - held.begin());
  }
}

Result<OverlapSchedule>
regather::schedulePrefetch(const TimedGraph &timed,
                           ArrayRef<PrefetchPlan> plans) {
  if (Failure failure = checkTimedGraph(timed))
    return failure;
  Graph graph(timed, /*allowsConflicts=*/false);
  std::vector<std::pair<uint32_t, uint32_t>> demands;
  for (const PrefetchPlan &plan : plans) {
    for (size_t i = 1; i < plan.prefetched.size() && plan.depth > 0; ++i) {
      uint32_t earlier = plan.prefetched[i - std::min<size_t>(i, plan.depth)];
      demands.emplace_back(graph.hasWait(earlier) ? graph.partner[earlier]
                                                  : earlier,
                           plan.prefetched[i]);
    }
  }
  OverlapSchedule result;
  result.order = emitWithDemands(graph, WaitDeferral(graph, plans).run(),
                                 IndexLists(graph.size(), demands));
  result.given = computeScore(graph, getGivenOrder(graph));
  result.score = computeScore(graph, result.order);
  result.bounds = computeStepBounds(timed);
  tightenDistances(graph);
  result.lowerBound = computeLowerBound(graph);
  result.memoryLimit = std::max(result.given.peakBytes, result.score.peakBytes);
  result.strategy = "fixed prefetch";
  return result;
}
