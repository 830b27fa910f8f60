//===- StepPipeline.cpp - From a captured step to one to train ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Conversion/Passes.h"
#include "regather/Dialect/TG/Transforms/ModelAxes.h"
#include "regather/Dialect/TG/Transforms/OptimizerGroups.h"
#include "regather/Pipelines/PassOptionText.h"
#include "regather/Pipelines/Pipelines.h"
#include "regather/Pipelines/StepOptionText.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

//===----------------------------------------------------------------------===//
// Options of one pass that follow from those of others
//===----------------------------------------------------------------------===//

/// The axes of the mesh over which tg-shard-step cuts the step.
static std::vector<std::string> getModelAxes(const StepOptions &options) {
  if (!options.model.axes.empty())
    return std::vector<std::string>(options.model.axes.begin(),
                                    options.model.axes.end());
  return findModelAxes(options.shard.mesh, options.model.shard,
                       {options.shard.shardAxis, options.shard.replicateAxis});
}

bool regather::hasDataAxis(const StepOptions &options) {
  return getModelAxes(options).size() < options.shard.mesh.size();
}

int64_t regather::countDataRanks(const StepOptions &options) {
  SmallVector<std::string> axes = options.shard.mesh;
  std::vector<std::string> model = getModelAxes(options);
  llvm::erase_if(axes, [&](const std::string &axis) {
    return llvm::is_contained(model, StringRef(axis).split(':').first);
  });
  return countRanks(axes);
}

static ShardStepPassOptions getModelSharding(const StepOptions &options) {
  ShardStepPassOptions model = options.model;
  model.mesh = options.shard.mesh;
  model.meshName = options.shard.meshName;
  if (model.cluster.empty())
    model.cluster = options.cluster;
  // Placements of an elastic step may not depend on how many ranks share the
  // batch, as times do.
  if (options.shard.elastic)
    model.cluster.clear();
  if (options.dispatch.isWanted())
    model.gatherExperts = true;
  // Left to itself, the pass takes what it knows by name.
  std::vector<std::string> axes = getModelAxes(options);
  if (model.axes.empty() &&
      axes != findModelAxes(options.shard.mesh, model.shard, {}))
    llvm::append_range(model.axes, axes);
  return model;
}

/// The axes over which parameters that they leave whole are sharded as well. An
/// axis of experts is borrowed from those of the batch; an elastic step sums
/// over it in the order of ranks, and what is cut by itself is not cut twice.
static void chooseCopyAxes(ShardParametersPassOptions &shard) {
  if (llvm::equal(shard.copyAxes, ArrayRef<StringRef>("none")))
    return shard.copyAxes.clear();
  if (shard.copyAxes.empty() && shard.layout == ParameterLayout::Flat &&
      !shard.elastic && llvm::is_contained(shard.modelAxes, "ep"))
    shard.copyAxes.push_back("ep");
}

static ShardParametersPassOptions getSharding(const StepOptions &options) {
  ShardParametersPassOptions shard = options.shard;
  shard.modelAxes.clear();
  llvm::append_range(shard.modelAxes, getModelAxes(options));
  if (options.batch)
    shard.batch = *options.batch;
  if (options.layout)
    shard.layout = *options.layout;
  chooseCopyAxes(shard);
  // What the optimizer treats differently lies in flat buffers of its own.
  if (options.optimizer && shard.layout == ParameterLayout::Flat &&
      shard.optimizerGroups.empty())
    for (const OptimizerGroupText &group :
         splitGroups(options.optimizer->groups))
      if (!group.pattern.empty() && !group.pattern.contains(','))
        shard.optimizerGroups.push_back(group.pattern.str());
  return shard;
}

/// What no cluster has been chosen for takes no times.
template <typename OptionsT> static OptionsT withCluster(OptionsT options) {
  if (options.cluster.empty())
    options.cluster = OptionsT().cluster;
  return options;
}

//===----------------------------------------------------------------------===//
// The pipeline
//===----------------------------------------------------------------------===//

/// Between phases, a step is one that communicates soundly.
static void closePhase(OpPassManager &pm, const StepOptions &options) {
  pm.addPass(createVerifyStepPass(options.verify));
}

/// What lives on from forward to backward, and what backward computes and
/// gathers again.
static void addBoundaryPasses(OpPassManager &pm, const StepOptions &options) {
  // Mark what the user wants to be saved or computed again.
  if (options.policy)
    pm.addPass(createApplyPolicyPass(*options.policy));
  // Release parameters after forward. The policy is known then: what is
  // recomputed reads them, too.
  if (options.reshard.isWanted()) {
    pm.addPass(createMergeGathersPass());
    pm.addPass(createReshardAfterForwardPass(options.reshard.options));
  }
  // Compute again what is not saved. The step stays in one piece.
  if (options.recompute.isWanted()) {
    PartitionPassOptions partition = options.recompute.options;
    partition.split = false;
    pm.addPass(createPartitionPass(partition));
  } else {
    pm.addPass(createRematerializePass());
  }
  VerifyStepPassOptions verify = options.verify;
  verify.policies = true;
  pm.addPass(createVerifyStepPass(verify));
}

void regather::buildStepPipeline(OpPassManager &pm,
                                 const StepOptions &options) {
  buildShardingPipeline(pm, options);
  buildDecisionPipeline(pm, options);
}

void regather::buildShardingPipeline(OpPassManager &pm,
                                     const StepOptions &options) {
  // Attention that the model writes as products, before anybody cuts or saves
  // its scores.
  if (options.fuseAttention.isWanted()) {
    pm.addPass(createFuseAttentionPass(options.fuseAttention.options));
    closePhase(pm, options);
  }
  if (options.expandsAttention) {
    pm.addPass(createExpandAttentionPass());
    closePhase(pm, options);
  }

  // Collectives, the rules of sharding and optimizers know real numbers.
  if (!getModelAxes(options).empty() || hasDataAxis(options) ||
      options.optimizer)
    pm.addPass(createExpandTGComplexNodesPass());
  // One part of the batch after the other, before ranks share each of them.
  if (options.cut.parts > 1) {
    pm.addPass(createCutBatchPass(options.cut));
    closePhase(pm, options);
  }
  // From a step on one device to one rank's part of it, with collectives:
  // first what cuts the model, then what cuts the batch.
  if (!getModelAxes(options).empty()) {
    pm.addPass(createShardStepPass(getModelSharding(options)));
    closePhase(pm, options);
  }
  ShardParametersPassOptions shard = getSharding(options);
  if (hasDataAxis(options) || !shard.copyAxes.empty()) {
    pm.addPass(createShardParametersPass(shard));
    closePhase(pm, options);
  }

  // Rows go to the experts rather than experts to all rows.
  if (options.dispatch.isWanted()) {
    pm.addPass(createDispatchRowsPass(options.dispatch.options));
    closePhase(pm, options);
  }

  // Values that are large because of the vocabulary need not exist whole.
  if (options.chunk.isWanted()) {
    pm.addPass(createChunkRowsPass(options.chunk.options));
    closePhase(pm, options);
  }
}

void regather::buildDecisionPipeline(OpPassManager &pm,
                                     const StepOptions &options,
                                     bool verifiesPhases) {
  auto endPhase = [&] {
    if (verifiesPhases)
      closePhase(pm, options);
  };
  // Decide about memory between forward and backward.
  if (options.policy || options.reshard.isWanted() ||
      options.recompute.isWanted())
    addBoundaryPasses(pm, options);

  // Update the parameters, each shard on the rank that owns it.
  if (options.optimizer) {
    pm.addPass(createAppendOptimizerPass(*options.optimizer));
    endPhase();
  }

  // Let collectives that are better off together start as one.
  if (options.bucket.isWanted()) {
    pm.addPass(
        createBucketCollectivesPass(withCluster(options.bucket.options)));
    endPhase();
  }

  // Order nodes so that communication hides behind computation, unless kernels
  // are ordered later.
  if (options.schedule.isWanted() && !options.schedulesKernels) {
    pm.addPass(createSchedulePass(withCluster(options.schedule.options)));
    endPhase();
  }

  // For what takes no nodes.
  if (options.lower)
    pm.addPass(createConvertTGNodesToLinalgPass());
}

/// An annotation of an axis that the mesh does not have; empty if there is
/// none. What is malformed is for the pass.
static std::string findIdleAnnotation(const StepOptions &options) {
  auto hasAxis = [&](StringRef name) {
    return llvm::any_of(options.shard.mesh, [&](const std::string &axis) {
      return StringRef(axis).split(':').first == name;
    });
  };
  for (const std::string &annotation : options.model.shard) {
    StringRef axis = getAnnotatedAxis(annotation);
    if (options.shard.mesh.empty() || (!axis.empty() && !hasAxis(axis)))
      return annotation;
  }
  return "";
}

std::string regather::findIdleChunks(const StepOptions &options) {
  std::string chunks = printStepOption(options, "expert-chunks");
  if (chunks.empty() || options.dispatch.isWanted())
    return "";
  return "expert-chunks \"" + chunks +
         "\" needs a capacity for rows that are sent, expert-capacity";
}

std::string regather::findContradiction(const StepOptions &options) {
  if (std::string idle = findIdleAnnotation(options); !idle.empty())
    return "shard \"" + idle + "\" needs a mesh that has its axis";
  if (std::string idle = findIdleChunks(options); !idle.empty())
    return idle;
  if (options.dispatch.isWanted() && getModelAxes(options).empty())
    return "expert-capacity \"" + printStepOption(options, "expert-capacity") +
           "\" needs a mesh with an axis that cuts experts, such as ep";
  if (options.dispatch.isWanted() && options.shard.elastic)
    return "expert-capacity \"" + printStepOption(options, "expert-capacity") +
           "\" and elastic exclude each other: sums over rows that are sent "
           "are in the order of ranks";
  if (!options.model.elasticAxes.empty() && !options.shard.elastic)
    return "elastic-axes \"" + options.model.elasticAxes.front() +
           "\" needs a number of segments of the batch, elastic";
  for (const std::string &text : options.model.elasticAxes)
    if (!llvm::is_contained(getModelAxes(options),
                            StringRef(text).split(':').first))
      return "elastic-axes \"" + text +
             "\" needs a mesh that has its axis, to cut the model over";
  if (options.cut.parts > 1 && options.shard.elastic)
    return "micro-batches \"" + printStepOption(options, "micro-batches") +
           "\" and elastic exclude each other: sums over micro-batches are no "
           "trees over segments of the batch";
  if (options.cut.parts > 1 && options.dispatch.isWanted())
    return "micro-batches \"" + printStepOption(options, "micro-batches") +
           "\" and expert-capacity exclude each other: gradients of experts "
           "are "
           "added up over micro-batches before ranks get theirs";
  if (options.cut.parts > 1 && options.shard.microBatches > 1)
    return "micro-batches \"" + printStepOption(options, "micro-batches") +
           "\" cuts the batch, but option \"micro-batches\" of "
           "tg-shard-parameters makes it larger";
  if (hasDataAxis(options))
    return "";
  StepOptions given = options;
  if (!given.shard.replicateAxis.empty())
    return "replicate-axis \"" + given.shard.replicateAxis +
           "\" needs a mesh that has it";
  given.shard = getSharding(given);
  PassOptionFields fields(given.shard);
  if (given.shard.elastic)
    return "elastic \"" + fields.find("elastic")->print() +
           "\" needs a step with parameters, and no mesh";
  // Axes that cut the model leave the batch to all ranks together.
  bool isWhole =
      given.batch != BatchMode::PerRank && !options.shard.mesh.empty();
  if (given.batch && !isWhole)
    return "batch \"" + fields.find("batch")->print() +
           "\" needs a mesh whose ranks have it";
  // Where axes cut the model alone, each parameter has an argument in any
  // layout.
  if (given.layout && options.shard.mesh.empty())
    return "layout \"" + fields.find("layout")->print() +
           "\" needs a mesh to shard parameters over";
  return "";
}

//===----------------------------------------------------------------------===//
// Passes by name
//===----------------------------------------------------------------------===//

SmallVector<StringRef> regather::listPasses(const StepOptions &options,
                                            StepStage stage) {
  OpPassManager pm(ModuleOp::getOperationName(),
                   OpPassManager::Nesting::Implicit);
  buildStepPipeline(pm, options);
  if (stage == StepStage::Kernels)
    buildKernelPipeline(pm, options.getProgram());
  if (stage == StepStage::Program)
    buildProgramPipeline(pm, options.entry, options.getProgram(),
                         /*lowersNodes=*/true);
  llvm::SetVector<StringRef> names;
  for (Pass &pass : pm)
    if (StringRef name = pass.getArgument(); name != "inline")
      names.insert(name);
  return names.takeVector();
}

SmallVector<StringRef> regather::findIdlePasses(const StepOptions &options,
                                                StepStage stage) {
  SmallVector<StringRef> passes = listPasses(options, stage), idle;
  // A schedule that is not made is a pass that does nothing.
  if (!options.schedule.isWanted())
    llvm::erase(passes, "tg-schedule");
  for (const std::string &name : options.namedPasses)
    if (!llvm::is_contained(passes, name))
      idle.push_back(name);
  return idle;
}

LogicalResult regather::verifyElastic(ModuleOp module,
                                      const StepOptions &options) {
  if (!options.shard.elastic)
    return success();
  LogicalResult result = success();
  module.walk<WalkOrder::PreOrder>([&](CollectiveOpInterface op) {
    auto reduction = op->getAttrOfType<ReductionAttr>("reduction");
    if (!reduction || reduction.getValue() == Reduction::Max)
      return WalkResult::advance();
    InFlightDiagnostic diag = op.emitError();
    diag << '\'' << op->getName() << "' sums over";
    llvm::interleaveComma(op.getAxesAttr().getNames(), diag,
                          [&](StringAttr name) { diag << " axis " << name; });
    diag << " in the order of the ranks that the step was sharded over before; "
            "option 'elastic' is for sums over the batch of a step on one "
            "device";
    result = failure();
    return WalkResult::interrupt();
  });
  return result;
}
