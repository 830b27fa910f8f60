//===- StepSimulation.h - Simulate what is compiled ----------- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DRIVER_REPORT_STEPSIMULATION_H
#define REGATHER_LIB_DRIVER_REPORT_STEPSIMULATION_H

#include "regather/Driver/SimulatedStep.h"

#include "regather/Report/StepReport.h"

namespace regather {

/// The kernels of a step on a cluster, in their order.
struct StepSimulation {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  AnalyzedStep analyzed;
  ModelFlops flops;
  SimulatedStep step;
  std::vector<uint32_t> order;
  SimulationResult result;
};

/// Forms the kernels of a copy of `step`, as `options` say, and simulates
/// them; `model` outlives the result. Emits an error if the step cannot be
/// simulated.
mlir::FailureOr<StepSimulation> simulateKernels(const AnalyzedStep &step,
                                                const CostModel &model,
                                                const ProgramOptions &options);

/// Simulates a step called `entry` whose kernels have been formed; before, it
/// counted `flops`.
mlir::FailureOr<StepSimulation>
simulateFormedKernels(mlir::OwningOpRef<mlir::ModuleOp> kernels,
                      llvm::StringRef entry, int64_t ranks,
                      const ModelFlops &flops, const CostModel &model);

/// What a report says of it. The schedule, if there is one, kept to
/// `memoryLimit` bytes.
report::StepTiming describeTiming(const StepSimulation &simulation,
                                  const CostModel &model,
                                  std::optional<int64_t> memoryLimit);

} // namespace regather

#endif // REGATHER_LIB_DRIVER_REPORT_STEPSIMULATION_H
