//===- Report.cpp - regather report ---------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report/ReportCollector.h"

#include "regather/Execution/Bundle/Bundle.h"

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

int regather::reportMain() {
  if (!canWrite({&output, &json}))
    return 1;
  if (output.empty() && json.empty())
    return reportError("nothing to write: give -o, --json, or both");
  if (Failure failure = readStepFlags())
    return reportError(failure.getMessage());
  if (isBundle(file))
    return reportError("a report shows a module, not a bundle");
  std::unique_ptr<InputFile> input = readModule(file);
  if (!input)
    return 1;
  std::optional<CostModel> model = loadRequestedCluster(*input->module);
  if (!model)
    return 1;
  RunRequest request = getRequestedStep(getRequestedCluster(*input->module));
  ReportCollector collector(*input, std::move(*model));
  llvm::FailureOr<AnalyzedStep> step =
      prepareWholeStep(*input->module, request, getPassOptions());
  if (failed(step))
    return 1;
  llvm::FailureOr<report::StepReport> report =
      collector.collect(file, *step, request, getPassOptions());
  if (failed(report) || hasUnusedPassOptions())
    return 1;
  return writeReport(*report, output, json) ? 0 : 1;
}
