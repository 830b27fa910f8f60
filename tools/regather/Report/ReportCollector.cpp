//===- ReportCollector.cpp - A step before and after decisions ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReportCollector.h"

#include "CollectAdvice.h"
#include "CollectReport.h"

#include "regather/Report/RenderReport.h"
#include "regather/Support/AtomicFile.h"

using namespace regather;

ReportCollector::ReportCollector(InputFile &input, CostModel model)
    : model(std::move(model)), original(input.module->clone()),
      originalOptions(getPassOptions()), remarks(*input.context) {}

/// Simulates a step, or says in `timing` why it cannot be.
static llvm::FailureOr<StepSimulation>
trySimulation(const AnalyzedStep &step, const CostModel &model,
              const PassOptionTexts &passOptions, report::StepTiming &timing) {
  mlir::func::FuncOp entry = step.entry;
  mlir::ScopedDiagnosticHandler handler(
      entry.getContext(), [&](mlir::Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error &&
            timing.obstacle.empty())
          timing.obstacle = diagnostic.str();
        return mlir::success();
      });
  return simulateKernels(step, model, passOptions);
}

llvm::LogicalResult ReportCollector::collectAfter(const AnalyzedStep &step,
                                                  const RunRequest &request,
                                                  PassOptionTexts &passOptions,
                                                  report::StepReport &report) {
  llvm::FailureOr<StepSimulation> simulation =
      trySimulation(step, model, passOptions, report.timing);
  remarks.stop();
  report.decisions = remarks.getDecisions();
  llvm::FailureOr<report::StepState> state =
      collectState(step, remarks, passOptions);
  if (failed(state))
    return mlir::failure();
  report.after = std::move(*state);
  if (failed(simulation))
    return mlir::success();
  report.timing = describeTiming(*simulation, model, remarks.getMemoryLimit());
  const StepValue *batch = findBatch(step.signature);
  report.advice =
      collectAdvice({*original, request, originalOptions, model, *simulation,
                     report, batch ? batch->localShape.front() : 0});
  return mlir::success();
}

/// The step when nothing is decided.
llvm::LogicalResult ReportCollector::collectBefore(RunRequest request,
                                                   report::StepReport &report) {
  request.policy = "";
  request.reshard = request.recompute = "none";
  request.bucket = request.schedule = "none";
  PassOptionTexts options = originalOptions;
  llvm::FailureOr<AnalyzedStep> step =
      prepareWholeStep(*original, request, options);
  if (failed(step))
    return mlir::failure();
  llvm::FailureOr<StepSimulation> simulation =
      trySimulation(*step, model, options, report.timingBefore);
  llvm::FailureOr<report::StepState> state =
      collectState(*step, remarks, options);
  if (failed(state))
    return mlir::failure();
  report.before = std::move(*state);
  if (succeeded(simulation))
    report.timingBefore = describeTiming(*simulation, model, std::nullopt);
  return mlir::success();
}

llvm::FailureOr<report::StepReport>
ReportCollector::collect(llvm::StringRef file, const AnalyzedStep &step,
                         const RunRequest &request,
                         PassOptionTexts &passOptions) {
  report::StepReport report;
  // The other batches are as usual.
  report.request = {request.batch == "per-rank" ? request.batch : "",
                    request.policy,
                    request.reshard,
                    request.recompute,
                    request.bucket,
                    request.schedule,
                    request.optimizer};
  report.overview = collectOverview(step);
  report.overview.file = file.str();
  if (failed(collectAfter(step, request, passOptions, report)) ||
      failed(collectBefore(request, report)))
    return mlir::failure();
  return report;
}

static bool write(const std::string &path, const std::string &text) {
  if (path.empty())
    return true;
  if (Failure failure = writeFileAtomically(path, {text})) {
    reportError("cannot write '" + path + "': " + failure.getMessage());
    return false;
  }
  return true;
}

bool regather::writeReport(const report::StepReport &report,
                           const std::string &page,
                           const std::string &numbers) {
  return write(page, renderHtml(report)) && write(numbers, renderJson(report));
}
