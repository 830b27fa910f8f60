//===- TrainingPipeline.cpp - Shard, append an optimizer, lower -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Pipelines/Pipelines.h"

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

/// What is neither a mode nor an option is a plan.
static std::string getBucketText(StringRef options) {
  options = options.trim();
  bool isPlan = options.starts_with("[") || options.starts_with("@") ||
                options.starts_with("/");
  return isPlan ? ("tg-bucket-collectives{plan=\"" + options + "\"}").str()
                : getPassText("tg-bucket-collectives", "mode", options);
}

/// The passes that decide what lives on from forward to backward.
static void addBoundaryPasses(const TrainingPipelineOptions &options,
                              SmallVectorImpl<std::string> &passes) {
  if (options.policy.empty() && options.reshard.empty() &&
      options.recompute.empty())
    return;
  // Parameters are released after the policy is known: what is recomputed reads
  // them, too.
  if (!options.policy.empty())
    passes.push_back(getPassText("tg-apply-policy", "policy", options.policy));
  if (!options.reshard.empty()) {
    passes.push_back("tg-merge-gathers");
    passes.push_back(
        getPassText("tg-reshard-after-forward", "mode", options.reshard));
  }
  if (options.recompute.empty())
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
  if (!options.bucket.empty()) {
    passes.push_back(getBucketText(options.bucket));
    passes.push_back("tg-verify-step");
  }
  if (!options.schedule.empty()) {
    passes.push_back(getPassText("tg-schedule", "mode", options.schedule));
    passes.push_back("tg-verify-step");
  }
  if (options.lower)
    passes.push_back("convert-tg-nodes-to-linalg");
  return llvm::join(passes, ",");
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
  std::string text = getPipelineText(options);
  return text.empty() ? success() : parsePassPipeline(text, pm, errors);
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
        if (failed(buildTrainingPipeline(pm, options, errors)))
          return emitError(StringRef(message).rtrim());
        return success();
      },
      [](function_ref<void(const detail::PassOptions &)> visit) {
        visit(TrainingPipelineOptions());
      });
}
