//===- PrepareStep.h - Do to a step what it is wanted for -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DRIVER_PREPARESTEP_H
#define REGATHER_DRIVER_PREPARESTEP_H

#include "regather/Driver/MemoryPlan.h"
#include "regather/Pipelines/Pipelines.h"
#include "regather/StepAnalysis/AnalyzeStep.h"

namespace regather {

/// A step that has been through buildStepPipeline.
struct PreparedStep {
  AnalyzedStep step;
  /// With everything decided. `batch` is what came of `auto`, and nothing if
  /// the step had been sharded before.
  StepOptions options;
  /// If there was a limit.
  std::optional<StepMemoryPlan> memory;
};

/// Chooses what `options.memory` asks for, if it does, and takes it away; see
/// planStepMemory and planDeviceMemory. Preparing a step does so by itself.
mlir::LogicalResult decideMemory(mlir::ModuleOp module, StepOptions &options,
                                 std::optional<StepMemoryPlan> &plan,
                                 MemorySearchNotes *notes = nullptr);

/// Completes the options and runs what `module` lacks of the pipeline. Its
/// parameters are sharded if a mesh is asked for, or several ranks and it has
/// none. Emits an error if what is asked for has been done to the step before,
/// or cannot be done.
mlir::FailureOr<PreparedStep> prepareStep(mlir::ModuleOp module,
                                          const StepOptions &options);

/// The same, but a partitioned step becomes one function.
mlir::FailureOr<PreparedStep> prepareWholeStep(mlir::ModuleOp module,
                                               const StepOptions &options);

/// What a step was before anything was done to it.
struct StepOrigin {
  StepFacts facts;
  /// What the options, or else the ranks, choose.
  std::string cluster;
  /// Over a mesh.
  bool wasSharded = false;
  /// Of the captured batch.
  int64_t rows = 0;
  /// As captured steps consist of them.
  bool hadNodes = false;
};

/// A step that is cut over its mesh, for several decisions about the rest.
struct ShardedStep {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  StepOrigin origin;
};

/// The first part of prepareStep, without a limit of memory, for a copy of
/// `module`.
mlir::FailureOr<ShardedStep> shardOverMesh(mlir::ModuleOp module,
                                           const StepOptions &options);

/// The rest of prepareWholeStep for a copy of what shardOverMesh made with the
/// same options, but for decisions about memory other than `chunk`. It does not
/// verify what passes leave, as that step was prepared only to be measured.
mlir::FailureOr<PreparedStep> prepareShardedStep(mlir::ModuleOp copy,
                                                 const StepOrigin &origin,
                                                 const StepOptions &options);

/// Emits an error for each pass that somebody gave options of and that the
/// prepared step does not go through up to `stage`.
mlir::LogicalResult verifyNamedPasses(mlir::ModuleOp module,
                                      const StepOptions &options,
                                      StepStage stage);

/// The input whose dimension 0 is the batch; null if there is none.
const StepValue *findBatch(const StepSignature &step);

} // namespace regather

#endif // REGATHER_DRIVER_PREPARESTEP_H
