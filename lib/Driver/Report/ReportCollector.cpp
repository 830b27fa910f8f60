//===- ReportCollector.cpp - A step before and after decisions ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/ReportCollector.h"

#include "CollectAdvice.h"
#include "CollectReport.h"

#include "regather/Driver/Clusters.h"
#include "regather/Driver/ExpertChunks.h"
#include "regather/Pipelines/StepOptionText.h"

using namespace regather;

ReportCollector::ReportCollector(mlir::ModuleOp module, CostModel model)
    : model(std::move(model)), original(module.clone()) {}

llvm::FailureOr<PreparedStep>
ReportCollector::prepare(mlir::ModuleOp module, const StepOptions &options) {
  // What is tried decides nothing.
  StepOptions decided = options;
  decided.fitsDevice = true;
  std::optional<StepMemoryPlan> memory;
  if (failed(decideExpertChunks(module, decided)) ||
      failed(decideMemory(module, decided, memory)))
    return mlir::failure();
  DecisionRemarks::Listening listening(*module.getContext(), remarks);
  llvm::FailureOr<PreparedStep> prepared = prepareWholeStep(module, decided);
  if (succeeded(prepared))
    prepared->memory = std::move(memory);
  return prepared;
}

/// Simulates a step, or says in `timing` why it cannot be.
static llvm::FailureOr<StepSimulation>
trySimulation(const PreparedStep &prepared, const CostModel &model,
              report::StepTiming &timing) {
  mlir::func::FuncOp entry = prepared.step.entry;
  mlir::ScopedDiagnosticHandler handler(
      entry.getContext(), [&](mlir::Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error &&
            timing.obstacle.empty())
          timing.obstacle = diagnostic.str();
        return mlir::success();
      });
  return simulateKernels(prepared.step, model, prepared.options.getProgram());
}

llvm::LogicalResult ReportCollector::collectAfter(const PreparedStep &prepared,
                                                  report::StepReport &report) {
  // A schedule of kernels is made where they are simulated.
  auto simulate = [&] {
    DecisionRemarks::Listening listening(*original->getContext(), remarks);
    return trySimulation(prepared, model, report.timing);
  };
  llvm::FailureOr<StepSimulation> simulation = simulate();
  report.decisions = remarks.getDecisions();
  llvm::FailureOr<report::StepState> state =
      collectState(prepared.step, remarks, prepared.options.getProgram());
  if (failed(state))
    return mlir::failure();
  report.after = std::move(*state);
  if (failed(simulation))
    return mlir::success();
  report.timing = describeTiming(*simulation, model, remarks.getMemoryLimit());
  const StepValue *batch = findBatch(prepared.step.signature);
  report.advice =
      collectAdvice({*original, prepared.options, model, *simulation, report,
                     batch ? batch->localShape.front() : 0});
  return mlir::success();
}

/// The step when nothing is decided.
llvm::LogicalResult ReportCollector::collectBefore(StepOptions options,
                                                   report::StepReport &report) {
  options.fuseAttention.decision = PassDecision::No;
  options.chunk.decision = options.offload.decision = PassDecision::No;
  options.policy.reset();
  options.reshard.decision = options.recompute.decision = PassDecision::No;
  options.bucket.decision = options.schedule.decision = PassDecision::No;
  llvm::FailureOr<PreparedStep> prepared = prepareWholeStep(*original, options);
  if (failed(prepared))
    return mlir::failure();
  llvm::FailureOr<StepSimulation> simulation =
      trySimulation(*prepared, model, report.timingBefore);
  llvm::FailureOr<report::StepState> state =
      collectState(prepared->step, remarks, prepared->options.getProgram());
  if (failed(state))
    return mlir::failure();
  report.before = std::move(*state);
  if (succeeded(simulation))
    report.timingBefore = describeTiming(*simulation, model, std::nullopt);
  return mlir::success();
}

static report::Request describeRequest(const StepOptions &options) {
  report::Request request;
  // The other batches are as usual.
  if (options.batch == tg::BatchMode::PerRank)
    request.batch = "per-rank";
  auto printWanted = [&](llvm::StringRef name) {
    std::string text = printStepOption(options, name);
    return text == "none" ? std::string() : text;
  };
  request.attention = printWanted("fuse-attention");
  request.chunk = printWanted("chunk");
  request.policy = printStepOption(options, "policy");
  request.reshard = printStepOption(options, "reshard");
  request.recompute = printStepOption(options, "recompute");
  request.offload = printStepOption(options, "offload");
  request.bucket = printStepOption(options, "bucket");
  request.schedule = printStepOption(options, "schedule");
  request.optimizer = printStepOption(options, "optimizer");
  return request;
}

static report::MemoryChoices describeMemory(const StepMemoryPlan &plan) {
  report::MemoryChoices memory;
  memory.limitBytes = plan.limit;
  memory.boundSeconds = plan.boundSeconds;
  memory.chosen = plan.chosen;
  std::vector<unsigned> frontier = plan.getFrontier();
  for (auto [number, choice] : llvm::enumerate(plan.choices))
    memory.choices.push_back({choice.describe(), choice.getBytes(),
                              choice.seconds,
                              llvm::is_contained(frontier, number)});
  return memory;
}

llvm::FailureOr<report::StepReport>
ReportCollector::collect(llvm::StringRef file, const PreparedStep &prepared) {
  report::StepReport report;
  report.request = describeRequest(prepared.options);
  report.overview = collectOverview(prepared.step);
  report.overview.file = file.str();
  if (prepared.memory)
    report.memoryChoices = describeMemory(*prepared.memory);
  if (failed(collectAfter(prepared, report)) ||
      failed(collectBefore(prepared.options, report)))
    return mlir::failure();
  return report;
}

llvm::FailureOr<report::StepReport>
regather::reportStep(mlir::ModuleOp module, llvm::StringRef file,
                     const StepOptions &options) {
  llvm::FailureOr<CostModel> model = loadChosenCluster(module, options);
  if (failed(model))
    return mlir::failure();
  ReportCollector collector(module, std::move(*model));
  llvm::FailureOr<PreparedStep> prepared = collector.prepare(module, options);
  if (failed(prepared) ||
      failed(verifyNamedPasses(module, prepared->options, StepStage::Program)))
    return mlir::failure();
  return collector.collect(file, *prepared);
}
