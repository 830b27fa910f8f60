//===- Timeline.h - A simulated step to look at -----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TIMELINE_TIMELINE_H
#define REGATHER_TIMELINE_TIMELINE_H

#include "regather/Analysis/Simulator/Simulator.h"

#include <string>
#include <utility>
#include <vector>

namespace regather {

/// What a box of a timeline stands for; each has a colour.
enum class BoxKind : uint8_t {
  Forward,
  Backward,
  Optimizer,
  AllGather,
  ReduceScatter,
  AllReduce,
  OtherCollective,
  /// The compute stream waits.
  Exposed
};
inline constexpr unsigned kNumBoxKinds = 8;

/// As in a legend: "backward".
llvm::StringRef getBoxKindName(BoxKind kind);

/// What is shown of an operation.
struct TimelineOp {
  std::string name;
  /// Such as `tg.all_gather` or `aten.mm.default`.
  std::string target;
  std::string module;
  BoxKind kind = BoxKind::Forward;
  /// Changes from one layer to the next.
  bool isShaded = false;
  /// Received by one rank, if it is a collective.
  int64_t bytes = 0;
};

/// A time span of an operation, longer than none.
struct TimelineBox {
  double begin = 0;
  double end = 0;
  uint32_t op = 0;
  BoxKind kind = BoxKind::Forward;
  bool isCritical = false;
};

/// A stream, from left to right.
struct TimelineLane {
  std::string name;
  std::vector<TimelineBox> boxes;
};

/// A part of the step.
struct TimelinePhase {
  std::string name;
  double begin = 0;
  double end = 0;
};

/// What happens on one class of ranks.
struct Timeline {
  std::string name;
  double seconds = 0;
  /// Computation, then the streams of communicators.
  std::vector<TimelineLane> lanes;
  std::vector<TimelinePhase> phases;
  /// Seconds and bytes in use from then on.
  std::vector<std::pair<double, int64_t>> memory;
  int64_t peakBytes = 0;
  double peakSeconds = 0;
};

/// The timeline of class `rankClass` of a simulation. `streams` are names.
Timeline makeTimeline(const TimedGraph &graph, llvm::ArrayRef<uint32_t> order,
                      const SimulationResult &result, uint32_t rankClass,
                      llvm::ArrayRef<TimelineOp> ops,
                      llvm::ArrayRef<std::string> streams);

} // namespace regather

#endif // REGATHER_TIMELINE_TIMELINE_H
