//===- SimulationTrace.cpp - What a step waits for ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimulationTrace.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace regather;

StreamQueues::StreamQueues(const TimedGraph &graph, ArrayRef<uint32_t> order)
    : collectives(graph.streams.size()), placeInStream(graph.ops.size()),
      earlier(graph.streams.size()) {
  SmallVector<uint32_t> counts;
  for (uint32_t number : order) {
    const TimedOp &op = graph.ops[number];
    if (op.kind != TimedOpKind::Collective)
      continue;
    counts.clear();
    for (uint32_t other : graph.streams[op.stream].conflicts)
      counts.push_back(collectives[other].size());
    earlier[op.stream].push(counts);
    placeInStream[number] = collectives[op.stream].size();
    collectives[op.stream].push_back(number);
  }
}

namespace {
class Tracer {
public:
  Tracer(const TimedGraph &graph, ArrayRef<uint32_t> order,
         const StreamQueues &queues, const RankClasses &classes,
         const SimulationResult &result)
      : graph(graph), order(order), queues(queues), classes(classes),
        result(result) {}

  std::vector<TimelineEntry> run();

private:
  void beginAtEnd();
  void followComputeStream();
  void followCollective();
  bool followToCollective(uint32_t rankClass, uint32_t stream, uint32_t count,
                          double time);

  const TimedGraph &graph;
  ArrayRef<uint32_t> order;
  const StreamQueues &queues;
  const RankClasses &classes;
  const SimulationResult &result;

  std::vector<TimelineEntry> path;
  std::vector<size_t> placeOf;
  uint32_t rankClass = 0;
  /// Operations of the order that are still to be looked at.
  size_t place = 0;
  /// Set while a collective is followed, not the compute stream.
  std::optional<uint32_t> collective;
};
} // namespace

void Tracer::beginAtEnd() {
  auto last = llvm::max_element(
      result.ranks, [](const RankTimeline &a, const RankTimeline &b) {
        return a.seconds < b.seconds;
      });
  rankClass = last - result.ranks.begin();
  place = order.size();
  for (uint32_t op : order)
    if (graph.ops[op].kind == TimedOpKind::Collective &&
        last->end[op] == last->seconds)
      collective = op;
  if (!order.empty() && last->end[order.back()] == last->seconds &&
      graph.ops[order.back()].kind != TimedOpKind::Collective)
    collective.reset();
}

void Tracer::followComputeStream() {
  uint32_t op = order[--place];
  const RankTimeline &times = result.ranks[rankClass];
  if (graph.ops[op].kind == TimedOpKind::Collective ||
      times.begin[op] == times.end[op])
    return;
  if (graph.ops[op].kind == TimedOpKind::Wait)
    collective = graph.ops[op].collective;
  else
    path.push_back({rankClass, op});
}

/// True if the last of the first `count` collectives of a stream ended at
/// `time`.
bool Tracer::followToCollective(uint32_t rankClass, uint32_t stream,
                                uint32_t count, double time) {
  if (count == 0)
    return false;
  uint32_t op = queues.collectives[stream][count - 1];
  if (result.ranks[rankClass].end[op] != time)
    return false;
  this->rankClass = rankClass;
  collective = op;
  return true;
}

void Tracer::followCollective() {
  uint32_t op = *collective;
  uint32_t stream = graph.ops[op].stream;
  double begin = result.ranks[rankClass].begin[op];
  if (result.ranks[rankClass].end[op] > begin)
    path.push_back({rankClass, op});
  uint32_t group = classes.ranks[rankClass].groups[stream];
  ArrayRef<uint32_t> members = classes.groups[stream][group].rankClasses;
  for (uint32_t member : members)
    if (result.ranks[member].issued[op] == begin) {
      rankClass = member;
      place = placeOf[op];
      collective.reset();
      return;
    }
  uint32_t placeInStream = queues.placeInStream[op];
  if (followToCollective(rankClass, stream, placeInStream, begin))
    return;
  ArrayRef<uint32_t> conflicts = graph.streams[stream].conflicts;
  ArrayRef<uint32_t> earlier = queues.earlier[stream][placeInStream];
  for (uint32_t member : members)
    for (auto [other, count] : zip(conflicts, earlier))
      if (followToCollective(member, other, count, begin))
        return;
  llvm_unreachable("a collective begins when something is done");
}

std::vector<TimelineEntry> Tracer::run() {
  placeOf.resize(order.size());
  for (size_t i = 0; i != order.size(); ++i)
    placeOf[order[i]] = i;
  beginAtEnd();
  // Each step leads to an operation that is issued earlier.
  while (collective || place > 0) {
    if (collective)
      followCollective();
    else
      followComputeStream();
  }
  std::reverse(path.begin(), path.end());
  return std::move(path);
}

std::vector<TimelineEntry>
regather::traceCriticalPath(const TimedGraph &graph, ArrayRef<uint32_t> order,
                            const StreamQueues &queues,
                            const RankClasses &classes,
                            const SimulationResult &result) {
  return Tracer(graph, order, queues, classes, result).run();
}
