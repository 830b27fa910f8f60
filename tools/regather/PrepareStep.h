//===- PrepareStep.h - Do to a step what a run needs ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TOOLS_REGATHER_PREPARESTEP_H
#define REGATHER_TOOLS_REGATHER_PREPARESTEP_H

#include "regather/Pipelines/Pipelines.h"
#include "regather/StepAnalysis/AnalyzeStep.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>

namespace regather {

/// What a run asks for of a step; see TrainingPipelineOptions.
struct RunRequest {
  std::optional<int64_t> ranks;
  std::string mesh;
  std::string replicateAxis;
  /// `auto` for a batch that may be that of one rank if no data is run here.
  std::string batch;
  std::string layout;
  std::string policy;
  /// Of the four that follow, what is empty is chosen by completePlan; `none`
  /// is not.
  std::string reshard;
  std::string recompute;
  std::string bucket;
  std::string schedule;
  std::string optimizer;
  /// Nothing is chosen.
  bool asCaptured = false;
  /// The cluster that buckets and schedules are made for that name none.
  std::string cluster;
  /// Schedules may have collectives in flight together whose groups share more
  /// than one device.
  bool overlapsGroups = false;
  /// The schedule is one of kernels, made when they have been formed.
  bool schedulesKernels = true;
  /// Nodes become structured operations.
  bool lower = false;
};

/// Lowers the nodes of a module that has complex or unsigned arguments or
/// results, which only nodes take: an engine sees pairs and signless integers.
/// Does nothing to other modules.
mlir::LogicalResult lowerForeignTypes(mlir::ModuleOp module);

/// Completes what is asked for by what a captured step gets if nobody decides;
/// see completePlan. Buckets and schedules name a cluster afterwards.
void completeRequest(mlir::ModuleOp module, const AnalyzedStep &step,
                     const PassOptionTexts &passOptions, RunRequest &request);

/// Runs what `step` lacks of the pipeline. Its parameters are sharded if a mesh
/// is asked for, or several ranks and it has none; an optimizer is appended if
/// one is asked for; nodes are lowered. Afterwards the step has to be analyzed
/// again. Takes options of its passes from `passOptions`. Emits an error if
/// what is asked for, which is complete, has been done to the step before, or
/// cannot be done.
mlir::LogicalResult prepareStep(mlir::ModuleOp module, const AnalyzedStep &step,
                                const RunRequest &request,
                                PassOptionTexts &passOptions);

} // namespace regather

#endif // REGATHER_TOOLS_REGATHER_PREPARESTEP_H
