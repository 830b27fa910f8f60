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
#include "regather/Execution/Profile/StepProfile.h"
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

/// What came of a run, in numbers.
struct RunReport {
  /// What was run, and its function.
  std::string file, entry;
  /// The name of the engine.
  std::string engine;
  int64_t ranks = 1;
  /// One for each step; empty if the step has no loss.
  std::vector<double> losses;
  /// Wall-clock time of each step.
  std::vector<double> seconds;
  /// Of each step, on the slowest device; empty if there is none.
  std::vector<double> deviceSeconds;
  /// Of each rank, the median over the steps of the seconds for which it was
  /// blocked by communication; empty if they were not measured.
  std::vector<double> exposedSeconds;
  /// Tokens of each step over all ranks, if it reads a text.
  std::optional<int64_t> tokensPerStep;
  /// Steps that were run again, since there was too little room for the rows of
  /// experts; nothing if there is always enough.
  std::optional<int64_t> repeatedSteps;
  /// Bytes of parameters, and of all tensors at once, on each rank.
  int64_t parameterBytes = 0;
  std::optional<int64_t> peakBytes;
  std::optional<ArenaReport> arena;
  std::vector<std::string> routines;
  std::optional<KernelCounts> kernels;
  std::vector<CollectiveSummary> collectives;
  /// If it was asked for.
  std::optional<StepProfile> profile;
  /// What a listener was warned of.
  std::vector<std::string> warnings;
  /// The listener has ended the run before its last step.
  bool isStopped = false;
};

/// Collects what an engine and its training tell of a run of `step`.
RunReport makeRunReport(const StepSignature &step, const Engine &engine,
                        const TrainingResult &training);

/// One JSON object on one line; docs/execution.md lists its fields.
std::string formatJson(const RunReport &report);

/// The same for people, to follow the lines of the steps.
std::string formatSummary(const RunReport &report);

} // namespace regather

#endif // REGATHER_EXECUTION_TRAINING_RUNREPORT_H
