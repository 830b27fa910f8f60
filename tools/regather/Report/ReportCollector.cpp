//===- ReportCollector.cpp - A step before and after decisions ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReportCollector.h"

#include "CollectReport.h"

#include "regather/Report/RenderReport.h"
#include "regather/Support/AtomicFile.h"

using namespace regather;

ReportCollector::ReportCollector(InputFile &input)
    : original(input.module->clone()), originalOptions(getPassOptions()),
      remarks(*input.context) {}

static llvm::LogicalResult verifyWhole(const AnalyzedStep &step) {
  if (!step.backward)
    return mlir::success();
  mlir::func::FuncOp backward = step.backward->func;
  return backward.emitError() << "a report shows a step in one piece, but this "
                                 "one is partitioned into forward and backward";
}

llvm::FailureOr<report::StepReport>
ReportCollector::collect(llvm::StringRef file, const AnalyzedStep &step,
                         RunRequest request, PassOptionTexts &passOptions) {
  if (failed(verifyWhole(step)))
    return mlir::failure();
  report::StepReport report;
  report.request = {request.policy, request.reshard,  request.recompute,
                    request.bucket, request.schedule, request.optimizer};
  report.overview = collectOverview(step);
  report.overview.file = file.str();
  llvm::FailureOr<report::StepState> state =
      collectState(step, remarks, passOptions);
  if (failed(state))
    return mlir::failure();
  report.after = std::move(*state);

  request.policy = request.reshard = request.bucket = request.schedule = "";
  request.recompute = "none";
  PassOptionTexts options = originalOptions;
  llvm::FailureOr<AnalyzedStep> before =
      prepareRequestedStep(*original, request, options);
  if (failed(before))
    return mlir::failure();
  state = collectState(*before, remarks, options);
  if (failed(state))
    return mlir::failure();
  report.before = std::move(*state);
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
