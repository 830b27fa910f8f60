//===- TimedGraph.cpp - A step as operations that take time ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/TimedGraph.h"

#include <algorithm>
#include <cassert>
#include <numeric>

using namespace llvm;
using namespace regather;

static constexpr size_t kNoPlace = SIZE_MAX;

std::vector<uint32_t> TimedGraph::getStepOrder() const {
  std::vector<uint32_t> order(ops.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::optional<OrderViolation>
regather::findOrderViolation(const TimedGraph &graph,
                             ArrayRef<uint32_t> order) {
  using Kind = OrderViolation::Kind;
  std::vector<size_t> places(graph.ops.size(), kNoPlace);
  for (size_t place = 0; place != order.size(); ++place) {
    uint32_t op = order[place];
    if (op >= graph.ops.size())
      return OrderViolation{Kind::Unknown, op, 0, place};
    if (places[op] != kNoPlace)
      return OrderViolation{Kind::Repeated, op,
                            static_cast<uint32_t>(places[op]), place};
    places[op] = place;
  }
  for (uint32_t op = 0; op != graph.ops.size(); ++op)
    if (places[op] == kNoPlace)
      return OrderViolation{Kind::Missing, op};
  for (size_t place = 0; place != order.size(); ++place)
    for (uint32_t needed : graph.predecessors[order[place]])
      if (places[needed] > place)
        return OrderViolation{Kind::TooEarly, order[place], needed, place};
  return std::nullopt;
}

MemoryCurve regather::computeMemoryCurve(const TimedGraph &graph,
                                         ArrayRef<uint32_t> order) {
  std::vector<size_t> places(graph.ops.size());
  for (size_t place = 0; place != order.size(); ++place)
    places[order[place]] = place;
  // What is taken at a place, and what is free again after the place before.
  std::vector<int64_t> change(order.size() + 1);
  for (size_t i = 0; i != graph.buffers.size(); ++i) {
    const TimedBuffer &buffer = graph.buffers[i];
    size_t last = places[buffer.writer];
    change[last] += buffer.bytes;
    if (buffer.isLiveOut)
      continue;
    for (uint32_t user : graph.users[i])
      last = std::max(last, places[user]);
    change[last + 1] -= buffer.bytes;
  }
  MemoryCurve curve;
  curve.peakBytes = graph.residentBytes;
  curve.bytes.reserve(order.size());
  int64_t bytes = graph.residentBytes;
  for (size_t place = 0; place != order.size(); ++place) {
    bytes += change[place];
    curve.bytes.push_back(bytes);
    if (bytes > curve.peakBytes) {
      curve.peakBytes = bytes;
      curve.peakPlace = place;
    }
  }
  return curve;
}

double StepBounds::getSeconds() const {
  double seconds = std::max(computeSeconds, pathSeconds);
  for (double link : linkSeconds)
    seconds = std::max(seconds, link);
  return seconds;
}

StepBounds regather::computeStepBounds(const TimedGraph &graph) {
  StepBounds bounds;
  bounds.linkSeconds.resize(graph.links.size());
  std::vector<double> done(graph.ops.size());
  for (size_t i = 0; i != graph.ops.size(); ++i) {
    const TimedOp &op = graph.ops[i];
    for (uint32_t needed : graph.predecessors[i]) {
      assert(needed < i && "the numbers are an order");
      done[i] = std::max(done[i], done[needed]);
    }
    done[i] += op.seconds;
    bounds.pathSeconds = std::max(bounds.pathSeconds, done[i]);
    if (op.kind == TimedOpKind::Compute)
      bounds.computeSeconds += op.seconds;
    if (op.kind == TimedOpKind::Collective)
      bounds.linkSeconds[graph.streams[op.stream].link] += op.seconds;
  }
  return bounds;
}
