//===- Schedule.cpp - Orders that hide communication ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather-c/Schedule.h"

#include "Status.h"

#include "regather/Analysis/OverlapSchedule/OverlapSchedule.h"

#include "llvm/ADT/STLExtras.h"

using namespace regather;

/// Lists of `count` ascending begins; elements are checked by the analysis,
/// unless `limit` is their number.
static llvm::Expected<IndexLists> readLists(const RegatherLists &lists,
                                            uint32_t count, uint32_t limit,
                                            const char *what) {
  auto fail = [&](const char *problem) {
    return llvm::createStringError(std::string(what) + " " + problem);
  };
  IndexLists result;
  if (count == 0)
    return result;
  if (!lists.begins || lists.begins[0] != 0)
    return fail("do not begin at 0");
  for (uint32_t i = 0; i != count; ++i)
    if (lists.begins[i] > lists.begins[i + 1])
      return fail("end before they begin");
  if (!lists.elements && lists.begins[count] != 0)
    return fail("have no elements");
  for (uint32_t i = 0; i != lists.begins[count]; ++i)
    if (lists.elements[i] >= limit)
      return fail("name something that does not exist");
  for (uint32_t i = 0; i != count; ++i)
    result.push({lists.elements + lists.begins[i],
                 lists.elements + lists.begins[i + 1]});
  return result;
}

static llvm::Error readOps(const RegatherTimedArrays &arrays,
                           TimedGraph &program) {
  if (arrays.numOps > 0 && (!arrays.kinds || !arrays.seconds ||
                            !arrays.streams || !arrays.collectives))
    return llvm::createStringError("an array of operations is missing");
  for (uint32_t i = 0; i != arrays.numOps; ++i) {
    if (arrays.kinds[i] > RegatherOpWait)
      return llvm::createStringError("an operation has an unknown kind");
    TimedOp op;
    op.kind = static_cast<TimedOpKind>(arrays.kinds[i]);
    op.seconds = arrays.seconds[i];
    op.stream = arrays.streams[i];
    op.collective = arrays.collectives[i];
    program.ops.push_back(op);
  }
  return llvm::Error::success();
}

static llvm::Error readBuffers(const RegatherTimedArrays &arrays,
                               TimedGraph &program) {
  if (arrays.numBuffers > 0 &&
      (!arrays.bufferBytes || !arrays.bufferWriters || !arrays.bufferLiveOut))
    return llvm::createStringError("an array of buffers is missing");
  for (uint32_t i = 0; i != arrays.numBuffers; ++i)
    program.buffers.push_back({arrays.bufferBytes[i], arrays.bufferWriters[i],
                               arrays.bufferLiveOut[i] != 0});
  return llvm::Error::success();
}

static llvm::Expected<TimedGraph>
readProgram(const RegatherTimedArrays &arrays) {
  TimedGraph program;
  if (llvm::Error error = readOps(arrays, program))
    return std::move(error);
  if (llvm::Error error = readBuffers(arrays, program))
    return std::move(error);
  llvm::Expected<IndexLists> predecessors = readLists(
      arrays.predecessors, arrays.numOps, arrays.numOps, "predecessors");
  if (!predecessors)
    return predecessors.takeError();
  llvm::Expected<IndexLists> users = readLists(
      arrays.bufferUsers, arrays.numBuffers, arrays.numOps, "users of buffers");
  if (!users)
    return users.takeError();
  llvm::Expected<IndexLists> conflicts =
      readLists(arrays.conflicts, arrays.numStreams, arrays.numStreams,
                "conflicts of streams");
  if (!conflicts)
    return conflicts.takeError();
  program.predecessors = std::move(*predecessors);
  program.users = std::move(*users);
  program.links.resize(1);
  for (uint32_t i = 0; i != arrays.numStreams; ++i)
    program.streams.push_back({0, (*conflicts)[i].vec()});
  return program;
}

static RegatherScore getScore(const ScheduleScore &score) {
  return {score.seconds, score.exposedSeconds, score.peakBytes};
}

RegatherStatus *regatherSchedule(const RegatherTimedArrays *arrays,
                                 const RegatherScheduleOptions *options,
                                 uint32_t *order, RegatherScore *score,
                                 RegatherScore *given) {
  if (!arrays || !options || !order || !score || !given)
    return capi::takeStatus(llvm::createStringError("an argument is null"));
  llvm::Expected<TimedGraph> program = readProgram(*arrays);
  if (!program)
    return capi::takeStatus(program.takeError());
  if (llvm::Error error = checkTimedProgram(*program))
    return capi::takeStatus(std::move(error));
  OverlapOptions overlap;
  if (options->memoryLimit >= 0)
    overlap.memoryLimit = options->memoryLimit;
  overlap.inFlight = options->inFlight;
  llvm::Expected<OverlapSchedule> schedule = scheduleOverlap(*program, overlap);
  if (!schedule)
    return capi::takeStatus(schedule.takeError());
  llvm::copy(schedule->order, order);
  *score = getScore(schedule->score);
  *given = getScore(schedule->given);
  return nullptr;
}
