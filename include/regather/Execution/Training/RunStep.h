//===- RunStep.h - A run from its options to its report ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_TRAINING_RUNSTEP_H
#define REGATHER_EXECUTION_TRAINING_RUNSTEP_H

#include "regather/Execution/Training/Progress.h"
#include "regather/Execution/Training/RunReport.h"
#include "regather/Execution/Training/StepInputs.h"

#include <functional>
#include <memory>

namespace regather {

/// What a user asks of a run, whatever is run.
struct RunOptions {
  /// What is run, for the report.
  std::string file;
  int64_t steps = 1;
  InputOptions inputs;
  /// A file to train on, and the inputs that it feeds; empty for none.
  std::string text;
  std::string textInputs;
  /// Files to write; empty for none.
  std::string outputs;
  /// A folder for one file of each rank, and after how many steps it is written
  /// in between; 0 for never.
  std::string outputsSharded;
  int64_t saveEvery = 0;
  std::string report;
  /// A file for the trace of the last step.
  std::string trace;
  bool json = false;
  /// The run fails if it does not touch the memory that was planned.
  bool checkPlan = false;
};

/// The first thing that is wrong with the options by themselves.
Failure checkRunOptions(const RunOptions &options);

/// What is run.
struct RunSubject {
  const StepSignature &step;
  std::vector<CollectiveSummary> collectives;
  /// Compiles or loads it, once its inputs are known to be good. Null, after it
  /// has said why, if that fails.
  std::function<std::unique_ptr<Engine>()> createEngine;
  /// Reports what is wrong with the results of the step.
  std::function<void(const std::string &message)> reportError;
  /// The rank of this process in a job with one in each; the others' inputs are
  /// not made.
  std::optional<int64_t> onlyRank = std::nullopt;
};

/// Loads the inputs, trains, writes the outputs and prints the report. Returns
/// the exit code; all errors have been printed. SIGINT and SIGTERM end the
/// training after a step, with the outputs of that one, and 128 more than their
/// number is the exit code.
int runStep(const RunOptions &options, const RunSubject &subject,
            Progress &progress);

/// Prints `error: message` on stderr and returns the exit code of a failure.
int printError(const std::string &message);

/// The exit code of a program that wanted to end with `code`: that of a
/// failure, after an error, if standard output could not be written.
int finishOutput(int code);

} // namespace regather

#endif // REGATHER_EXECUTION_TRAINING_RUNSTEP_H
