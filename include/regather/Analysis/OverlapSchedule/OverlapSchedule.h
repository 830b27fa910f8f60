//===- OverlapSchedule.h - Orders that hide communication -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Orders the operations of a step so that its collectives run while the device
// computes, within a limit of memory.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_OVERLAPSCHEDULE_OVERLAPSCHEDULE_H
#define REGATHER_ANALYSIS_OVERLAPSCHEDULE_OVERLAPSCHEDULE_H

#include "regather/Analysis/TimedGraph.h"

#include "regather/Support/Result.h"
#include "llvm/ADT/StringRef.h"

namespace regather {

struct OverlapOptions {
  /// The most bytes taken at any place, resident ones included; the peak of the
  /// order of the step if absent.
  std::optional<int64_t> memoryLimit;
  /// The most collectives in flight on one stream; 0 for any number.
  uint32_t inFlight = 16;
  /// Streams that conflict may have collectives in flight together.
  bool allowsConflicts = false;
  /// Orders of the graph that are known already: the result takes no longer
  /// than those that keep to the limits.
  std::vector<std::vector<uint32_t>> candidates;
  /// Work that may be spent beyond the list schedules, for each operation and
  /// at least. One unit takes a few nanoseconds. The result depends on it but
  /// not on the machine.
  uint64_t effortPerOp = 100;
  uint64_t minEffort = 2'000'000;
};

/// What a step takes if its operations run in some order.
struct ScheduleScore {
  double seconds = 0;
  /// Of these, how long the device waits.
  double exposedSeconds = 0;
  int64_t peakBytes = 0;
};

struct OverlapSchedule {
  /// Operations by place.
  std::vector<uint32_t> order;
  ScheduleScore score;
  /// What the order of the step takes.
  ScheduleScore given;
  StepBounds bounds;
  /// No order takes less: at least as good as the bounds above. It considers
  /// how late an operation can begin, how much has to follow, and that device
  /// and links do one thing at a time.
  double lowerBound = 0;
  int64_t memoryLimit = 0;
  /// What found the order: "given order", "list schedule", "local search", ...
  llvm::StringRef strategy;

  /// Of the communication that some order might hide, the part that this one
  /// hides. What is exposed in every order is the lower bound less all
  /// computation.
  double getHiddenPart() const;
};

/// Fails if a number does not exist, if a predecessor does not have a lower
/// number, if a collective does not have one wait, which has no other
/// predecessor, if seconds or bytes are negative or not finite, and if bytes
/// add up to 2^60 or more.
Failure checkTimedGraph(const TimedGraph &graph);

/// Finds an order that takes little time within the limit of memory. List
/// schedules begin with the order of the step or with one of little memory, and
/// start collectives as soon as stream and memory allow; while the device would
/// wait, they advance what does not depend on it. A local search improves the
/// best one until the bound is met or the effort spent.
///
/// Reductions never delay what the step waits for. The result is a function of
/// the arguments alone, and never takes longer than the order of the step if
/// that keeps to the limits.
///
/// O(n log n). Fails if the graph is malformed, and if no order that is known
/// keeps to the limit; the message states the least that one takes, and what
/// every order takes at least.
Result<OverlapSchedule>
scheduleOverlap(const TimedGraph &graph,
                const OverlapOptions &options = OverlapOptions());

/// No order of the graph, which is well-formed, takes less: the tightest
/// bound that a schedule can have.
double computeLowerBound(const TimedGraph &graph);

/// What a schedule of the graph may take, of a few list schedules: to compare
/// graphs. Nothing if no order of them keeps to the limit, or if the graph
/// is malformed.
std::optional<double>
estimateOverlap(const TimedGraph &graph,
                std::optional<int64_t> memoryLimit = std::nullopt);

/// Collectives that move by a fixed distance, in the order of the step.
struct PrefetchPlan {
  /// Each starts before the wait of the one `depth` places earlier in this
  /// list, with what is computed for it alone.
  std::vector<uint32_t> prefetched;
  uint32_t depth = 1;
  /// The wait of each, and all that depends on it, comes right before the next
  /// one of this list starts; the last one at the end. None depends on another.
  std::vector<uint32_t> deferred;
};

/// Follows plans whatever they take in time and memory. A collective is in one
/// of them.
Result<OverlapSchedule> schedulePrefetch(const TimedGraph &graph,
                                         llvm::ArrayRef<PrefetchPlan> plans);

/// Why the device waits for a collective.
enum class ExposureReason : uint8_t {
  /// Its inputs are computed right before its start.
  Dependency,
  /// It is started as early as it can be, but there is too little to compute
  /// between start and wait.
  NotEnoughCompute,
  /// It would have to start earlier than memory allows.
  MemoryLimit,
  /// The stream is busy with earlier collectives.
  StreamBusy
};

struct ExposedWait {
  uint32_t wait = 0;
  double seconds = 0;
  ExposureReason reason = ExposureReason::NotEnoughCompute;
  /// The collective that keeps the stream busy, or the operation that the start
  /// depends on.
  std::optional<uint32_t> culprit;
};

/// The waits that hold the device, in the order of the schedule.
std::vector<ExposedWait> explainExposure(const TimedGraph &graph,
                                         llvm::ArrayRef<uint32_t> order,
                                         int64_t memoryLimit);

} // namespace regather

#endif // REGATHER_ANALYSIS_OVERLAPSCHEDULE_OVERLAPSCHEDULE_H
