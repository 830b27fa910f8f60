//===- Timeline.cpp - A simulated step to look at -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Timeline/Timeline.h"

#include "llvm/ADT/STLExtras.h"

using namespace regather;

llvm::StringRef regather::getBoxKindName(BoxKind kind) {
  switch (kind) {
  case BoxKind::Forward:
    return "forward";
  case BoxKind::Backward:
    return "backward";
  case BoxKind::Optimizer:
    return "optimizer";
  case BoxKind::AllGather:
    return "all_gather";
  case BoxKind::ReduceScatter:
    return "reduce_scatter";
  case BoxKind::AllReduce:
    return "all_reduce";
  case BoxKind::OtherCollective:
    return "other collective";
  case BoxKind::Exposed:
    return "exposed wait";
  }
  llvm_unreachable("unknown kind");
}

/// A part lasts until its last computation; single operations of later parts
/// may come before.
static std::vector<TimelinePhase> findPhases(llvm::ArrayRef<TimelineBox> boxes,
                                             double seconds) {
  constexpr BoxKind kinds[] = {BoxKind::Forward, BoxKind::Backward,
                               BoxKind::Optimizer};
  double ends[kNumBoxKinds] = {};
  for (const TimelineBox &box : boxes)
    ends[static_cast<unsigned>(box.kind)] = box.end;
  std::vector<TimelinePhase> phases;
  double begin = 0;
  for (BoxKind kind : kinds) {
    double end = ends[static_cast<unsigned>(kind)];
    if (end <= begin)
      continue;
    phases.push_back({getBoxKindName(kind).str(), begin, end});
    begin = end;
  }
  if (!phases.empty())
    phases.back().end = seconds;
  return phases;
}

/// Where the bytes in use change.
static void addMemory(const TimedGraph &graph, llvm::ArrayRef<uint32_t> order,
                      const RankTimeline &times, Timeline &timeline) {
  MemoryCurve curve = computeMemoryCurve(graph, order);
  timeline.peakBytes = curve.peakBytes;
  if (!order.empty())
    timeline.peakSeconds = times.issued[order[curve.peakPlace]];
  std::vector<std::pair<double, int64_t>> &memory = timeline.memory;
  for (auto [op, bytes] : llvm::zip(order, curve.bytes)) {
    double issued = times.issued[op];
    // Of several at one instant the largest counts.
    if (!memory.empty() && memory.back().first == issued)
      memory.back().second = std::max(memory.back().second, bytes);
    else if (memory.empty() || memory.back().second != bytes)
      memory.emplace_back(issued, bytes);
  }
}

Timeline regather::makeTimeline(const TimedGraph &graph,
                                llvm::ArrayRef<uint32_t> order,
                                const SimulationResult &result,
                                uint32_t rankClass,
                                llvm::ArrayRef<TimelineOp> ops,
                                llvm::ArrayRef<std::string> streams) {
  const RankTimeline &times = result.ranks[rankClass];
  std::vector<bool> isCritical(graph.ops.size());
  for (const TimelineEntry &entry : result.criticalPath)
    if (entry.rankClass == rankClass)
      isCritical[entry.op] = true;
  Timeline timeline;
  timeline.seconds = result.seconds;
  timeline.lanes.push_back({"compute", {}});
  for (const std::string &stream : streams)
    timeline.lanes.push_back({stream, {}});
  for (uint32_t op : order) {
    if (times.end[op] <= times.begin[op])
      continue;
    TimelineBox box = {times.begin[op], times.end[op], op, ops[op].kind,
                       isCritical[op]};
    unsigned lane = 0;
    if (graph.ops[op].kind == TimedOpKind::Wait)
      box.kind = BoxKind::Exposed;
    else if (graph.ops[op].kind == TimedOpKind::Collective)
      lane = 1 + graph.ops[op].stream;
    timeline.lanes[lane].boxes.push_back(box);
  }
  timeline.phases = findPhases(timeline.lanes[0].boxes, timeline.seconds);
  addMemory(graph, order, times, timeline);
  return timeline;
}
