//===- StepOptions.h - What is to be done to a step -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All options of a step, made of the structs that are generated for the passes
// which it goes through. Every entrance fills one of them: flags and plan files
// by StepOptionText.h, C++ by hand. What an entrance leaves open is chosen at
// one place, by completeOptions.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_PIPELINES_STEPOPTIONS_H
#define REGATHER_PIPELINES_STEPOPTIONS_H

#include "regather/Conversion/Passes.h"
#include "regather/Dialect/Exec/Transforms/Passes.h"
#include "regather/Dialect/TG/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <set>
#include <string>

namespace regather {

/// Whether a pass runs: as completeOptions chooses, not at all, or by all
/// means.
enum class PassDecision { Open, No, Yes };

/// A pass that somebody has to decide about, and what it does if it runs.
template <typename OptionsT> struct Choice {
  PassDecision decision = PassDecision::Open;
  OptionsT options;

  bool isWanted() const { return decision == PassDecision::Yes; }
};

/// How a step becomes a program over planned memory.
struct ProgramOptions {
  ProgramOptions() {
    schedule.mode = tg::ScheduleMode::None;
    offload.emplace();
  }

  tg::FormKernelsPassOptions kernels;
  /// Absent: marks to offload are not followed. An empty cluster stands for the
  /// default of the pass.
  std::optional<tg::OffloadPassOptions> offload;
  /// No states by default.
  tg::OffloadStatesPassOptions states;
  /// Of the kernels. By default they stay in their order.
  tg::SchedulePassOptions schedule;
  ConvertTGToExecPassOptions toExec;
  exec::FormGraphsPassOptions graphs;
  exec::PlanMemoryPassOptions memory;
};

/// What is done to a step, pass by pass.
struct StepOptions {
  /// Sets what open choices become if they are made.
  StepOptions();

  /// The function to take; empty if the module has one public one.
  std::string entry;
  /// Number of ranks; the mesh decides by default. Without a mesh, parameters
  /// are sharded over one axis of so many ranks.
  std::optional<int64_t> ranks;
  /// The cluster that schedules and buckets are made for which name none, by
  /// name or file. Empty: GPUs of one node or, for more ranks, of several.
  std::string cluster;
  /// Bytes that a rank may use, by which what is open is chosen (see
  /// Driver/MemoryPlan.h). No pass reads it.
  std::optional<int64_t> memory;
  /// Without such a limit, what the device of the cluster has is one if the
  /// step does not fit there and nothing was decided about it.
  bool fitsDevice = false;
  /// Attention that only hosts have a routine for is computed by products.
  bool expandsAttention = false;
  /// Nothing is chosen: what is open is not done.
  bool asCaptured = false;

  /// How model axes of the mesh below cut the step. Mesh and axes follow.
  tg::ShardStepPassOptions model;
  /// Used if the step is sharded: `mesh` lists the axes.
  tg::ShardParametersPassOptions shard;
  /// Whose batch the step has, and how its parameters are stored. Asking for
  /// either without a mesh is an error, so nothing is not the default.
  std::optional<tg::BatchMode> batch;
  std::optional<tg::ParameterLayout> layout;
  /// Micro-batches that the batch is cut into. With `choosesParts`, within a
  /// limit of memory, as many as it takes and are quickest.
  tg::CutBatchPassOptions cut;
  bool choosesParts = false;
  /// Neither is done unless somebody asks for it.
  Choice<tg::FuseAttentionPassOptions> fuseAttention;
  Choice<tg::ChunkRowsPassOptions> chunk;
  /// Not done unless somebody asks for it. If it is, tg-shard-step gathers
  /// experts.
  Choice<tg::DispatchRowsPassOptions> dispatch;
  /// Of several numbers of chunks that rows are sent in, the one whose step is
  /// quickest (see Driver/ExpertChunks.h).
  bool choosesChunks = false;
  std::optional<tg::ApplyPolicyPassOptions> policy;
  Choice<tg::ReshardAfterForwardPassOptions> reshard;
  Choice<tg::PartitionPassOptions> recompute;
  /// Of kernels. What is open follows marks.
  Choice<tg::OffloadPassOptions> offload;
  /// Of the step before it has kernels; not done if `offload` is not.
  tg::OffloadStatesPassOptions states;
  std::optional<tg::AppendOptimizerPassOptions> optimizer;
  /// An empty cluster stands for the one above.
  Choice<tg::BucketCollectivesPassOptions> bucket;
  Choice<tg::SchedulePassOptions> schedule;
  /// The schedule is one of kernels, made when they have been formed.
  bool schedulesKernels = true;
  /// Schedules may have collectives in flight together whose groups share more
  /// than one device.
  bool overlapsGroups = false;
  /// Nodes become structured operations.
  bool lower = false;
  /// Of tg-verify-step, which ends each phase.
  tg::VerifyStepPassOptions verify;

  /// But for its schedule, and what is offloaded, which are those above.
  ProgramOptions program;

  /// Passes that somebody gave options by their names. It is an error if the
  /// step does not go through them; see findIdlePasses.
  std::set<std::string> namedPasses;

  /// The program, with its schedule if that is one of kernels.
  ProgramOptions getProgram() const;

  /// The options of the same step with room for the rows of all experts: none
  /// are sent.
  StepOptions withRoomForAll() const;

  /// Decides that no rows are sent to experts.
  void sendNoRows();
};

/// `dp:4,tp:2`; empty without axes.
std::string getMeshText(const StepOptions &options);

/// The number of ranks of a mesh such as `rep:2,dp:4`, at most 2^32; 1 for what
/// is no mesh.
int64_t countRanks(llvm::ArrayRef<std::string> mesh);

/// What completeOptions has to know of a step.
struct StepFacts {
  /// It is a captured step, the only one that passes find, and nobody has
  /// decided about it.
  bool isOpen = false;
  bool hasParameters = false;
  /// Of the mesh that it lies over; 0 without a mesh.
  int64_t ranks = 0;
};

/// True if the module holds nodes, which all captured steps consist of.
bool hasNodes(mlir::ModuleOp module);

/// True if `entry` is a captured step about which no pass has decided what
/// lives on from forward to backward, and the one that passes find.
bool isOpenStep(mlir::ModuleOp module, mlir::func::FuncOp entry);

/// True if an argument of `entry` is a parameter.
bool hasParameters(mlir::func::FuncOp entry);

/// Decides all that is open. Of an open step that is a minimum cut and, if it
/// runs on several ranks, what FSDP2 does with gathered parameters, buckets and
/// a schedule by simulation. What is open of another step, and with
/// `asCaptured` of any, is not done. Schedules and buckets by time that name no
/// cluster get that of the options.
StepOptions completeOptions(StepOptions options, const StepFacts &facts);

/// The cluster of `options`, or else one with as many ranks as they ask for, or
/// the meshes of `module` have: h100-8 up to eight, h100-nodes above.
std::string chooseCluster(const StepOptions &options, mlir::ModuleOp module);

} // namespace regather

#endif // REGATHER_PIPELINES_STEPOPTIONS_H
