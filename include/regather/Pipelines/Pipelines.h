//===- Pipelines.h - From a captured step to a program ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_PIPELINES_PIPELINES_H
#define REGATHER_PIPELINES_PIPELINES_H

#include "regather/Pipelines/StepOptions.h"

#include "mlir/Pass/PassManager.h"

namespace regather {

/// Adds the passes that turn a captured step into one that can be trained, as
/// `options` ask for them: what is open is not done, see completeOptions. Each
/// phase ends with tg-verify-step.
void buildStepPipeline(mlir::OpPassManager &pm, const StepOptions &options);

/// Its first part: what cuts the step over its mesh, and its largest chain over
/// rows into blocks. Of the options, those of decisions about memory but for
/// `chunk` do not matter.
void buildShardingPipeline(mlir::OpPassManager &pm, const StepOptions &options);

/// The rest of it. Without `verifiesPhases`, phases do not end with
/// tg-verify-step, but for what is saved, recomputed and gathered again.
void buildDecisionPipeline(mlir::OpPassManager &pm, const StepOptions &options,
                           bool verifiesPhases = true);

/// True if the batch is split over an axis of the mesh that is asked for: one
/// that does not cut the model.
bool hasDataAxis(const StepOptions &options);

/// The ranks of all such axes together.
int64_t countDataRanks(const StepOptions &options);

/// The first thing that the options ask for without what it needs; empty if
/// there is none.
std::string findContradiction(const StepOptions &options);

/// The part of it that no mesh changes: chunks of rows that nobody sends.
std::string findIdleChunks(const StepOptions &options);

/// Emits an error if the step shall be elastic, but was sharded before: at the
/// first operation that sums over ranks, in an order that nobody can change any
/// more.
llvm::LogicalResult verifyElastic(mlir::ModuleOp module,
                                  const StepOptions &options);

/// Adds the passes that form kernels of the nodes of a step and order them.
void buildKernelPipeline(mlir::OpPassManager &pm,
                         const ProgramOptions &options);

/// True if the elements are of a type that exists in captured graphs only:
/// convert-tg-nodes-to-linalg makes pairs of complex numbers, and signless
/// integers of unsigned ones.
bool isOnlyInCaptures(mlir::Type type);

/// Adds the passes that turn the step called `entry` into a program over
/// planned memory. With `lowersNodes`, convert-tg-nodes-to-linalg runs before
/// kernels are formed, and not on each of them.
void buildProgramPipeline(mlir::OpPassManager &pm, llvm::StringRef entry,
                          const ProgramOptions &options, bool lowersNodes);

/// Adds the part of that behind buildKernelPipeline.
void buildMemoryPipeline(mlir::OpPassManager &pm, llvm::StringRef entry,
                         const ProgramOptions &options);

/// How far a step goes.
enum class StepStage { Prepared, Kernels, Program };

/// The passes that a step goes through up to `stage`, in their order. All of
/// them have options, or are of ours.
llvm::SmallVector<llvm::StringRef> listPasses(const StepOptions &options,
                                              StepStage stage);

/// Those of the passes named in the options which the step does not go through.
llvm::SmallVector<llvm::StringRef> findIdlePasses(const StepOptions &options,
                                                  StepStage stage);

/// Registers `regather-training-pipeline` for textual pipelines.
void registerPipelines();

} // namespace regather

#endif // REGATHER_PIPELINES_PIPELINES_H
