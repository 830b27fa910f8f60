//===- CompileModule.cpp - From a module to a bundle ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/Clusters.h"
#include "regather/Driver/CompileStep.h"
#include "regather/Driver/ReportCollector.h"

using namespace mlir;
using namespace regather;

/// The step that runs `prepared` again where that has too little room for the
/// rows of experts.
static FailureOr<PreparedStep> prepareRoomy(ModuleOp original,
                                            const PreparedStep &prepared,
                                            const StepOptions &options,
                                            ProgressListener &progress) {
  progress.begin("preparing");
  FailureOr<PreparedStep> roomy =
      prepareWholeStep(original, options.withRoomForAll());
  progress.end();
  if (failed(roomy))
    return failure();
  if (Failure failure =
          checkRoomy(prepared.step.signature, roomy->step.signature))
    return emitError(UnknownLoc::get(original.getContext()))
           << failure.getMessage();
  return roomy;
}

FailureOr<CompiledModule> regather::compileModule(ModuleOp module,
                                                  CompileRequest request,
                                                  ProgressListener &progress) {
  StepOptions &step = request.step;
  std::optional<ReportCollector> collector;
  if (request.wantsReport) {
    FailureOr<CostModel> model = loadChosenCluster(module, step);
    if (failed(model))
      return failure();
    collector.emplace(module, std::move(*model));
  }
  step.cluster = chooseCodeCluster(step, request.code, module);
  OwningOpRef<ModuleOp> original;
  if (step.dispatch.isWanted())
    original = module.clone();
  progress.begin("preparing");
  FailureOr<PreparedStep> prepared = collector
                                         ? collector->prepare(module, step)
                                         : prepareWholeStep(module, step);
  progress.end();
  if (failed(prepared))
    return failure();
  CompiledModule compiled;
  compiled.memory = prepared->memory;
  if (collector) {
    FailureOr<report::StepReport> report =
        collector->collect(request.file, *prepared);
    if (failed(report))
      return failure();
    compiled.report = std::move(*report);
  }
  std::optional<PreparedStep> roomy;
  if (prepared->step.signature.overflow) {
    FailureOr<PreparedStep> again =
        prepareRoomy(*original, *prepared, step, progress);
    if (failed(again))
      return failure();
    roomy.emplace(std::move(*again));
  }
  FailureOr<BundleContents> bundle = compileBundle(
      *prepared, roomy ? &*roomy : nullptr, request.code, progress);
  if (failed(bundle))
    return failure();
  compiled.bundle = std::move(*bundle);
  return compiled;
}
