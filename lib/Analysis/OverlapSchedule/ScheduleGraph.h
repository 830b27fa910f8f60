//===- ScheduleGraph.h - A scheduling problem, indexed ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_SCHEDULEGRAPH_H
#define REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_SCHEDULEGRAPH_H

#include "regather/Analysis/OverlapSchedule/OverlapSchedule.h"

#include <numeric>

namespace regather::overlap {

using Order = std::vector<uint32_t>;

/// The dependences of a step, which has been checked.
struct Graph {
  Graph(const TimedGraph &timed, bool allowsConflicts);

  uint32_t size() const { return static_cast<uint32_t>(kinds.size()); }
  bool isCompute(uint32_t op) const {
    return kinds[op] == TimedOpKind::Compute;
  }
  bool isStart(uint32_t op) const {
    return kinds[op] == TimedOpKind::Collective;
  }
  bool isWait(uint32_t op) const { return kinds[op] == TimedOpKind::Wait; }
  /// How long the device is busy with `op`.
  double getComputeSeconds(uint32_t op) const {
    return isCompute(op) ? seconds[op] : 0;
  }

  bool hasWait(uint32_t start) const { return partner[start] != kNone; }

  static constexpr uint32_t kNone = UINT32_MAX;

  std::vector<TimedOpKind> kinds;
  std::vector<uint32_t> streams;
  std::vector<double> seconds;
  /// Of a collective its wait, if there is one; of a wait its collective.
  std::vector<uint32_t> partner;
  IndexLists predecessors, successors;
  /// Buffers by the operation that writes them, and by their users, without
  /// repetition.
  IndexLists written, used;
  std::vector<int64_t> writtenBytes;
  /// By operation, the bytes of buffers that nothing but the operation and its
  /// own wait uses.
  std::vector<int64_t> ownedBytes;
  /// By buffer.
  std::vector<TimedBuffer> buffers;
  IndexLists users;
  int64_t residentBytes = 0;
  uint32_t numStreams = 0;
  /// By stream, the streams that may not have collectives in flight beside its
  /// own: collectives that are issued at the same time run one after the other.
  std::vector<std::vector<uint32_t>> conflicts;
  std::vector<TimedLink> links;
  /// By stream.
  std::vector<uint32_t> linkOf;
  /// Activities that run at the same time slow each other down.
  bool hasContention = false;
  /// How long it takes at least from the begin of an operation to the end of
  /// the step.
  std::vector<double> tails;
  /// How long it takes at least to the begin of an operation.
  std::vector<double> heads;
  /// How long before the end an operation should begin.
  std::vector<double> priorities;
};

/// The state of the device and the streams between two operations, without
/// contention. List schedules use it for programs with contention, too.
struct Clock {
  explicit Clock(uint32_t numStreams) : streamFree(numStreams, 0.0) {}

  /// Runs `op`; `ends` holds when the collective of each start is complete.
  /// Returns how long the device has waited.
  double run(const Graph &graph, uint32_t op, std::vector<double> &ends) {
    switch (graph.kinds[op]) {
    case TimedOpKind::Compute:
      now += graph.seconds[op];
      return 0;
    case TimedOpKind::Collective: {
      double &free = streamFree[graph.streams[op]];
      free = (free > now ? free : now) + graph.seconds[op];
      ends[op] = free;
      return 0;
    }
    case TimedOpKind::Wait: {
      double end = ends[graph.partner[op]];
      double waited = end > now ? end - now : 0;
      now = end > now ? end : now;
      return waited;
    }
    }
    return 0;
  }

  /// When everything is done, including collectives that nobody waits for.
  double getEnd() const {
    double end = now;
    for (double free : streamFree)
      end = free > end ? free : end;
    return end;
  }

  double now = 0;
  std::vector<double> streamFree;
};

/// The place of each operation.
inline std::vector<uint32_t> getPlaces(llvm::ArrayRef<uint32_t> order) {
  std::vector<uint32_t> places(order.size());
  for (uint32_t place = 0; place != order.size(); ++place)
    places[order[place]] = place;
  return places;
}

inline Order getGivenOrder(const Graph &graph) {
  Order order(graph.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// Runs all operations, with contention, and does not check limits. Fills
/// `times`, unless it is null, with when the device reaches each place.
ScheduleScore computeScore(const Graph &graph, llvm::ArrayRef<uint32_t> order,
                           std::vector<double> *times = nullptr);

/// Bytes that are live before each place, and after the last.
std::vector<int64_t> computeLiveBytes(const Graph &graph,
                                      llvm::ArrayRef<uint32_t> order);
int64_t computePeakBytes(const Graph &graph, llvm::ArrayRef<uint32_t> order);

/// True if no stream has more than `inFlight` collectives between start and
/// wait, and no two streams that conflict have collectives in flight together.
bool keepsStreamLimits(const Graph &graph, llvm::ArrayRef<uint32_t> order,
                       uint32_t inFlight);

} // namespace regather::overlap

#endif // REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_SCHEDULEGRAPH_H
