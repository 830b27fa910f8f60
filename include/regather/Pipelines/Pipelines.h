//===- Pipelines.h - From a captured step to a trainable one ----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_PIPELINES_PIPELINES_H
#define REGATHER_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

#include <map>
#include <string>

namespace regather {

struct TrainingPipelineOptions
    : public mlir::PassPipelineOptions<TrainingPipelineOptions> {
  Option<std::string> mesh{
      *this, "mesh",
      llvm::cl::desc("Axes and their sizes, such as dp:4 or rep:2,dp:2, to "
                     "shard the parameters over; empty: leave them whole")};
  Option<std::string> replicateAxis{
      *this, "replicate-axis",
      llvm::cl::desc("Axis of the mesh that holds copies of the shards")};
  Option<std::string> batch{
      *this, "batch",
      llvm::cl::desc("Whose batch the step has: global, per-rank or auto; "
                     "empty: as tg-shard-parameters does")};
  Option<std::string> layout{
      *this, "layout",
      llvm::cl::desc("How sharded parameters are stored: flat or "
                     "per-parameter; empty: as tg-shard-parameters does")};
  Option<std::string> plan{
      *this, "plan",
      llvm::cl::desc("as-captured: do nothing that no option asks for; empty: "
                     "what the options below leave open of a captured step is "
                     "chosen for it")};
  Option<std::string> policy{
      *this, "policy",
      llvm::cl::desc("What to recompute in backward, and options of "
                     "tg-apply-policy, such as {full modules=head:none}; "
                     "empty: nothing")};
  Option<std::string> reshard{
      *this, "reshard",
      llvm::cl::desc("Gathered parameters to release after forward, and "
                     "options of tg-reshard-after-forward, such as {always "
                     "group=8}; none; empty: default on several ranks")};
  Option<std::string> recompute{
      *this, "recompute",
      llvm::cl::desc("How to choose what backward computes again besides what "
                     "the policy says, and options of tg-partition, none, or "
                     "empty: min-cut")};
  Option<std::string> optimizer{
      *this, "optimizer",
      llvm::cl::desc("Optimizer to append and its options, such as "
                     "{adamw betas=0.9,0.95}; empty: none")};
  Option<std::string> bucket{
      *this, "bucket",
      llvm::cl::desc("Collectives to merge, and options of "
                     "tg-bucket-collectives: auto, or a plan, such as "
                     "[embedding],[layers.*]each; none; empty: auto on several "
                     "ranks")};
  Option<std::string> schedule{
      *this, "schedule",
      llvm::cl::desc("How to order the step, none, manual or auto, and options "
                     "of tg-schedule, such as {auto memory-limit=1.1x}; empty: "
                     "auto on several ranks")};
  Option<bool> lower{*this, "lower",
                     llvm::cl::desc("Replace nodes by structured operations"),
                     llvm::cl::init(true)};
};

/// Adds the passes that turn a captured step into one that can be trained:
/// tg-shard-parameters, the passes that decide what lives on from forward to
/// backward, tg-append-optimizer and tg-bucket-collectives as the options ask
/// for them, each of the four followed by tg-verify-step, and
/// convert-tg-nodes-to-linalg. What has
/// to be computed again is computed by tg-rematerialize or, with `recompute`,
/// by tg-partition, which leaves the step in one piece. With `schedule`,
/// tg-schedule orders the nodes before they are replaced. Parameters are
/// sharded so that the groups of the optimizer have flat buffers of their own.
/// What is empty or "none" is not done; `plan` is not looked at, see
/// completePlan. Fails, with a message in `errors`, if the texts in the options
/// do not fit the passes.
mlir::LogicalResult
buildTrainingPipeline(mlir::OpPassManager &pm,
                      const TrainingPipelineOptions &options,
                      llvm::raw_ostream &errors);

/// What is wrong about the texts in the options, see PassOptionCheck.h; empty
/// if nothing is. The option is called by its name between `prefix` and
/// `suffix`.
std::string findWrongOption(const TrainingPipelineOptions &options,
                            llvm::StringRef prefix, llvm::StringRef suffix);

/// Adds tg-schedule, which does nothing unless applyPassOptions says so. As
/// text, since the pass refuses options that are given and have no effect.
void addOptionalSchedule(mlir::OpPassManager &pm);

/// Adds the passes that turn the step called `entry` into a program over
/// planned memory: inline, tg-form-kernels, tg-schedule, which does nothing
/// unless its options say so, convert-tg-to-exec, exec-plan-memory, and
/// tg-verify-step. With `lowersNodes`,
/// convert-tg-nodes-to-linalg runs before kernels are formed, and not on each
/// of them.
void buildNativePipeline(mlir::OpPassManager &pm, llvm::StringRef entry,
                         bool lowersNodes);

/// Further options of passes, such as "max-ops=32", by the name of the pass.
using PassOptionTexts = std::map<std::string, std::string>;

/// Gives the passes of a pipeline further options, over those that they have,
/// and removes from `texts` what has found its pass. Fails, with a message in
/// `errors`, if a pass has no such option.
mlir::LogicalResult applyPassOptions(mlir::OpPassManager &pm,
                                     PassOptionTexts &texts,
                                     llvm::raw_ostream &errors);

/// Registers `regather-training-pipeline` for textual pipelines.
void registerPipelines();

} // namespace regather

#endif // REGATHER_PIPELINES_PIPELINES_H
