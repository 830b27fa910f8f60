//===- Orders.cpp - Orders that schedules begin with ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Orders.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <queue>

using namespace llvm;
using namespace regather;
using namespace regather::overlap;

Order overlap::computeBlockingOrder(const Graph &graph) {
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
/// Emits operations on demand. A start and its wait are emitted together:
/// memory changes hands at the start, and nothing comes between them.
class FrugalOrder {
public:
  /// `base` is where the order comes from, `released` what each operation
  /// releases there.
  FrugalOrder(const Graph &graph, ArrayRef<uint32_t> base,
              std::vector<int64_t> released);
  Order run();

private:
  bool isLazy(uint32_t op) const;
  void demand(uint32_t op);
  void emit(uint32_t op);
  void finish(uint32_t op);
  void emitReleasing();

  const Graph &graph;
  ArrayRef<uint32_t> base;
  std::vector<uint32_t> places;
  std::vector<int64_t> released;
  Order order;
  std::vector<bool> done;
  std::vector<uint32_t> missing;
  /// Places of operations that release memory and wait for nothing.
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>>
      releasing;
};
} // namespace

FrugalOrder::FrugalOrder(const Graph &graph, ArrayRef<uint32_t> base,
                         std::vector<int64_t> released)
    : graph(graph), base(base), places(getPlaces(base)),
      released(std::move(released)), done(graph.size()), missing(graph.size()) {
  for (uint32_t op = 0; op != graph.size(); ++op)
    missing[op] = graph.predecessors[op].size();
}

/// True for operations that take memory which is needed only later.
bool FrugalOrder::isLazy(uint32_t op) const {
  uint32_t last = op;
  if (graph.isStart(op) && graph.hasWait(op))
    last = graph.partner[op];
  if (graph.successors[last].empty() ||
      any_of(graph.written[op],
             [&](uint32_t buffer) { return graph.buffers[buffer].isLiveOut; }))
    return false;
  return graph.writtenBytes[op] > released[op];
}

void FrugalOrder::finish(uint32_t op) {
  order.push_back(op);
  done[op] = true;
  for (uint32_t successor : graph.successors[op])
    if (--missing[successor] == 0 && !graph.isWait(successor) &&
        graph.writtenBytes[successor] < released[successor])
      releasing.push(places[successor]);
}

void FrugalOrder::emit(uint32_t op) {
  finish(op);
  if (graph.isStart(op) && graph.hasWait(op))
    finish(graph.partner[op]);
}

void FrugalOrder::emitReleasing() {
  while (!releasing.empty()) {
    uint32_t op = base[releasing.top()];
    releasing.pop();
    if (!done[op])
      emit(op);
  }
}

/// Emits `op` behind what it needs, in the order of the base.
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
  llvm::sort(needed,
             [&](uint32_t a, uint32_t b) { return places[a] < places[b]; });
  for (uint32_t next : needed)
    if (!done[next])
      emit(next);
}

Order FrugalOrder::run() {
  order.reserve(graph.size());
  for (uint32_t op : base) {
    if (done[op] || graph.isWait(op) || isLazy(op))
      continue;
    demand(op);
    emitReleasing();
  }
  for (uint32_t op : base)
    if (!done[op])
      demand(op);
  return std::move(order);
}

Order overlap::computeFrugalOrder(const Graph &graph) {
  Order given = getGivenOrder(graph);
  return FrugalOrder(graph, given, graph.ownedBytes).run();
}

/// By operation, the bytes of what it is the last to use in `order`.
static std::vector<int64_t> getReleasedBytes(const Graph &graph,
                                             ArrayRef<uint32_t> order) {
  std::vector<uint32_t> places = getPlaces(order);
  std::vector<int64_t> released(graph.size());
  for (const auto &[number, buffer] : enumerate(graph.buffers)) {
    if (buffer.isLiveOut)
      continue;
    uint32_t last = buffer.writer;
    for (uint32_t user : graph.users[number])
      if (places[user] > places[last])
        last = user;
    released[graph.isWait(last) ? graph.partner[last] : last] += buffer.bytes;
  }
  return released;
}

/// Sorts by the length of the longest chain that follows an operation, then by
/// that of the chain before it: each comes as late as it can, wherever the
/// program has it.
static Order getLatestOrder(const Graph &graph) {
  std::vector<uint32_t> before(graph.size()), behind(graph.size());
  for (uint32_t op = 0; op != graph.size(); ++op)
    for (uint32_t predecessor : graph.predecessors[op])
      before[op] = std::max(before[op], before[predecessor] + 1);
  for (uint32_t op = graph.size(); op-- != 0;)
    for (uint32_t successor : graph.successors[op])
      behind[op] = std::max(behind[op], behind[successor] + 1);
  Order order = getGivenOrder(graph);
  llvm::sort(order, [&](uint32_t a, uint32_t b) {
    return std::tie(behind[b], before[a], a) <
           std::tie(behind[a], before[b], b);
  });
  return order;
}

Order overlap::computeLeastMemoryOrder(const Graph &graph) {
  // The last user of a buffer depends on the order, so it is found anew in each
  // round.
  constexpr unsigned kRounds = 2;
  Order best;
  int64_t least = 0;
  for (Order order : {getGivenOrder(graph), getLatestOrder(graph)})
    for (unsigned round = 0; round != kRounds; ++round) {
      order = FrugalOrder(graph, order, getReleasedBytes(graph, order)).run();
      int64_t peak = computePeakBytes(graph, order);
      if (!best.empty() && peak >= least)
        continue;
      best = order;
      least = peak;
    }
  return best;
}
