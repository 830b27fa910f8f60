//===- StepOptions.cpp - What is to be done to a step ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Pipelines/StepOptions.h"

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Support/MeshText.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

/// Ranks of a node in the clusters that are taken by default.
static constexpr int64_t kRanksPerNode = 8;

StepOptions::StepOptions() {
  recompute.options.mode = PartitionMode::MinCut;
  bucket.options.mode = BucketMode::Auto;
  bucket.options.cluster.clear();
  schedule.options.cluster.clear();
  offload.options.cluster.clear();
  states.cluster.clear();
}

ProgramOptions StepOptions::getProgram() const {
  ProgramOptions options = program;
  if (schedulesKernels && schedule.isWanted())
    options.schedule = schedule.options;
  options.offload = offload.options;
  options.states = states;
  if (offload.decision == PassDecision::No) {
    options.offload.reset();
    options.states = {};
  }
  return options;
}

StepOptions StepOptions::withRoomForAll() const {
  StepOptions options = *this;
  options.sendNoRows();
  options.namedPasses.erase("tg-dispatch-rows");
  return options;
}

void StepOptions::sendNoRows() {
  dispatch = {PassDecision::No, {}};
  choosesChunks = false;
}

std::string regather::getMeshText(const StepOptions &options) {
  return llvm::join(options.shard.mesh, ",");
}

int64_t regather::countRanks(ArrayRef<std::string> mesh) {
  constexpr int64_t kMost = int64_t(1) << 32;
  int64_t product = 1;
  for (const std::string &text : mesh)
    if (auto axis = parseMeshAxis(text); axis && axis->second > 0)
      product = std::min(product * std::min(axis->second, kMost), kMost);
  return product;
}

bool regather::hasNodes(ModuleOp module) {
  return module.walk([](NodeOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// True if `func` is the one that passes which look for a step find.
static bool isOnlyPublic(ModuleOp module, func::FuncOp func) {
  return llvm::none_of(module.getOps<func::FuncOp>(), [&](func::FuncOp other) {
    return other != func && other.isPublic() && !other.isExternal();
  });
}

/// True if a pass has decided what lives on from forward to backward.
static bool isBoundaryDecided(ModuleOp module, func::FuncOp entry) {
  for (unsigned i = 0, e = entry.getNumArguments(); i != e; ++i)
    if (entry.getArgAttr(i, kReshardAttrName))
      return true;
  return module
      .walk([](Operation *op) {
        return op->hasAttr(kSavedResultsAttrName) ? WalkResult::interrupt()
                                                  : WalkResult::advance();
      })
      .wasInterrupted();
}

bool regather::isOpenStep(ModuleOp module, func::FuncOp entry) {
  return hasNodes(module) && isOnlyPublic(module, entry) &&
         !isBoundaryDecided(module, entry);
}

bool regather::hasParameters(func::FuncOp entry) {
  for (unsigned i = 0, e = entry.getNumArguments(); i != e; ++i)
    if (auto role = entry.getArgAttrOfType<RoleAttr>(i, kRoleAttrName);
        role && role.getKind() == RoleKind::Parameter)
      return true;
  return false;
}

template <typename OptionsT>
static void decide(Choice<OptionsT> &choice, bool isOfUse) {
  if (choice.decision == PassDecision::Open)
    choice.decision = isOfUse ? PassDecision::Yes : PassDecision::No;
}

StepOptions regather::completeOptions(StepOptions options,
                                      const StepFacts &facts) {
  if (options.shard.mesh.empty() && facts.ranks == 0 && facts.hasParameters &&
      (options.ranks.value_or(1) > 1 || options.shard.elastic))
    options.shard.mesh = {"dp:" + std::to_string(options.ranks.value_or(1))};
  bool hasSeveralRanks =
      (facts.ranks ? facts.ranks : countRanks(options.shard.mesh)) > 1;

  // A plan for buckets asks for them.
  if (options.bucket.decision == PassDecision::Open && facts.isOpen &&
      !options.bucket.options.plan.empty()) {
    options.bucket.decision = PassDecision::Yes;
    options.bucket.options.mode = BucketMode::Plan;
  }
  bool isPlanned = facts.isOpen && !options.asCaptured;
  decide(options.fuseAttention, false);
  decide(options.chunk, false);
  decide(options.dispatch, false);
  decide(options.recompute, isPlanned);
  decide(options.reshard, isPlanned && hasSeveralRanks);
  decide(options.bucket, isPlanned && hasSeveralRanks);
  // Copies to the host have to run beside computation, too.
  decide(options.schedule,
         isPlanned && (hasSeveralRanks || options.offload.isWanted()));

  // A plan takes no times.
  if (options.bucket.options.mode == BucketMode::Auto &&
      options.bucket.options.cluster.empty())
    options.bucket.options.cluster = options.cluster;
  if (options.offload.options.cluster.empty())
    options.offload.options.cluster = options.cluster;
  if (options.states.cluster.empty())
    options.states.cluster = options.cluster;
  if (options.schedule.options.cluster.empty())
    options.schedule.options.cluster = options.cluster;
  if (options.overlapsGroups &&
      options.schedule.options.mode != ScheduleMode::Manual)
    options.schedule.options.overlapGroups = true;
  return options;
}

std::string regather::chooseCluster(const StepOptions &options,
                                    ModuleOp module) {
  if (!options.cluster.empty())
    return options.cluster;
  bool needsNodes =
      !options.shard.mesh.empty()
          ? countRanks(options.shard.mesh) > kRanksPerNode
      : options.ranks ? *options.ranks > kRanksPerNode
                      : llvm::any_of(module.getOps<MeshOp>(), [](MeshOp mesh) {
                          return mesh.getNumRanks() > kRanksPerNode;
                        });
  return needsNodes ? "h100-nodes" : "h100-8";
}
