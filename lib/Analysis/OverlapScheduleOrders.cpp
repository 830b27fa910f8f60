//===- OverlapScheduleOrders.cpp - Orders that schedules begin with -------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OverlapScheduleGraph.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <queue>

using namespace llvm;
using namespace regather;
using namespace regather::overlap;

Order overlap::getBlockingOrder(const Graph &graph) {
  Order order;
  order.reserve(graph.size());
  for (uint32_t op = 0; op != graph.size(); ++op) {
    if (graph.isWait(op))
      continue;
    order.push_back(op);
    if (graph.isStart(op) && graph.hasWait(op))
      order.push_back(graph.partner[op]);
  }
  return order;
}

namespace {
/// Emits operations on demand. A start and its wait are one: memory changes
/// hands at the start, and nothing comes between them.
class FrugalOrder {
public:
  explicit FrugalOrder(const Graph &graph);
  Order run();

private:
  bool isLazy(uint32_t op) const;
  void demand(uint32_t op);
  void emit(uint32_t op);
  void finish(uint32_t op);
  void emitReleasing();

  const Graph &graph;
  Order order;
  std::vector<bool> done;
  std::vector<uint32_t> missing;
  /// Operations that release memory and wait for nothing, by number.
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>>
      releasing;
};
} // namespace

FrugalOrder::FrugalOrder(const Graph &graph)
    : graph(graph), done(graph.size()), missing(graph.size()) {
  for (uint32_t op = 0; op != graph.size(); ++op)
    missing[op] = graph.predecessors[op].size();
}

/// True for what takes memory that somebody asks for later.
bool FrugalOrder::isLazy(uint32_t op) const {
  uint32_t last = op;
  if (graph.isStart(op) && graph.hasWait(op))
    last = graph.partner[op];
  if (graph.successors[last].empty() ||
      any_of(graph.written[op],
             [&](uint32_t buffer) { return graph.buffers[buffer].isLiveOut; }))
    return false;
  return graph.writtenBytes[op] > graph.ownedBytes[op];
}

void FrugalOrder::finish(uint32_t op) {
  order.push_back(op);
  done[op] = true;
  for (uint32_t successor : graph.successors[op])
    if (--missing[successor] == 0 && !graph.isWait(successor) &&
        graph.writtenBytes[successor] < graph.ownedBytes[successor])
      releasing.push(successor);
}

void FrugalOrder::emit(uint32_t op) {
  finish(op);
  if (graph.isStart(op) && graph.hasWait(op))
    finish(graph.partner[op]);
}

void FrugalOrder::emitReleasing() {
  while (!releasing.empty()) {
    uint32_t op = releasing.top();
    releasing.pop();
    if (!done[op])
      emit(op);
  }
}

/// Emits `op` behind what it needs, in the given order.
void FrugalOrder::demand(uint32_t op) {
  std::vector<uint32_t> needed = {op}, worklist = {op};
  DenseSet<uint32_t> seen = {op};
  while (!worklist.empty()) {
    uint32_t next = worklist.back();
    worklist.pop_back();
    for (uint32_t predecessor : graph.predecessors[next]) {
      uint32_t first =
          graph.isWait(predecessor) ? graph.partner[predecessor] : predecessor;
      if (!done[predecessor] && seen.insert(first).second) {
        needed.push_back(first);
        worklist.push_back(first);
      }
    }
  }
  llvm::sort(needed);
  for (uint32_t next : needed)
    if (!done[next])
      emit(next);
}

Order FrugalOrder::run() {
  order.reserve(graph.size());
  for (uint32_t op = 0; op != graph.size(); ++op) {
    if (done[op] || graph.isWait(op) || isLazy(op))
      continue;
    demand(op);
    emitReleasing();
  }
  for (uint32_t op = 0; op != graph.size(); ++op)
    if (!done[op])
      demand(op);
  return std::move(order);
}

Order overlap::getFrugalOrder(const Graph &graph) {
  return FrugalOrder(graph).run();
}
