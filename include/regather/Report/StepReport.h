//===- StepReport.h - What is known of a compiled step ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What a report shows, apart from how: the tools collect it from a module, and
// the sections of a page print it. Bytes are those of one rank.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_REPORT_STEPREPORT_H
#define REGATHER_REPORT_STEPREPORT_H

#include "regather/Timeline/Timeline.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace regather::report {

/// What was asked of the step; empty texts if nothing was. `batch` is
/// `per-rank` or empty.
struct Request {
  std::string batch, attention, chunk, policy, reshard, recompute, offload;
  std::string bucket, schedule, optimizer;
};

/// The step as a whole.
struct Overview {
  std::string file, entry;
  /// Such as "dp = 8"; empty without a mesh.
  std::string mesh;
  int64_t ranks = 1;
  int64_t parameters = 0, parameterElements = 0;
  int64_t parameterBytes = 0, parameterBytesPerRank = 0;
  int64_t ops = 0;
  double flops = 0;
};

/// A parameter, or flat buffer of several, that forward gathers.
struct GatheredParameter {
  std::string name, module;
  /// The tensors that a flat buffer holds.
  std::vector<std::string> members;
  int64_t shardBytes = 0, gatheredBytes = 0;
  /// What of it lives on from forward to backward.
  int64_t keptBytes = 0;
  /// Bytes that a rank receives to gather it once more.
  int64_t regatheredBytes = 0;
  /// "kept", "gathered again" or "released", and why.
  std::string decision, reason;
};

/// A value that forward hands to backward.
struct SavedValue {
  /// Name in the captured graph.
  std::string id;
  std::string op, module, type, reason;
  int64_t bytes = 0;
  /// Arithmetic that saving it avoids.
  double flops = 0;
};

/// An operation of forward that backward carries out once more.
struct RecomputedOp {
  std::string id, op, module;
  /// Size of what it computes.
  int64_t bytes = 0;
  double flops = 0;
};

/// What lives on from forward to backward.
struct Boundary {
  std::vector<GatheredParameter> parameters;
  std::vector<SavedValue> saved;
  std::vector<RecomputedOp> recomputed;
  int64_t savedBytes = 0, gatheredBytes = 0;
  double recomputedFlops = 0;
};

/// Collectives that differ in none of the texts.
struct CollectiveGroup {
  std::string kind, phase, axes;
  int64_t ranks = 1, ops = 0, tensors = 0, bytes = 0;
};

/// What bytes are used for.
enum class MemoryUse : uint8_t {
  Arguments,
  Gathered,
  Saved,
  Gradients,
  Temporary
};
inline constexpr unsigned kNumMemoryUses = 5;

/// A run of instructions of one phase.
struct PhaseSpan {
  std::string name;
  uint64_t begin = 0, end = 0;
};

/// A buffer of the program.
struct LiveBuffer {
  /// What writes it first.
  std::string op, module, phase;
  MemoryUse use = MemoryUse::Temporary;
  int64_t bytes = 0;
};

/// Bytes in use over a program.
struct MemoryCurve {
  /// By instruction, and by MemoryUse.
  std::array<std::vector<int64_t>, kNumMemoryUses> bytes;
  std::vector<PhaseSpan> phases;
  int64_t argumentBytes = 0;
  /// The arena as it is planned.
  int64_t arenaBytes = 0;
  /// The same in memory of the host. Arguments there, which are none of the
  /// above.
  int64_t hostBytes = 0, hostArgumentBytes = 0;
  /// Where most bytes are in use, and the largest buffers there.
  uint64_t peak = 0;
  std::vector<LiveBuffer> largest;

  uint64_t getLength() const { return bytes[0].size(); }
  int64_t getTotal(uint64_t instruction) const {
    int64_t total = 0;
    for (const std::vector<int64_t> &use : bytes)
      total += use[instruction];
    return total;
  }
  int64_t getPeakBytes() const { return getLength() ? getTotal(peak) : 0; }
};

/// One state of the step.
struct StepState {
  Boundary boundary;
  std::vector<CollectiveGroup> collectives;
  MemoryCurve memory;
};

/// What no order of the operations of a step is quicker than.
struct TimeBound {
  std::string name;
  double seconds = 0;
};

/// A collective, and the time for which the device waits for it.
struct TimedCollective {
  std::string kind, module, phase;
  int64_t tensors = 0, bytes = 0;
  /// How long it is in flight, and how long before its wait it was issued.
  double seconds = 0, aheadSeconds = 0;
  double exposedSeconds = 0;
  /// Why it is exposed; empty if it is not.
  std::string reason;
};

/// When what happens on a cluster, of the ranks that are done last.
struct StepTiming {
  std::string cluster, device;
  double seconds = 0, computeSeconds = 0, communicationSeconds = 0;
  double exposedSeconds = 0;
  /// The part of communication that is hidden, and of the peak that is used.
  double hiddenPart = 1, utilization = 0;
  int64_t peakBytes = 0, deviceBytes = 0;
  std::vector<TimeBound> bounds;
  /// In the order in which they are issued.
  std::vector<TimedCollective> collectives;
  Timeline timeline;
  std::vector<TimelineOp> ops;
  /// Why there is nothing of this; empty if there is.
  std::string obstacle;

  /// The largest of the bounds.
  const TimeBound *getBound() const;
  /// How much longer the step takes, as a part of it.
  double getAboveBound() const;
};

/// What would make the step quicker or smaller.
struct Advice {
  std::string title, explanation;
  /// Flags that do it; empty if none does.
  std::string flags;
  /// How the numbers come about if not by simulation of such a step.
  std::string formula;
  /// Batches that the step works on, of the size of that of the report's.
  double batches = 1;
  double seconds = 0, exposedSeconds = 0;
  int64_t peakBytes = 0;

  double getSecondsPerBatch() const { return seconds / batches; }
};

/// Decisions that were tried, as flags, and what the step takes with them.
struct MemoryChoice {
  std::string flags;
  /// On each rank, arguments included.
  int64_t bytes = 0;
  double seconds = 0;
  /// No other is both smaller and quicker.
  bool isFrontier = false;
};

/// How decisions were chosen within a limit of memory; no choices without one.
struct MemoryChoices {
  int64_t limitBytes = 0;
  /// No order of the operations of any of them takes less.
  double boundSeconds = 0;
  std::vector<MemoryChoice> choices;
  size_t chosen = 0;
};

/// What a pass said about a decision.
struct Decision {
  std::string pass, text;
};

/// A step sharded but undecided, and as it is run.
struct StepReport {
  Request request;
  Overview overview;
  StepState before, after;
  StepTiming timingBefore, timing;
  std::vector<Decision> decisions;
  MemoryChoices memoryChoices;
  /// The most useful first.
  std::vector<Advice> advice;
};

} // namespace regather::report

#endif // REGATHER_REPORT_STEPREPORT_H
