//===- SimulationSummary.h - What a simulation tells ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DRIVER_SIMULATIONSUMMARY_H
#define REGATHER_DRIVER_SIMULATIONSUMMARY_H

#include "regather/Driver/MemoryPlan.h"
#include "regather/Driver/SimulatedStep.h"

#include "regather/Timeline/WriteTimeline.h"

namespace regather {

/// A wait that holds the compute stream up.
struct WaitTime {
  uint32_t wait = 0;
  uint32_t collective = 0;
  double seconds = 0;
};

/// A simulated step in numbers. All views outlive it.
struct SimulationSummary {
  SimulationSummary(const SimulatedStep &step, llvm::ArrayRef<uint32_t> order,
                    const SimulationResult &result);

  const SimulatedStep &step;
  llvm::ArrayRef<uint32_t> order;
  const SimulationResult &result;

  std::string file, entry, cluster;
  /// Such as `dp:512`; empty without a mesh.
  std::string mesh;
  /// `per-rank` or `global` if the step was sharded for it.
  std::string batch;
  double flops = 0;
  /// Of a device, for the type of most GEMMs; 0 if it is not known.
  double peakFlops = 0;

  /// The class of ranks that is done last; all numbers are of it.
  uint32_t rankClass = 0;
  StepBounds bounds;
  /// Of computation, links and dependencies together.
  double jointBound;
  MemoryCurve memory;
  /// The longest first.
  std::vector<WaitTime> exposed;
  /// If the step was to fit in a limit.
  std::optional<StepMemoryPlan> memoryPlan;

  const RankTimeline &getTimes() const { return result.ranks[rankClass]; }
  /// The part of communication behind which the compute stream computes; 1 if
  /// there is no communication.
  double getHiddenPart() const;
  /// What no order of the operations is quicker than, by name.
  std::vector<std::pair<std::string, double>> getBounds() const;
  /// The largest of them.
  double getBound() const;
  /// Model FLOPs utilization; 0 if the peak is not known.
  double getUtilization() const;
  /// "Ranks 0 and 511 more that do the same".
  std::string nameRanks(uint32_t rankClass) const;
};

/// The numbers for people.
std::string formatText(const SimulationSummary &summary);
/// All numbers, and each operation, as one JSON object.
std::string formatJson(const SimulationSummary &summary);
/// What stands around a picture of the timeline.
TimelinePage makePage(const SimulationSummary &summary);

} // namespace regather

#endif // REGATHER_DRIVER_SIMULATIONSUMMARY_H
