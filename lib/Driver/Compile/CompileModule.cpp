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
  FailureOr<BundleContents> bundle =
      compileBundle(*prepared, request.code, progress);
  if (failed(bundle))
    return failure();
  compiled.bundle = std::move(*bundle);
  return compiled;
}
