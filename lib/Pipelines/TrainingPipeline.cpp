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

/// The pipeline as text: options of passes are handed on as the user wrote
/// them, and each pass checks its own.
static std::string getPipelineText(const TrainingPipelineOptions &options) {
  SmallVector<std::string> passes;
  if (!options.mesh.empty()) {
    std::string axis = options.replicateAxis.empty()
                           ? ""
                           : " replicate-axis=" + options.replicateAxis;
    passes.push_back("tg-shard-parameters{mesh=" + options.mesh + axis + "}");
    passes.push_back("tg-verify-step");
  }
  if (!options.optimizer.empty()) {
    passes.push_back("tg-append-optimizer{optimizer=" + options.optimizer +
                     "}");
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
