//===- Report.cpp - regather report ---------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandFlags.h"

#include "regather/Driver/ReportCollector.h"
#include "regather/Report/RenderReport.h"

#include "regather/Execution/Bundle/Bundle.h"

using namespace regather;
namespace cl = llvm::cl;

cl::SubCommand
    regather::reportCommand("report",
                            "Show what was decided about a step, and why");

static cl::opt<std::string> reportFile(cl::Positional, cl::desc("FILE"),
                                       cl::Required, cl::sub(reportCommand),
                                       cl::cat(getCategory()));
static cl::opt<std::string>
    reportOutput("o", cl::desc("Page to write, such as report.html"),
                 cl::value_desc("FILE"), cl::sub(reportCommand),
                 cl::cat(getCategory()));
static cl::opt<std::string>
    reportJson("json", cl::desc("Write the numbers of the page to a file"),
               cl::value_desc("FILE"), cl::sub(reportCommand),
               cl::cat(getCategory()));

int regather::reportMain() {
  if (!canWrite({&reportOutput, &reportJson}))
    return 1;
  if (reportOutput.empty() && reportJson.empty())
    return reportError("nothing to write: give -o, --json, or both");
  Result<CommandRequest> request = readCommandFlags(Command::Report);
  if (!request)
    return reportError(request.getMessage());
  if (isBundle(reportFile))
    return reportError("a report shows a module, not a bundle");
  std::unique_ptr<InputFile> input = readInput(reportFile);
  if (!input)
    return 1;
  llvm::FailureOr<report::StepReport> report =
      reportStep(*input->module, reportFile, request->step);
  if (failed(report))
    return 1;
  return writeFile(reportOutput,
                   reportOutput.empty() ? "" : renderHtml(*report)) &&
                 writeFile(reportJson,
                           reportJson.empty() ? "" : renderJson(*report))
             ? 0
             : 1;
}
