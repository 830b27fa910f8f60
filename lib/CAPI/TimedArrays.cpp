//===- TimedArrays.cpp - Timed graphs as flat arrays ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TimedArrays.h"

#include "regather/Analysis/OverlapSchedule/OverlapSchedule.h"
#include "regather/Support/LLVM/MakeFailure.h"

using namespace regather;

Result<IndexLists> capi::readLists(const RegatherLists &lists, uint32_t count,
                                   uint32_t limit, const char *what) {
  auto fail = [&](const char *problem) {
    return makeFailure(std::string(what) + " " + problem);
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

static Failure readOps(const RegatherTimedArrays &arrays, TimedGraph &program) {
  if (arrays.numOps > 0 && (!arrays.kinds || !arrays.seconds ||
                            !arrays.streams || !arrays.collectives))
    return makeFailure("an array of operations is missing");
  for (uint32_t i = 0; i != arrays.numOps; ++i) {
    if (arrays.kinds[i] > RegatherOpWait)
      return makeFailure("an operation has an unknown kind");
    TimedOp op;
    op.kind = static_cast<TimedOpKind>(arrays.kinds[i]);
    op.seconds = arrays.seconds[i];
    op.stream = arrays.streams[i];
    op.collective = arrays.collectives[i];
    program.ops.push_back(op);
  }
  return Failure();
}

static Failure readBuffers(const RegatherTimedArrays &arrays,
                           TimedGraph &program) {
  if (arrays.numBuffers > 0 &&
      (!arrays.bufferBytes || !arrays.bufferWriters || !arrays.bufferLiveOut))
    return makeFailure("an array of buffers is missing");
  for (uint32_t i = 0; i != arrays.numBuffers; ++i)
    program.buffers.push_back({arrays.bufferBytes[i], arrays.bufferWriters[i],
                               arrays.bufferLiveOut[i] != 0});
  return Failure();
}

Result<TimedGraph> capi::readTimedGraph(const RegatherTimedArrays &arrays) {
  TimedGraph program;
  if (Failure failure = readOps(arrays, program))
    return failure;
  if (Failure failure = readBuffers(arrays, program))
    return failure;
  Result<IndexLists> predecessors = readLists(
      arrays.predecessors, arrays.numOps, arrays.numOps, "predecessors");
  if (!predecessors)
    return predecessors.getFailure();
  Result<IndexLists> users = readLists(arrays.bufferUsers, arrays.numBuffers,
                                       arrays.numOps, "users of buffers");
  if (!users)
    return users.getFailure();
  Result<IndexLists> conflicts =
      readLists(arrays.conflicts, arrays.numStreams, arrays.numStreams,
                "conflicts of streams");
  if (!conflicts)
    return conflicts.getFailure();
  program.predecessors = std::move(*predecessors);
  program.users = std::move(*users);
  program.links.resize(1);
  for (uint32_t i = 0; i != arrays.numStreams; ++i)
    program.streams.push_back({0, (*conflicts)[i].vec()});
  if (Failure failure = checkTimedGraph(program))
    return failure;
  return program;
}
