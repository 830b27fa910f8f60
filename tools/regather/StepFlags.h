//===- StepFlags.h - Flags that say which step is meant ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TOOLS_REGATHER_STEPFLAGS_H
#define REGATHER_TOOLS_REGATHER_STEPFLAGS_H

#include "Commands.h"
#include "PrepareStep.h"

#include "regather/Analysis/Cost/CostModel.h"
#include "regather/Execution/Training/RunReport.h"
#include "regather/Pipelines/Pipelines.h"
#include "regather/StepAnalysis/AnalyzeStep.h"

namespace regather {

/// Number of ranks that --ranks asks for.
std::optional<int64_t> getRequestedRanks();

/// Checks what --ranks, --mesh and --replicate-axis say by themselves, and
/// reads --plan and --pass-option. Called once, before all below.
Failure readStepFlags();

/// Fails if a flag but --ranks is given, all of which say what is to be made of
/// a step.
Failure rejectStepFlags();

/// Shards a step, appends an optimizer and lowers nodes, as the flags ask for
/// and the step lacks, and describes what comes out. Emits errors.
llvm::FailureOr<AnalyzedStep> prepareStepByFlags(mlir::ModuleOp module,
                                                 bool lowerNodes);

/// Fails if --schedule asks for an order; `reason` says why it has no effect.
Failure rejectSchedule(const llvm::Twine &reason);

/// What the flags ask for; nodes stay. Schedules and buckets that name no
/// cluster are made for `cluster`.
RunRequest getRequestedStep(llvm::StringRef cluster);

/// The cluster that --cluster names, or else where that many ranks of the step
/// would be: h100-8, or h100-nodes for more than eight.
std::string getRequestedCluster(mlir::ModuleOp module);

/// The same, loaded. Prints an error if there is none.
std::optional<CostModel> loadRequestedCluster(mlir::ModuleOp module);

/// The cluster that code for this machine is made for: what --cluster names, or
/// its threads.
std::string getTargetCluster();

/// Does what prepareStepByFlags does by another request. A request for
/// `batch=auto` becomes what came of it, and what it
/// leaves open what is chosen.
llvm::FailureOr<AnalyzedStep>
prepareRequestedStep(mlir::ModuleOp module, RunRequest &request,
                     PassOptionTexts &passOptions);

/// The same, but a partitioned step becomes one function.
llvm::FailureOr<AnalyzedStep> prepareWholeStep(mlir::ModuleOp module,
                                               RunRequest &request,
                                               PassOptionTexts &passOptions);

/// The input whose dimension 0 is the batch; null if there is none.
const StepValue *findBatch(const StepSignature &step);

/// What --plan and --pass-option say of passes that have not run yet.
PassOptionTexts &getPassOptions();

/// Reports options of passes that no pipeline had; true if there are any.
bool hasUnusedPassOptions();

/// The folder of --cache-dir, or its default; empty for none.
std::string getCacheDirectory();

unsigned getCompileThreads();

/// The collectives of a module that is not lowered yet.
std::vector<CollectiveSummary> summarizeCollectives(mlir::ModuleOp module);

} // namespace regather

#endif // REGATHER_TOOLS_REGATHER_STEPFLAGS_H
