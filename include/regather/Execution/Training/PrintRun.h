//===- PrintRun.h - A run as people see it -------------------- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_TRAINING_PRINTRUN_H
#define REGATHER_EXECUTION_TRAINING_PRINTRUN_H

#include "regather/Execution/Training/Progress.h"
#include "regather/Execution/Training/RunStep.h"

namespace regather {

/// Runs a step and prints a line for each, the report, and all errors. Returns
/// the exit code. SIGINT and SIGTERM end the training after a step, with the
/// outputs of that one, and 128 more than their number is the exit code.
int printRun(const RunOptions &options, const RunSubject &subject,
             Progress &progress);

/// Prints `error: message` on stderr and returns the exit code of a failure.
int printError(const std::string &message);

/// The exit code of a program that wanted to end with `code`: that of a
/// failure, after an error, if standard output could not be written.
int finishOutput(int code);

} // namespace regather

#endif // REGATHER_EXECUTION_TRAINING_PRINTRUN_H
