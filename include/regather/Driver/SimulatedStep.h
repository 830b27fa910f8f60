//===- SimulatedStep.h - A step on a cluster --------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DRIVER_SIMULATEDSTEP_H
#define REGATHER_DRIVER_SIMULATEDSTEP_H

#include "regather/Analysis/Simulator/Simulator.h"
#include "regather/Dialect/TG/Steps/TimedStep.h"
#include "regather/Pipelines/Pipelines.h"
#include "regather/StepAnalysis/AnalyzeStep.h"
#include "regather/Timeline/Timeline.h"

namespace regather {

/// Arithmetic of the model: what is computed a second time does not count.
struct ModelFlops {
  double flops = 0;
  /// The element type of most GEMMs, as MLIR spells it.
  std::string type;
};

/// Counts before kernels are formed.
ModelFlops countModelFlops(mlir::ModuleOp module);

/// All that the simulator needs to know of a step, and what is shown of it.
struct SimulatedStep {
  TimedGraph program;
  RankClasses classes;
  /// By operation and placement of the group of a collective.
  std::function<double(uint32_t, uint32_t)> groupSeconds;
  /// By number of the operation.
  std::vector<TimelineOp> ops;
  /// By stream.
  std::vector<std::string> streams;
  int64_t ranks = 1;
};

/// Forms kernels and orders them. Emits errors.
mlir::LogicalResult formKernels(mlir::ModuleOp module,
                                const ProgramOptions &options);

/// Describes `step` on a cluster; `model` outlives the result. Emits an error
/// if it communicates over meshes that do not fit, or inside of control flow,
/// or if the cluster has too few ranks.
llvm::FailureOr<SimulatedStep> describeStep(const AnalyzedStep &step,
                                            const CostModel &model);

/// `overlapGroups`: collectives of groups that share devices may be in flight
/// together.
SimulationResult simulateStep(const SimulatedStep &step,
                              llvm::ArrayRef<uint32_t> order,
                              bool overlapGroups = false);

} // namespace regather

#endif // REGATHER_DRIVER_SIMULATEDSTEP_H
