//===- RunReport.h - What a run tells at its end ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_TRAINING_RUNREPORT_H
#define REGATHER_EXECUTION_TRAINING_RUNREPORT_H

#include "regather/Execution/Engines/Engine.h"
#include "regather/Execution/Training/Training.h"

namespace regather {

/// Collectives of a step that have all of this in common.
struct CollectiveSummary {
  std::string kind;
  std::string phase;
  std::string mesh;
  std::vector<std::string> axes;
  int64_t ranks = 0;
  int64_t ops = 0;
  int64_t tensors = 0;
  /// Bytes that each rank receives.
  int64_t bytes = 0;
};

struct RunReport {
  const std::string &file;
  const StepSignature &step;
  const std::vector<CollectiveSummary> &collectives;
  const Engine &engine;
  const TrainingResult &training;
  /// Tokens of each step over all ranks, if it reads a text.
  std::optional<int64_t> tokensPerStep;
};

/// One JSON object on one line; docs/execution.md lists its fields.
std::string formatJson(const RunReport &report);

/// The same for people, to follow the lines of the steps.
std::string formatSummary(const RunReport &report);

} // namespace regather

#endif // REGATHER_EXECUTION_TRAINING_RUNREPORT_H
