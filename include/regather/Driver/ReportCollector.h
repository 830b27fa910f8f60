//===- ReportCollector.h - A step before and after decisions ----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DRIVER_REPORTCOLLECTOR_H
#define REGATHER_DRIVER_REPORTCOLLECTOR_H

#include "regather/Driver/DecisionRemarks.h"
#include "regather/Driver/PrepareStep.h"

#include "regather/Analysis/Cost/CostModel.h"
#include "regather/Report/StepReport.h"

namespace regather {

/// Compares a step with the same step when nothing is decided about it.
class ReportCollector {
public:
  /// Comes before the step is prepared: keeps a copy of the module. The step
  /// is simulated on the cluster of `model`.
  ReportCollector(mlir::ModuleOp module, CostModel model);

  /// See prepareWholeStep; hears why passes decide as they do.
  mlir::FailureOr<PreparedStep> prepare(mlir::ModuleOp module,
                                        const StepOptions &options);

  /// What is to be shown of a step that has been prepared; the page calls it
  /// `file`. Emits errors.
  mlir::FailureOr<report::StepReport> collect(llvm::StringRef file,
                                              const PreparedStep &prepared);

private:
  /// The step as it is run, and what would help it.
  mlir::LogicalResult collectAfter(const PreparedStep &prepared,
                                   report::StepReport &report);
  mlir::LogicalResult collectBefore(StepOptions options,
                                    report::StepReport &report);

  CostModel model;
  mlir::OwningOpRef<mlir::ModuleOp> original;
  DecisionRemarks remarks;
};

/// Prepares the step of `module`, which it changes, and tells what was decided
/// and what would help: on the cluster that the options name, or would choose.
/// Emits errors.
mlir::FailureOr<report::StepReport> reportStep(mlir::ModuleOp module,
                                               llvm::StringRef file,
                                               const StepOptions &options);

} // namespace regather

#endif // REGATHER_DRIVER_REPORTCOLLECTOR_H
