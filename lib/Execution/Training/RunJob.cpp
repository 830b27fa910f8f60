//===- RunJob.cpp - A run that is one of several processes ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Training/RunJob.h"

#include "regather/Execution/Training/PrintRun.h"

using namespace regather;

Failure regather::openJob(RunFlags &flags) {
  if (!flags.communicator || flags.communicator->kind != CommunicatorKind::Mpi)
    return Failure();
  Result<std::shared_ptr<MpiJob>> job = MpiJob::open();
  if (!job)
    return job.getFailure();
  flags.job = *job;
  return flags.ranks ? (*job)->checkRanks(*flags.ranks, "--ranks asks for")
                     : Failure();
}

int regather::printJobError(const MpiJob *job, const Failure &failure) {
  if (!job || failure.getCode() != MpiJob::kFoundByAll)
    return printError(failure.getMessage());
  if (job->getRank() == 0)
    printError(failure.getMessage());
  job->finish();
  return 1;
}

int regather::finishJob(const MpiJob *job, int code) {
  // 1 is a failure; others are signals, after which all have ended together.
  if (job && code != 1)
    job->finish();
  return code;
}
