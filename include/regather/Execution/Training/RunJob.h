//===- RunJob.h - A run that is one of several processes --------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_TRAINING_RUNJOB_H
#define REGATHER_EXECUTION_TRAINING_RUNJOB_H

#include "regather/Execution/Training/RunFlags.h"

namespace regather {

/// Makes this process a rank of an MPI job if the flags ask for that, and sets
/// `flags.job`. Called before anything else is done.
Failure openJob(RunFlags &flags);

/// Prints an error, and returns the exit code of a failure. What all ranks of a
/// job find alike, such as a number of ranks, rank 0 prints alone, and none
/// ends before it has.
int printJobError(const MpiJob *job, const Failure &failure);

/// Ends the job after a run, unless it has failed; returns its exit code.
int finishJob(const MpiJob *job, int code);

} // namespace regather

#endif // REGATHER_EXECUTION_TRAINING_RUNJOB_H
