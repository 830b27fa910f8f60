//===- TrainingPipeline.cpp - The pipeline of steps by name ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Pipelines/Pipelines.h"
#include "regather/Pipelines/StepOptionText.h"

#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace regather;

namespace {
/// What `regather-training-pipeline` takes: the flags of `regather` as options.
struct TrainingPipelineOptions
    : public PassPipelineOptions<TrainingPipelineOptions> {
  Option<int64_t> ranks{
      *this, "ranks",
      llvm::cl::desc("Number of ranks; 0: the mesh decides. Without a mesh, "
                     "parameters are sharded over one axis of so many"),
      llvm::cl::init(0)};
  Option<std::string> mesh{
      *this, "mesh",
      llvm::cl::desc("Axes and their sizes, such as dp:4 or rep:2,dp:2, to "
                     "shard the parameters over; empty: leave them whole")};
  Option<std::string> shard{
      *this, "shard",
      llvm::cl::desc("Placements over axes of the mesh, such as "
                     "{layers.*.wq=[tp] shard 0}, with ; between several")};
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
  Option<std::string> elastic{
      *this, "elastic",
      llvm::cl::desc("Number of segments of the batch over which sums are "
                     "trees, whatever the ranks; empty: sums are in the order "
                     "of the ranks")};
  Option<std::string> elasticAxes{
      *this, "elastic-axes",
      llvm::cl::desc("An axis that cuts the model and the number of segments "
                     "over which sums over it are trees, such as tp:4; empty: "
                     "they are in the order of its ranks")};
  Option<std::string> microBatches{
      *this, "micro-batches",
      llvm::cl::desc("Micro-batches that the batch is cut into; empty: 1")};
  Option<std::string> fuseAttention{
      *this, "fuse-attention",
      llvm::cl::desc("What becomes of attention that is written as products "
                     "and a softmax, and options of tg-fuse-attention: all, "
                     "report, or none; empty: none")};
  Option<std::string> expertCapacity{
      *this, "expert-capacity",
      llvm::cl::desc(
          "Send rows to the ranks of their experts, with room for so "
          "many times as many as equally many for all experts: a "
          "number, or none; empty: none")};
  Option<std::string> expertChunks{
      *this, "expert-chunks",
      llvm::cl::desc("Equal parts of the rows that are sent to experts, each "
                     "by itself; empty: 1")};
  Option<std::string> chunk{
      *this, "chunk",
      llvm::cl::desc("Blocks of rows that the largest chain over rows is "
                     "carried out on, and options of tg-chunk-rows: auto, a "
                     "number, or none; empty: none")};
  Option<std::string> plan{
      *this, "plan",
      llvm::cl::desc("as-captured: do nothing that no option asks for; empty: "
                     "what the options below leave open of a captured step is "
                     "chosen for it")};
  Option<std::string> cluster{
      *this, "cluster",
      llvm::cl::desc("Where schedules and buckets take times from: a name or a "
                     "file; empty: h100-8 up to 8 ranks, h100-nodes above")};
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

  /// What was given, by name.
  std::vector<std::pair<StringRef, std::string>> getTexts() const {
    return {{"mesh", mesh},
            {"shard", shard},
            {"replicate-axis", replicateAxis},
            {"batch", batch},
            {"layout", layout},
            {"elastic", elastic},
            {"elastic-axes", elasticAxes},
            {"fuse-attention", fuseAttention},
            {"expert-capacity", expertCapacity},
            {"expert-chunks", expertChunks},
            {"micro-batches", microBatches},
            {"chunk", chunk},
            {"policy", policy},
            {"reshard", reshard},
            {"recompute", recompute},
            {"optimizer", optimizer},
            {"bucket", bucket},
            {"schedule", schedule}};
  }
  Failure read(StepOptions &step) const;
};
} // namespace

Failure TrainingPipelineOptions::read(StepOptions &step) const {
  if (!plan.empty() && plan != kAsCaptured)
    return Failure("plan expects \"" + kAsCaptured.str() + "\", got \"" + plan +
                   "\"");
  for (const auto &[name, text] : getTexts())
    if (Failure failure =
            setStepOption(step, name, text, ("option '" + name + "'").str()))
      return failure;
  if (step.choosesChunks)
    return Failure("option 'expert-chunks' expects a number of chunks, got "
                   "\"auto\": a pipeline simulates no steps");
  step.asCaptured = plan == kAsCaptured;
  if (ranks > 0)
    step.ranks = ranks;
  step.cluster = cluster;
  step.lower = lower;
  step.schedulesKernels = false;
  return Failure();
}

namespace {
/// The pipeline for a module of which only a look tells what is open. Printed
/// as text, it is the pipeline.
struct PlannedPipeline
    : public PassWrapper<PlannedPipeline, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlannedPipeline)

  PlannedPipeline(StepOptions step, const TrainingPipelineOptions &given)
      : step(std::move(step)) {
    for (const auto &[name, value] : given.getTexts())
      if (!value.empty())
        show(name, value);
    if (given.ranks > 0)
      show("ranks", std::to_string(given.ranks));
    if (!given.cluster.empty())
      show("cluster", given.cluster);
    show("lower", given.lower ? "true" : "false");
  }
  PlannedPipeline(const PlannedPipeline &other)
      : PassWrapper(other), step(other.step) {
    for (const auto &text : other.texts)
      show(text->ArgStr, *text);
  }

  StringRef getArgument() const override {
    return "regather-training-pipeline";
  }

  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager pm(ModuleOp::getOperationName(),
                     OpPassManager::Nesting::Implicit);
    StepFacts mostOpen;
    mostOpen.isOpen = true;
    mostOpen.ranks = 2;
    buildStepPipeline(pm, completeOptions(step, mostOpen));
    pm.getDependentDialects(registry);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    StepOptions options = step;
    options.cluster = chooseCluster(step, module);
    OpPassManager pm(ModuleOp::getOperationName(),
                     OpPassManager::Nesting::Implicit);
    options = completeOptions(std::move(options), findFacts(module));
    if (failed(verifyElastic(module, options)))
      return signalPassFailure();
    if (std::string message = findContradiction(options); !message.empty()) {
      module.emitError() << message;
      return signalPassFailure();
    }
    buildStepPipeline(pm, options);
    if (failed(runPipeline(pm, module)))
      signalPassFailure();
  }

private:
  static StepFacts findFacts(ModuleOp module);
  void show(StringRef name, StringRef value) {
    texts.push_back(std::make_unique<Option<std::string>>(*this, name));
    *texts.back() = value.str();
  }

  StepOptions step;
  std::vector<std::unique_ptr<Option<std::string>>> texts;
};
} // namespace

StepFacts PlannedPipeline::findFacts(ModuleOp module) {
  StepFacts facts;
  SmallVector<func::FuncOp> steps;
  for (auto func : module.getOps<func::FuncOp>())
    if (func.isPublic() && !func.isExternal())
      steps.push_back(func);
  for (tg::MeshOp mesh : module.getOps<tg::MeshOp>())
    facts.ranks = std::max(facts.ranks, mesh.getNumRanks());
  if (steps.size() != 1)
    return facts;
  facts.isOpen = isOpenStep(module, steps.front());
  facts.hasParameters = hasParameters(steps.front());
  return facts;
}

/// Adds the passes, or one that completes the options when it sees the module.
/// What is wrong about the options is said before a module is read.
static LogicalResult
addPipeline(OpPassManager &pm, const TrainingPipelineOptions &given,
            llvm::function_ref<LogicalResult(const Twine &)> emitError) {
  StepOptions step;
  if (Failure failure = given.read(step))
    return emitError(failure.getMessage());
  if (!step.ranks)
    if (std::string message = findContradiction(step); !message.empty())
      return emitError(message);
  bool isDecided = step.reshard.decision != PassDecision::Open &&
                   step.recompute.decision != PassDecision::Open &&
                   step.bucket.decision != PassDecision::Open &&
                   step.schedule.decision != PassDecision::Open;
  if ((isDecided || step.asCaptured) && !step.ranks)
    buildStepPipeline(pm, completeOptions(step, StepFacts()));
  else
    pm.addPass(std::make_unique<PlannedPipeline>(std::move(step), given));
  return success();
}

void regather::registerPipelines() {
  registerPassPipeline(
      "regather-training-pipeline",
      "Shard a captured step, append an optimizer and lower its nodes",
      [](OpPassManager &pm, StringRef text,
         llvm::function_ref<LogicalResult(const Twine &)> emitError) {
        TrainingPipelineOptions options;
        if (failed(options.parseFromString(text)))
          return failure();
        return addPipeline(pm, options, emitError);
      },
      [](llvm::function_ref<void(const mlir::detail::PassOptions &)> visit) {
        visit(TrainingPipelineOptions());
      });
}
