//===- Report.cpp - regather report ---------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report/CollectReport.h"
#include "StepFlags.h"

#include "regather/Execution/Bundle.h"
#include "regather/Report/RenderReport.h"
#include "regather/Support/AtomicFile.h"

using namespace regather;
namespace cl = llvm::cl;

cl::SubCommand
    regather::reportCommand("report",
                            "Show what was decided about a step, and why");

static cl::opt<std::string> file(cl::Positional, cl::desc("FILE"), cl::Required,
                                 cl::sub(reportCommand),
                                 cl::cat(getCategory()));
static cl::opt<std::string>
    output("o", cl::desc("Page to write, such as report.html"),
           cl::value_desc("FILE"), cl::sub(reportCommand),
           cl::cat(getCategory()));
static cl::opt<std::string>
    json("json", cl::desc("Write the numbers of the page to a file"),
         cl::value_desc("FILE"), cl::sub(reportCommand),
         cl::cat(getCategory()));

static llvm::LogicalResult verifyWhole(const AnalyzedStep &step) {
  if (!step.backward)
    return mlir::success();
  mlir::func::FuncOp backward = step.backward->func;
  return backward.emitError() << "a report shows a step in one piece, but this "
                                 "one is partitioned into forward and backward";
}

/// Prepares the step twice: as the flags ask for, and with nothing decided.
static llvm::FailureOr<report::StepReport> collect(InputFile &input) {
  mlir::OwningOpRef<mlir::ModuleOp> original = input.module->clone();
  PassOptionTexts passOptions = getPassOptions();
  DecisionRemarks remarks(*input.context);
  RunRequest request = getRequestedStep();
  llvm::FailureOr<AnalyzedStep> after =
      prepareRequestedStep(*input.module, request, getPassOptions());
  if (failed(after) || failed(verifyWhole(*after)))
    return mlir::failure();
  report::StepReport report;
  report.request = {request.policy, request.reshard, request.recompute,
                    request.optimizer};
  report.overview = collectOverview(*after);
  report.overview.file = file;
  llvm::FailureOr<report::StepState> state =
      collectState(*after, remarks, getPassOptions());
  if (failed(state) || hasUnusedPassOptions())
    return mlir::failure();
  report.after = std::move(*state);

  request.policy = request.reshard = "";
  request.recompute = "none";
  llvm::FailureOr<AnalyzedStep> before =
      prepareRequestedStep(*original, request, passOptions);
  if (failed(before))
    return mlir::failure();
  state = collectState(*before, remarks, passOptions);
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

int regather::reportMain() {
  if (output.empty() && json.empty())
    return reportError("nothing to write: give -o, --json, or both");
  if (Failure failure = readStepFlags())
    return reportError(failure.getMessage());
  if (isBundle(file))
    return reportError("a report shows a module, not a bundle");
  std::unique_ptr<InputFile> input = readModule(file);
  if (!input)
    return 1;
  llvm::FailureOr<report::StepReport> report = collect(*input);
  if (failed(report))
    return 1;
  bool isWritten =
      write(output, renderHtml(*report)) && write(json, renderJson(*report));
  return isWritten ? 0 : 1;
}
