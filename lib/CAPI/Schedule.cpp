//===- Schedule.cpp - Orders that hide communication ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather-c/Schedule.h"

#include "Status.h"
#include "TimedArrays.h"

#include "regather/Analysis/OverlapSchedule/OverlapSchedule.h"
#include "regather/Support/LLVM/MakeFailure.h"

#include "llvm/ADT/STLExtras.h"

using namespace regather;

static RegatherScore getScore(const ScheduleScore &score) {
  return {score.seconds, score.exposedSeconds, score.peakBytes};
}

static Result<OverlapOptions> readOptions(const RegatherScheduleOptions &given,
                                          const TimedGraph &program) {
  OverlapOptions options;
  if (given.memoryLimit >= 0) {
    options.memoryLimit = given.memoryLimit;
  } else {
    constexpr double kMost = 1e6;
    if (!(given.memoryRatio >= 1 && given.memoryRatio < kMost))
      return makeFailure("a multiple of the peak must be at least 1, and below "
                         "{0}",
                         kMost);
    int64_t peak =
        computeMemoryCurve(program, program.getStepOrder()).peakBytes;
    options.memoryLimit =
        static_cast<int64_t>(static_cast<double>(peak) * given.memoryRatio);
  }
  options.inFlight = given.inFlight;
  options.allowsConflicts = given.allowsConflicts != 0;
  options.effortPerOp = given.effort;
  if (given.effort == 0)
    options.minEffort = 0;
  return options;
}

RegatherStatus *regatherSchedule(const RegatherTimedArrays *arrays,
                                 const RegatherScheduleOptions *options,
                                 uint32_t *order, RegatherScore *score,
                                 RegatherScore *given) {
  if (!arrays || !options || !order || !score || !given)
    return capi::takeStatus(makeFailure("an argument is null"));
  Result<TimedGraph> program = capi::readTimedGraph(*arrays);
  if (!program)
    return capi::takeStatus(program.getFailure());
  Result<OverlapOptions> overlap = readOptions(*options, *program);
  if (!overlap)
    return capi::takeStatus(overlap.getFailure());
  Result<OverlapSchedule> schedule = scheduleOverlap(*program, *overlap);
  if (!schedule)
    return capi::takeStatus(schedule.getFailure());
  llvm::copy(schedule->order, order);
  *score = getScore(schedule->score);
  *given = getScore(schedule->given);
  return nullptr;
}
