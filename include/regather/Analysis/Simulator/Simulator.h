//===- Simulator.h - When everything in a step happens ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_SIMULATOR_SIMULATOR_H
#define REGATHER_ANALYSIS_SIMULATOR_SIMULATOR_H

#include "regather/Analysis/Simulator/RankClasses.h"
#include "regather/Analysis/TimedGraph.h"

#include <functional>

namespace regather {

struct SimulationOptions {
  /// Collectives of streams that conflict run one after the other, in the order
  /// in which they are issued. The target may say that it is safe not to.
  bool serializesConflicts = true;
  /// Collectives over links of one class share their bandwidth evenly.
  bool sharesLinks = true;
  /// Seconds of a collective by operation and placement of the group; those of
  /// the graph if there is no such function.
  std::function<double(uint32_t, uint32_t)> groupSeconds;
};

/// What happens on the ranks of one class. Times are seconds since the step
/// began, by number of the operation.
struct RankTimeline {
  /// When the compute stream reaches the operation.
  std::vector<double> issued;
  /// When it begins: a collective perhaps later than it is issued.
  std::vector<double> begin;
  /// When it is done. A wait lasts while the compute stream is held up: the
  /// time that its collective is exposed.
  std::vector<double> end;
  /// When the last operation is done.
  double seconds = 0;
  /// Time in which the compute stream computes, slowed down or not.
  double computeSeconds = 0;
  /// Time in which it waits, until the end of the step.
  double exposedSeconds = 0;
  /// By stream, time in which a collective is in flight.
  std::vector<double> streamSeconds;
  /// By class of links, time in which any collective is in flight.
  std::vector<double> linkSeconds;
  /// Time in which any collective is in flight.
  double communicationSeconds = 0;
};

/// An operation on the ranks of a class.
struct TimelineEntry {
  uint32_t rankClass = 0;
  uint32_t op = 0;
};

struct SimulationResult {
  /// By class of ranks.
  std::vector<RankTimeline> ranks;
  /// The operations that take all the time until the end of the step, each
  /// beginning when the one before is done.
  std::vector<TimelineEntry> criticalPath;
  double seconds = 0;
  /// Instants at which anything ended.
  uint64_t numEvents = 0;
};

/// Runs a graph in `order`, in which it can run.
///
/// A collective begins when all ranks of its group have issued it, that is,
/// when their compute streams have got there, and the collectives before it on
/// its stream and on those that it conflicts with are done. While it is in
/// flight it slows computation down, and computation it, as its link says; two
/// on one link share it. Between two events all speeds are constant, so times
/// are exact.
///
/// O(n c s) for n operations, c classes of ranks and s streams.
SimulationResult simulate(const TimedGraph &graph,
                          llvm::ArrayRef<uint32_t> order,
                          const RankClasses &classes,
                          const SimulationOptions &options = {});

} // namespace regather

#endif // REGATHER_ANALYSIS_SIMULATOR_SIMULATOR_H
