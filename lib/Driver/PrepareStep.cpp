//===- PrepareStep.cpp - Do to a step what it is wanted for ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/PrepareStep.h"

#include "regather/Conversion/Passes.h"
#include "regather/Driver/ExpertChunks.h"
#include "regather/Pipelines/StepOptionText.h"
#include "regather/StepAnalysis/MergeParts.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

//===----------------------------------------------------------------------===//
// What the step is
//===----------------------------------------------------------------------===//

const StepValue *regather::findBatch(const StepSignature &step) {
  for (const StepValue &value : step.arguments)
    if (value.role == Role::Input && !value.globalShape.empty())
      return &value;
  return nullptr;
}

/// The result of the step that is the `role` of a parameter; null if none is.
static const StepValue *findParameterResult(const AnalyzedStep &step,
                                            Role role) {
  const StepSignature &signature = step.signature;
  auto it = llvm::find_if(signature.results, [&](const StepValue &result) {
    return result.role == role &&
           signature.arguments[result.argument].role == Role::Parameter;
  });
  return it == signature.results.end() ? nullptr : &*it;
}

static StepFacts findFacts(ModuleOp module, const AnalyzedStep &step) {
  StepFacts facts;
  facts.isOpen = !step.backward && isOpenStep(module, step.entry);
  facts.hasParameters = hasParameters(step.entry);
  MeshOp mesh = step.mesh;
  facts.ranks = mesh ? mesh.getNumRanks() : 0;
  return facts;
}

//===----------------------------------------------------------------------===//
// What cannot be asked of it
//===----------------------------------------------------------------------===//

/// Checks that the step has not been through what is asked for.
static LogicalResult verifyRequest(const AnalyzedStep &step,
                                   const StepOptions &options) {
  func::FuncOp entry = step.entry;
  if (!options.shard.mesh.empty() && step.mesh) {
    MeshOp mesh = step.mesh;
    return mesh.emitError() << "the step lies over mesh \"" << mesh.getSymName()
                            << "\" already, but a mesh " << getMeshText(options)
                            << " is asked for";
  }
  if (!options.optimizer)
    return success();
  std::string optimizer = printStepOption(options, "optimizer");
  if (const StepValue *update = findParameterResult(step, Role::Update))
    return entry.emitError() << "the step updates \"" << update->name
                             << "\" already, but an optimizer \"" << optimizer
                             << "\" is asked for";
  if (!findParameterResult(step, Role::Gradient))
    return entry.emitError() << "the step has no gradient of a parameter, but "
                                "an optimizer \""
                             << optimizer << "\" is asked for";
  return success();
}

/// Checks that nothing is asked for that has to come before the partition.
static LogicalResult verifyPartitioned(const AnalyzedStep &step,
                                       const StepOptions &options) {
  const std::pair<StringRef, std::string> requests[] = {
      {"a mesh", getMeshText(options)},
      {"a policy", printStepOption(options, "policy")},
      {"resharding", printStepOption(options, "reshard")},
      {"recomputation", printStepOption(options, "recompute")},
      {"offloading", printStepOption(options, "offload")},
      {"an optimizer", printStepOption(options, "optimizer")}};
  func::FuncOp backward = step.backward->func;
  for (const auto &[what, text] : requests)
    if (!text.empty() && text != "none")
      return backward.emitError() << "the step is partitioned already, but "
                                  << what << " \"" << text << "\" is asked for";
  return success();
}

LogicalResult regather::verifyNamedPasses(ModuleOp module,
                                          const StepOptions &options,
                                          StepStage stage) {
  SmallVector<StringRef> idle = findIdlePasses(options, stage);
  for (StringRef pass : idle)
    emitError(UnknownLoc::get(module.getContext()))
        << "options for pass \"" << pass
        << "\" are given, which this step does not go through";
  return success(idle.empty());
}

//===----------------------------------------------------------------------===//
// What is done to it
//===----------------------------------------------------------------------===//

/// True if an argument or a result of a function is of such a type.
static bool isAtBoundary(ModuleOp module, function_ref<bool(Type)> isSuch) {
  return llvm::any_of(module.getOps<func::FuncOp>(), [&](func::FuncOp func) {
    return llvm::any_of(func.getArgumentTypes(), isSuch) ||
           llvm::any_of(func.getResultTypes(), isSuch);
  });
}

/// Lowers the nodes of a module that has complex or unsigned arguments or
/// results: an engine sees pairs and signless integers. Where all of them are
/// complex and the step is to be sharded, it stays one of nodes, which rules of
/// sharding know best.
static LogicalResult lowerCapturedTypes(ModuleOp module,
                                        const StepOptions &options) {
  if (!isAtBoundary(module, isOnlyInCaptures) || !hasNodes(module))
    return success();
  bool hasBytes = isAtBoundary(module, [](Type type) {
    return getElementTypeOrSelf(type).isUnsignedInteger();
  });
  bool isSharded = !options.shard.mesh.empty() || options.shard.elastic ||
                   options.ranks.value_or(1) > 1;
  PassManager pm(module.getContext());
  if (hasBytes || !isSharded)
    pm.addPass(createConvertTGNodesToLinalgPass());
  else
    pm.addPass(createExpandTGComplexNodesPass());
  return pm.run(module);
}

/// What has come of a batch that may be that of one rank: `rows` were captured.
static BatchMode resolveBatch(const AnalyzedStep &step, int64_t rows) {
  const StepValue *batch = findBatch(step.signature);
  if (!batch)
    return BatchMode::Global;
  int64_t ranks = batch->globalShape.front() /
                  std::max<int64_t>(batch->localShape.front(), 1);
  return rows % std::max<int64_t>(ranks, 1) == 0 ? BatchMode::Global
                                                 : BatchMode::PerRank;
}

/// True if no option says what lives on from forward to backward, or when.
static bool isMemoryOpen(const StepOptions &options) {
  return !options.asCaptured && !options.policy &&
         llvm::all_of(
             std::initializer_list<PassDecision>{
                 options.chunk.decision, options.recompute.decision,
                 options.reshard.decision, options.offload.decision,
                 options.schedule.decision},
             [](PassDecision decision) {
               return decision == PassDecision::Open;
             });
}

static LogicalResult emitNoLimit(ModuleOp module) {
  return module.emitError() << "micro-batches \"auto\" are as many as a limit "
                               "of memory asks for, but there is none";
}

LogicalResult regather::decideMemory(ModuleOp module, StepOptions &options,
                                     std::optional<StepMemoryPlan> &plan,
                                     MemorySearchNotes *notes) {
  bool isDefault = std::exchange(options.fitsDevice, false) &&
                   !options.memory && isMemoryOpen(options);
  if (!options.memory && !isDefault)
    return options.choosesParts ? emitNoLimit(module) : success();
  if (failed(lowerCapturedTypes(module, options)))
    return failure();
  FailureOr<AnalyzedStep> step =
      analyzeStep(module, options.entry,
                  options.shard.mesh.empty() ? options.ranks : std::nullopt);
  if (failed(step))
    return failure();
  bool isOpen = findFacts(module, *step).isOpen;
  if (isDefault) {
    if (!isOpen)
      return options.choosesParts ? emitNoLimit(module) : success();
    FailureOr<std::optional<StepMemoryPlan>> made =
        planDeviceMemory(module, options);
    if (failed(made))
      return failure();
    options.choosesParts = false;
    plan = std::move(*made);
    return success();
  }
  FailureOr<StepMemoryPlan> made =
      planStepMemory(module, options, isOpen, notes);
  if (failed(made))
    return failure();
  options.memory.reset();
  plan = std::move(*made);
  return success();
}

/// The options with everything decided.
static StepOptions decideOpen(const StepOptions &given,
                              const StepOrigin &origin) {
  StepOptions options = given;
  options.cluster = origin.cluster;
  options = completeOptions(std::move(options), origin.facts);
  // Without a mesh, the batch is that of the only rank.
  if (options.batch == BatchMode::Auto && options.shard.mesh.empty())
    options.batch.reset();
  options.lower = options.lower && origin.hadNodes;
  return options;
}

/// Runs the first part of the pipeline on the module itself.
static FailureOr<StepOrigin> shardModule(ModuleOp module,
                                         const StepOptions &given) {
  FailureOr<AnalyzedStep> step =
      analyzeStep(module, given.entry,
                  given.shard.mesh.empty() ? given.ranks : std::nullopt);
  if (failed(step))
    return failure();
  const StepValue *batch = findBatch(step->signature);
  StepOrigin origin = {findFacts(module, *step), chooseCluster(given, module),
                       bool(step->mesh), batch ? batch->globalShape.front() : 0,
                       hasNodes(module)};
  StepOptions options = decideOpen(given, origin);
  if (failed(verifyRequest(*step, options)) ||
      (step->backward && failed(verifyPartitioned(*step, options))) ||
      failed(verifyElastic(module, options)))
    return failure();
  if (std::string message = findContradiction(options); !message.empty())
    return module.emitError() << "cannot prepare the step: " << message;
  PassManager pm(module.getContext(), module->getName().getStringRef(),
                 PassManager::Nesting::Implicit);
  buildShardingPipeline(pm, options);
  if (failed(pm.run(module)))
    return failure();
  return origin;
}

/// Runs the rest on what shardModule leaves.
static FailureOr<PreparedStep> decideModule(ModuleOp module,
                                            const StepOrigin &origin,
                                            const StepOptions &given,
                                            bool verifies) {
  StepOptions options = decideOpen(given, origin);
  PassManager pm(module.getContext(), module->getName().getStringRef(),
                 PassManager::Nesting::Implicit);
  pm.enableVerifier(verifies);
  buildDecisionPipeline(pm, options, verifies);
  if (failed(pm.run(module)))
    return failure();
  FailureOr<AnalyzedStep> step = analyzeStep(module, given.entry, given.ranks);
  if (failed(step))
    return failure();
  if (options.batch == BatchMode::Auto)
    options.batch = origin.wasSharded || !step->mesh || !hasDataAxis(options)
                        ? std::optional<BatchMode>()
                        : resolveBatch(*step, origin.rows);
  return PreparedStep{std::move(*step), std::move(options), std::nullopt};
}

FailureOr<PreparedStep> regather::prepareStep(ModuleOp module,
                                              const StepOptions &wanted) {
  StepOptions given = wanted;
  std::optional<StepMemoryPlan> memory;
  if (failed(lowerCapturedTypes(module, given)) ||
      failed(decideExpertChunks(module, given)) ||
      failed(decideMemory(module, given, memory)))
    return failure();
  FailureOr<StepOrigin> origin = shardModule(module, given);
  if (failed(origin))
    return failure();
  FailureOr<PreparedStep> prepared =
      decideModule(module, *origin, given, /*verifies=*/true);
  if (succeeded(prepared))
    prepared->memory = std::move(memory);
  return prepared;
}

static FailureOr<PreparedStep> makeWhole(FailureOr<PreparedStep> prepared) {
  if (failed(prepared))
    return failure();
  FailureOr<AnalyzedStep> whole = mergeParts(prepared->step);
  if (failed(whole))
    return failure();
  prepared->step = std::move(*whole);
  return prepared;
}

FailureOr<PreparedStep> regather::prepareWholeStep(ModuleOp module,
                                                   const StepOptions &options) {
  return makeWhole(prepareStep(module, options));
}

FailureOr<ShardedStep> regather::shardOverMesh(ModuleOp module,
                                               const StepOptions &options) {
  ShardedStep sharded = {module.clone(), StepOrigin()};
  if (failed(lowerCapturedTypes(*sharded.module, options)))
    return failure();
  FailureOr<StepOrigin> origin = shardModule(*sharded.module, options);
  if (failed(origin))
    return failure();
  sharded.origin = std::move(*origin);
  return sharded;
}

FailureOr<PreparedStep>
regather::prepareShardedStep(ModuleOp copy, const StepOrigin &origin,
                             const StepOptions &options) {
  return makeWhole(decideModule(copy, origin, options, /*verifies=*/false));
}
