//===- PlanMemory.cpp - What is decided about memory ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MicroBatchSearch.h"

#include "regather/Dialect/TG/Steps/TimedStep.h"
#include "regather/Driver/Clusters.h"
#include "regather/Pipelines/Pipelines.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

FailureOr<StepMemoryPlan> regather::planStepMemory(ModuleOp module,
                                                   StepOptions &options,
                                                   bool isOpen,
                                                   MemorySearchNotes *notes) {
  FailureOr<CostModel> model = loadChosenCluster(module, options);
  if (failed(model))
    return failure();
  StepOptions given = options;
  // Commands that take single operations count the step as it would be run.
  bool schedulesKernels = std::exchange(given.schedulesKernels, true);
  MemorySearchNotes unheard;
  FailureOr<StepMemoryPlan> plan =
      MicroBatchSearch(module, given, isOpen, *model)
          .run(options, notes ? *notes : unheard);
  options.schedulesKernels = schedulesKernels;
  return plan;
}

//===----------------------------------------------------------------------===//
// Without a limit
//===----------------------------------------------------------------------===//

/// What all values together have on one device: no order of a part of the step
/// takes more.
static double countAllBytes(ModuleOp module) {
  double bytes = 0;
  auto add = [&](Value value) {
    bytes += static_cast<double>(getValueBytes(value));
  };
  module.walk([&](Operation *op) {
    llvm::for_each(op->getResults(), add);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), add);
  });
  return bytes;
}

/// The peak of the step as it is prepared without a limit, or nothing if it
/// cannot be.
static std::optional<int64_t> estimatePeak(ModuleOp module,
                                           const StepOptions &options,
                                           const CostModel &model) {
  ScopedDiagnosticHandler handler(module.getContext(),
                                  [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> copy = module.clone();
  FailureOr<PreparedStep> prepared = prepareWholeStep(*copy, options);
  if (failed(prepared))
    return std::nullopt;
  func::FuncOp entry = prepared->step.entry;
  FailureOr<StepCosts> costs = StepCosts::create(*copy, model);
  if (failed(costs))
    return std::nullopt;
  TimedGraph graph =
      buildTimedStep(StepGraph(entry.front()), makeStepTiming(*costs)).program;
  return computeMemoryCurve(graph, graph.getStepOrder()).peakBytes;
}

FailureOr<std::optional<StepMemoryPlan>>
regather::planDeviceMemory(ModuleOp module, StepOptions &options) {
  FailureOr<CostModel> model = loadChosenCluster(module, options);
  if (failed(model))
    return failure();
  const Cluster &cluster = model->getCluster();
  double limit = cluster.device.memoryBytes;
  // What backward computes again exists twice.
  if (2 * countAllBytes(module) <= limit)
    return std::optional<StepMemoryPlan>();
  std::optional<int64_t> peak = estimatePeak(module, options, *model);
  if (!peak || static_cast<double>(*peak) * kMemorySlack <= limit)
    return std::optional<StepMemoryPlan>();
  StepOptions limited = options;
  limited.memory = static_cast<int64_t>(limit);
  FailureOr<StepMemoryPlan> plan = failure();
  std::string reason;
  {
    ScopedDiagnosticHandler handler(
        module.getContext(), [&](Diagnostic &diagnostic) {
          if (reason.empty() &&
              diagnostic.getSeverity() == DiagnosticSeverity::Error)
            reason = diagnostic.str();
          return success();
        });
    plan = planStepMemory(module, limited, /*isOpen=*/true);
  }
  if (failed(plan)) {
    module.emitWarning() << "the step does not fit the memory of cluster \""
                         << cluster.name << "\": " << reason;
    return std::optional<StepMemoryPlan>();
  }
  options = std::move(limited);
  options.memory.reset();
  StepMemoryPlan made = std::move(*plan);
  return std::optional<StepMemoryPlan>(std::move(made));
}
