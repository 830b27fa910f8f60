//===- Reasons.cpp - Why waits are exposed --------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleGraph.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace regather;
using namespace regather::overlap;

namespace {
class ExposureReasons {
public:
  ExposureReasons(const Graph &graph, ArrayRef<uint32_t> order,
                  int64_t memoryLimit);
  std::vector<ExposedWait> run();

private:
  ExposedWait explain(uint32_t wait, double seconds) const;
  std::optional<uint32_t> findLastNeeded(uint32_t start) const;

  const Graph &graph;
  ArrayRef<uint32_t> order;
  int64_t memoryLimit;
  std::vector<uint32_t> places;
  std::vector<int64_t> live;
  /// When the device reaches each operation and, for a start, when its stream
  /// is free.
  std::vector<double> issued, streamFree;
  std::vector<uint32_t> previous;
};
} // namespace

ExposureReasons::ExposureReasons(const Graph &graph, ArrayRef<uint32_t> order,
                                 int64_t memoryLimit)
    : graph(graph), order(order), memoryLimit(memoryLimit),
      places(getPlaces(order)), live(computeLiveBytes(graph, order)),
      issued(graph.size()), streamFree(graph.size()),
      previous(graph.size(), Graph::kNone) {}

std::optional<uint32_t> ExposureReasons::findLastNeeded(uint32_t start) const {
  std::optional<uint32_t> last;
  for (uint32_t predecessor : graph.predecessors[start])
    if (!last || places[predecessor] > places[*last])
      last = predecessor;
  return last;
}

ExposedWait ExposureReasons::explain(uint32_t wait, double seconds) const {
  uint32_t start = graph.partner[wait];
  ExposedWait result{wait, seconds, ExposureReason::NotEnoughCompute,
                     std::nullopt};
  // The stream is to blame if it takes up most of the time.
  if (streamFree[start] - issued[start] >= seconds / 2) {
    result.reason = ExposureReason::StreamBusy;
    result.culprit = previous[start];
    return result;
  }
  std::optional<uint32_t> needed = findLastNeeded(start);
  double earliest =
      needed ? issued[*needed] + graph.getComputeSeconds(*needed) : 0;
  if (issued[start] - earliest < seconds / 2) {
    // What it needs comes right before it, so that it could hardly start
    // earlier.
    if (needed) {
      result.reason = ExposureReason::Dependency;
      result.culprit = needed;
    }
    return result;
  }
  // It could start earlier, if there were memory for its results.
  uint32_t place = places[start];
  while (place != 0 && order[place - 1] != needed &&
         issued[start] - issued[order[place]] < seconds / 2)
    --place;
  for (; place != places[start]; ++place) {
    int64_t taken = live[place] + graph.writtenBytes[order[place]];
    if (taken > memoryLimit - graph.writtenBytes[start])
      result.reason = ExposureReason::MemoryLimit;
  }
  return result;
}

std::vector<ExposedWait> ExposureReasons::run() {
  std::vector<double> times;
  computeScore(graph, order, &times);
  Clock clock(graph.numStreams);
  std::vector<double> ends(graph.size());
  std::vector<uint32_t> last(graph.numStreams, Graph::kNone);
  std::vector<ExposedWait> result;
  for (auto [place, op] : enumerate(order)) {
    issued[op] = clock.now = times[place];
    if (graph.isStart(op)) {
      uint32_t stream = graph.streams[op];
      streamFree[op] = clock.streamFree[stream];
      previous[op] = std::exchange(last[stream], op);
      clock.run(graph, op, ends);
    }
    double seconds = times[place + 1] - times[place];
    if (graph.isWait(op) && seconds > 0)
      result.push_back(explain(op, seconds));
  }
  return result;
}

std::vector<ExposedWait> regather::explainExposure(const TimedGraph &timed,
                                                   ArrayRef<uint32_t> order,
                                                   int64_t memoryLimit) {
  Graph graph(timed, /*allowsConflicts=*/false);
  return ExposureReasons(graph, order, memoryLimit).run();
}
