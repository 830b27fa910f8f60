//===- TrainingPipeline.cpp - Shard, append an optimizer, lower -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Pipelines/DefaultPlan.h"
#include "regather/Pipelines/PassOptionCheck.h"
#include "regather/Pipelines/Pipelines.h"

#include "regather/Dialect/TG/Steps/StepGraph.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace regather;

/// The patterns of the groups that the options of an optimizer describe. The
/// optimizer reports what is wrong about them.
static SmallVector<StringRef> getGroupPatterns(StringRef optimizer) {
  SmallVector<StringRef> words, groups, patterns;
  optimizer.split(words, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef word : words)
    if (word.consume_front("groups="))
      word.trim("{}'\"").split(groups, '|');
  for (StringRef group : groups)
    if (StringRef pattern = group.split(':').first;
        !pattern.empty() && !pattern.contains(','))
      patterns.push_back(pattern);
  return patterns;
}

static std::string getShardingText(const TrainingPipelineOptions &options) {
  std::string text = "tg-shard-parameters{mesh=" + options.mesh;
  if (!options.replicateAxis.empty())
    text += " replicate-axis=" + options.replicateAxis;
  if (!options.batch.empty())
    text += " batch=" + options.batch;
  if (!options.layout.empty())
    text += " layout=" + options.layout;
  SmallVector<StringRef> patterns = getGroupPatterns(options.optimizer);
  if (!patterns.empty() && options.layout != "per-parameter")
    text += " optimizer-groups=" + llvm::join(patterns, ",");
  return text + "}";
}

/// A pass with options of which the first may be the value of `option` alone:
/// `always group=8` is `mode=always group=8`.
static std::string getPassText(StringRef pass, StringRef option,
                               StringRef options) {
  options = options.trim();
  bool isNamed = options.split(' ').first.contains('=');
  return (pass + "{" + (isNamed ? "" : option + "=") + options + "}").str();
}

static bool isBucketPlan(StringRef options) {
  return options.starts_with("[") || options.starts_with("@") ||
         options.starts_with("/");
}

/// What is neither a mode nor an option is a plan.
static std::string getBucketText(StringRef options) {
  options = options.trim();
  return isBucketPlan(options)
             ? ("tg-bucket-collectives{plan=\"" + options + "\"}").str()
             : getPassText("tg-bucket-collectives", "mode", options);
}

static bool isWanted(StringRef options) {
  return !options.empty() && options != "none";
}

/// The passes that decide what lives on from forward to backward.
static void addBoundaryPasses(const TrainingPipelineOptions &options,
                              SmallVectorImpl<std::string> &passes) {
  if (options.policy.empty() && !isWanted(options.reshard) &&
      !isWanted(options.recompute))
    return;
  // Parameters are released after the policy is known: what is recomputed reads
  // them, too.
  if (!options.policy.empty())
    passes.push_back(getPassText("tg-apply-policy", "policy", options.policy));
  if (isWanted(options.reshard)) {
    passes.push_back("tg-merge-gathers");
    passes.push_back(
        getPassText("tg-reshard-after-forward", "mode", options.reshard));
  }
  if (!isWanted(options.recompute))
    passes.push_back("tg-rematerialize");
  else
    passes.push_back(getPassText("tg-partition", "mode",
                                 options.recompute + " split=false"));
  passes.push_back("tg-verify-step{policies=true}");
}

/// The pipeline as text: options of passes are handed on as the user wrote
/// them, and each pass checks its own.
static std::string getPipelineText(const TrainingPipelineOptions &options) {
  SmallVector<std::string> passes;
  if (!options.mesh.empty()) {
    passes.push_back(getShardingText(options));
    passes.push_back("tg-verify-step");
  }
  addBoundaryPasses(options, passes);
  if (!options.optimizer.empty()) {
    passes.push_back("tg-append-optimizer{optimizer=" + options.optimizer +
                     "}");
    passes.push_back("tg-verify-step");
  }
  if (isWanted(options.bucket)) {
    passes.push_back(getBucketText(options.bucket));
    passes.push_back("tg-verify-step");
  }
  if (isWanted(options.schedule)) {
    passes.push_back(getPassText("tg-schedule", "mode", options.schedule));
    passes.push_back("tg-verify-step");
  }
  if (options.lower)
    passes.push_back("convert-tg-nodes-to-linalg");
  return llvm::join(passes, ",");
}

std::string regather::findWrongOption(const TrainingPipelineOptions &options,
                                      StringRef prefix, StringRef suffix) {
  struct Text {
    StringRef name, pass, mode, text;
  };
  const Text texts[] = {
      {"policy", "tg-apply-policy", "policy", options.policy},
      {"reshard", "tg-reshard-after-forward", "mode", options.reshard},
      {"recompute", "tg-partition", "mode", options.recompute},
      {"optimizer", "tg-append-optimizer", "optimizer", options.optimizer},
      {"bucket", "tg-bucket-collectives", "mode", options.bucket},
      {"schedule", "tg-schedule", "mode", options.schedule}};
  for (const Text &given : texts) {
    StringRef text = given.text.trim();
    if (!isWanted(text) || isBucketPlan(text))
      continue;
    // The first word may be a mode.
    if (!text.split(' ').first.contains('='))
      text = text.split(' ').second;
    std::string wrong =
        findWrongOption(given.pass, text, (prefix + given.name + suffix).str());
    if (!wrong.empty())
      return wrong;
  }
  return "";
}

LogicalResult
regather::buildTrainingPipeline(OpPassManager &pm,
                                const TrainingPipelineOptions &options,
                                llvm::raw_ostream &errors) {
  if (!options.replicateAxis.empty() && options.mesh.empty()) {
    errors << "replicate-axis \"" << options.replicateAxis
           << "\" needs a mesh that has it";
    return failure();
  }
  if (!options.batch.empty() && options.mesh.empty()) {
    errors << "batch \"" << options.batch
           << "\" needs a mesh whose ranks have it";
    return failure();
  }
  if (!options.layout.empty() && options.mesh.empty()) {
    errors << "layout \"" << options.layout
           << "\" needs a mesh to shard parameters over";
    return failure();
  }
  std::string wrong = findWrongOption(options, "option '", "'");
  if (!wrong.empty()) {
    errors << wrong;
    return failure();
  }
  std::string text = getPipelineText(options);
  return text.empty() ? success() : parsePassPipeline(text, pm, errors);
}

//===----------------------------------------------------------------------===//
// The pipeline by name
//===----------------------------------------------------------------------===//

/// Writes the options to `completed`, with all that they leave open.
static void complete(const TrainingPipelineOptions &options, bool isOpen,
                     bool hasSeveralRanks, TrainingPipelineOptions &completed) {
  StepPlan plan = completePlan(
      {options.reshard, options.recompute, options.bucket, options.schedule},
      isOpen, hasSeveralRanks, options.plan == kAsCaptured);
  completed.copyOptionValuesFrom(options);
  completed.reshard = plan.reshard;
  completed.recompute = plan.recompute;
  completed.bucket = plan.bucket;
  completed.schedule = plan.schedule;
}

/// Adds the passes with which the options are completed.
static LogicalResult buildCompleted(OpPassManager &pm,
                                    const TrainingPipelineOptions &options,
                                    bool isOpen, bool hasSeveralRanks,
                                    llvm::raw_ostream &errors) {
  TrainingPipelineOptions completed;
  complete(options, isOpen, hasSeveralRanks, completed);
  return buildTrainingPipeline(pm, completed, errors);
}

namespace {
/// The pipeline for a module of which only a look tells what is open. Printed
/// as text, it is the pipeline.
struct PlannedPipeline
    : public PassWrapper<PlannedPipeline, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlannedPipeline)

  PlannedPipeline(const TrainingPipelineOptions &given) {
    options.copyOptionValuesFrom(given);
    for (auto [name, value] : {std::make_pair("mesh", &options.mesh),
                               {"replicate-axis", &options.replicateAxis},
                               {"batch", &options.batch},
                               {"layout", &options.layout},
                               {"policy", &options.policy},
                               {"reshard", &options.reshard},
                               {"recompute", &options.recompute},
                               {"optimizer", &options.optimizer},
                               {"bucket", &options.bucket},
                               {"schedule", &options.schedule}})
      if (!value->empty())
        show(name, *value);
    show("lower", options.lower ? "true" : "false");
  }
  PlannedPipeline(const PlannedPipeline &other)
      : PlannedPipeline(other.options) {}

  StringRef getArgument() const override {
    return "regather-training-pipeline";
  }

  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager pm(ModuleOp::getOperationName(),
                     OpPassManager::Nesting::Implicit);
    std::string message;
    llvm::raw_string_ostream errors(message);
    // Whatever may be wrong about it has been said.
    if (succeeded(buildCompleted(pm, options, /*isOpen=*/true,
                                 /*hasSeveralRanks=*/true, errors)))
      pm.getDependentDialects(registry);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> steps;
    for (auto func : module.getOps<func::FuncOp>())
      if (func.isPublic() && !func.isExternal())
        steps.push_back(func);
    bool isOpen = steps.size() == 1 && isOpenStep(module, steps.front());
    bool hasSeveralRanks =
        countRanks(options.mesh) > 1 ||
        llvm::any_of(module.getOps<tg::MeshOp>(),
                     [](tg::MeshOp mesh) { return mesh.getNumRanks() > 1; });
    OpPassManager pm(ModuleOp::getOperationName(),
                     OpPassManager::Nesting::Implicit);
    std::string message;
    llvm::raw_string_ostream errors(message);
    if (failed(buildCompleted(pm, options, isOpen, hasSeveralRanks, errors))) {
      module.emitError() << StringRef(message).rtrim();
      return signalPassFailure();
    }
    if (failed(runPipeline(pm, module)))
      signalPassFailure();
  }

private:
  void show(StringRef name, const std::string &value) {
    texts.push_back(std::make_unique<Option<std::string>>(*this, name));
    *texts.back() = value;
  }

  TrainingPipelineOptions options;
  std::vector<std::unique_ptr<Option<std::string>>> texts;
};
} // namespace

/// Checks the options, too, so that what is wrong about them is said before a
/// module is read.
static LogicalResult addPipeline(OpPassManager &pm,
                                 const TrainingPipelineOptions &options,
                                 llvm::raw_ostream &errors) {
  if (!options.plan.empty() && options.plan != kAsCaptured) {
    errors << "plan expects \"" << kAsCaptured << "\", got \"" << options.plan
           << '"';
    return failure();
  }
  auto build = [&](OpPassManager &passes) {
    return buildCompleted(passes, options, /*isOpen=*/true,
                          /*hasSeveralRanks=*/true, errors);
  };
  bool isDecided = !options.plan.empty() ||
                   (!options.reshard.empty() && !options.recompute.empty() &&
                    !options.bucket.empty() && !options.schedule.empty());
  if (isDecided)
    return build(pm);
  OpPassManager tried(ModuleOp::getOperationName(),
                      OpPassManager::Nesting::Implicit);
  if (failed(build(tried)))
    return failure();
  pm.addPass(std::make_unique<PlannedPipeline>(options));
  return success();
}

void regather::registerPipelines() {
  registerPassPipeline(
      "regather-training-pipeline",
      "Shard a captured step, append an optimizer and lower its nodes",
      [](OpPassManager &pm, StringRef text,
         function_ref<LogicalResult(const Twine &)> emitError) {
        TrainingPipelineOptions options;
        if (failed(options.parseFromString(text)))
          return failure();
        std::string message;
        llvm::raw_string_ostream errors(message);
        if (failed(addPipeline(pm, options, errors)))
          return emitError(StringRef(message).rtrim());
        return success();
      },
      [](function_ref<void(const mlir::detail::PassOptions &)> visit) {
        visit(TrainingPipelineOptions());
      });
}
