//===- ReportCollector.h - A step before and after decisions ----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TOOLS_REGATHER_REPORT_REPORTCOLLECTOR_H
#define REGATHER_TOOLS_REGATHER_REPORT_REPORTCOLLECTOR_H

#include "../StepFlags.h"
#include "DecisionRemarks.h"

#include "regather/Analysis/Cost/CostModel.h"
#include "regather/Report/StepReport.h"

namespace regather {

/// Compares a step with the same step when nothing is decided about it.
class ReportCollector {
public:
  /// Comes before the step is prepared: keeps a copy of the module. The step
  /// is simulated on the cluster of `model`.
  ReportCollector(InputFile &input, CostModel model);

  /// `step` has been prepared by `request`. Takes options of the passes that
  /// come then from `passOptions`. Emits errors.
  mlir::FailureOr<report::StepReport> collect(llvm::StringRef file,
                                              const AnalyzedStep &step,
                                              const RunRequest &request,
                                              PassOptionTexts &passOptions);

private:
  /// The step as it is run, and what would help it.
  mlir::LogicalResult collectAfter(const AnalyzedStep &step,
                                   const RunRequest &request,
                                   PassOptionTexts &passOptions,
                                   report::StepReport &report);
  mlir::LogicalResult collectBefore(RunRequest request,
                                    report::StepReport &report);

  CostModel model;
  mlir::OwningOpRef<mlir::ModuleOp> original;
  PassOptionTexts originalOptions;
  DecisionRemarks remarks;
};

/// Writes a report to a page, and its numbers to another file; no file is
/// written if its name is empty. Prints an error if that fails.
bool writeReport(const report::StepReport &report, const std::string &page,
                 const std::string &numbers);

} // namespace regather

#endif // REGATHER_TOOLS_REGATHER_REPORT_REPORTCOLLECTOR_H
