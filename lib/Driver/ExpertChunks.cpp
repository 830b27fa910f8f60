//===- ExpertChunks.cpp - How many chunks experts' rows are sent in -------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/ExpertChunks.h"

#include "Memory/MeasureStep.h"

#include "regather/Driver/Clusters.h"
#include "regather/Timeline/WriteTimeline.h"

using namespace mlir;
using namespace regather;

/// More would be sent in ever smaller messages.
static constexpr int64_t kNumbers[] = {1, 2, 4};

LogicalResult regather::decideExpertChunks(ModuleOp module,
                                           StepOptions &options) {
  // Chunks of what nobody sends are refused where the step is prepared.
  if (!options.choosesChunks || !options.dispatch.isWanted())
    return success();
  options.choosesChunks = false;
  FailureOr<CostModel> model = loadChosenCluster(module, options);
  if (failed(model))
    return failure();
  // The step as it would be run, with all the memory that it takes.
  StepOptions tried = options;
  tried.memory.reset();
  tried.fitsDevice = tried.choosesParts = false;
  tried.schedulesKernels = true;
  std::optional<double> least;
  std::string others;
  for (int64_t number : kNumbers) {
    tried.dispatch.options.chunks = number;
    FailureOr<MeasuredStep> measured = failure();
    std::string problem;
    if (number == 1) {
      measured = measureStep(module, tried, *model);
      if (failed(measured))
        return failure();
    } else {
      ScopedDiagnosticHandler handler(
          module.getContext(), [&](Diagnostic &diagnostic) {
            if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
                problem.empty())
              problem = diagnostic.str();
            return success();
          });
      measured = measureStep(module, tried, *model);
    }
    others += (others.empty() ? "" : ", ") + std::to_string(number) + ": ";
    if (failed(measured)) {
      others += problem;
      continue;
    }
    double seconds = measured->choice.seconds;
    others += formatSeconds(seconds);
    if (least && seconds >= *least)
      continue;
    least = seconds;
    options.dispatch.options.chunks = number;
  }
  emitRemark(UnknownLoc::get(module.getContext()))
      << "rows for experts are sent in " << options.dispatch.options.chunks
      << (options.dispatch.options.chunks == 1 ? " chunk" : " chunks")
      << ", the quickest in simulation on cluster \""
      << model->getCluster().name << "\" (" << others << ")";
  return success();
}
