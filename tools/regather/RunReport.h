//===- RunReport.h - What a run tells at its end ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TOOLS_REGATHER_RUNREPORT_H
#define REGATHER_TOOLS_REGATHER_RUNREPORT_H

#include "StepStatistics.h"

#include "regather/Execution/Engine.h"
#include "regather/Execution/AnalyzeStep.h"
#include "regather/Execution/Training.h"

namespace regather {

struct RunReport {
  llvm::StringRef file;
  const AnalyzedStep &step;
  const Engine &engine;
  const TrainingResult &training;
  /// Tokens of each step over all ranks, if it reads a text.
  std::optional<int64_t> tokensPerStep;
};

/// Prints one JSON object on one line; docs/execution.md lists its fields.
void printJson(const RunReport &report, llvm::raw_ostream &os);

/// Prints the same for people on stdout, after the lines of the steps.
void printSummary(const RunReport &report);

} // namespace regather

#endif // REGATHER_TOOLS_REGATHER_RUNREPORT_H
