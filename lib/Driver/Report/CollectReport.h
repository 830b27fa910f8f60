//===- CollectReport.h - What a report says of a step -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DRIVER_REPORT_COLLECTREPORT_H
#define REGATHER_LIB_DRIVER_REPORT_COLLECTREPORT_H

#include "regather/Driver/DecisionRemarks.h"

#include "regather/Dialect/Exec/IR/Exec.h"
#include "regather/Pipelines/Pipelines.h"
#include "regather/Report/StepReport.h"
#include "regather/StepAnalysis/AnalyzeStep.h"

namespace regather {

/// The step as a whole, but for the name of its file.
report::Overview collectOverview(const AnalyzedStep &step);

/// One state of a step in one piece. Lowers a copy of the module as `options`
/// say to see what memory it needs; emits errors.
mlir::FailureOr<report::StepState> collectState(const AnalyzedStep &step,
                                                const DecisionRemarks &remarks,
                                                const ProgramOptions &options);

/// What lives on from forward to backward.
report::Boundary collectBoundary(mlir::func::FuncOp func,
                                 const DecisionRemarks &remarks);

/// Bytes in use over a program with a plan.
mlir::FailureOr<report::MemoryCurve> collectMemory(exec::ProgramOp program);

} // namespace regather

#endif // REGATHER_LIB_DRIVER_REPORT_COLLECTREPORT_H
