//===- WorldInterface.cpp - The runtime's C interface ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks pointers, and translates handles to classes.
//
//===----------------------------------------------------------------------===//

#include "regather/Runtime/Runtime.h"

#include "World.h"

#include <algorithm>

using namespace regather::runtime;

static World *unwrap(rg_world *world) {
  return reinterpret_cast<World *>(world);
}
static const World *unwrap(const rg_world *world) {
  return reinterpret_cast<const World *>(world);
}
static GroupView *unwrap(rg_comm *comm) {
  return reinterpret_cast<GroupView *>(comm);
}
static const GroupView *unwrap(const rg_comm *comm) {
  return reinterpret_cast<const GroupView *>(comm);
}
static Future *unwrap(rg_future *future) {
  return reinterpret_cast<Future *>(future);
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

size_t rg_dtype_size(int32_t dtype) {
  switch (dtype) {
  case RG_I1:
  case RG_I8:
    return 1;
  case RG_BF16:
  case RG_F16:
  case RG_I16:
    return 2;
  case RG_F32:
  case RG_I32:
    return 4;
  case RG_F64:
  case RG_I64:
    return 8;
  default:
    return 0;
  }
}

const char *rg_dtype_name(int32_t dtype) {
  static const char *const names[] = {"f32", "f64", "bf16", "f16", "i1",
                                      "i8",  "i16", "i32",  "i64"};
  return rg_dtype_size(dtype) ? names[dtype] : "invalid";
}

const char *rg_status_name(int32_t status) {
  static const char *const names[] = {"ok",       "argument", "mismatch",
                                      "deadlock", "timeout",  "aborted",
                                      "memory",   "device"};
  return status >= RG_OK && status <= RG_ERROR_DEVICE ? names[status]
                                                      : "invalid";
}

//===----------------------------------------------------------------------===//
// World
//===----------------------------------------------------------------------===//

rg_status rg_world_create(const rg_world_options *options, rg_world **world) {
  if (!world)
    return RG_ERROR_ARGUMENT;
  *world = nullptr;
  // The negated comparison refuses NaN as well.
  if (!options || options->ranks < 1 || options->workers < 0 ||
      !(options->timeout_seconds >= 0) || !(options->latency_seconds >= 0) ||
      !(options->bandwidth >= 0))
    return RG_ERROR_ARGUMENT;
  double timeout = options->timeout_seconds ? options->timeout_seconds : 100;
  int64_t workers = options->workers;
  if (!workers)
    workers = std::max(std::thread::hardware_concurrency(), 1u);
  auto created = std::make_unique<World>(
      options->ranks, timeout,
      InjectedLink(options->latency_seconds, options->bandwidth));
  if (!created->startWorkers(workers))
    return RG_ERROR_ABORTED;
  *world = reinterpret_cast<rg_world *>(created.release());
  return RG_OK;
}

void rg_world_destroy(rg_world *world) { delete unwrap(world); }

int32_t rg_world_ranks(const rg_world *world) {
  return world ? unwrap(world)->getNumRanks() : 0;
}

const char *rg_world_error(const rg_world *world) {
  return world ? unwrap(world)->getError() : "";
}

void rg_world_abort(rg_world *world, const char *message) {
  if (world)
    unwrap(world)->abort(message);
}

rg_status rg_rank_finish(rg_world *world, int32_t rank) {
  return world ? unwrap(world)->finishRank(rank) : RG_ERROR_ARGUMENT;
}

rg_status rg_rank_resume(rg_world *world, int32_t rank) {
  return world ? unwrap(world)->resumeRank(rank) : RG_ERROR_ARGUMENT;
}

//===----------------------------------------------------------------------===//
// Communicators
//===----------------------------------------------------------------------===//

rg_status rg_comm_get(rg_world *world, int32_t rank, const int32_t *members,
                      int32_t count, rg_comm **comm) {
  if (comm)
    *comm = nullptr;
  if (!world)
    return RG_ERROR_ARGUMENT;
  if (!comm || !members)
    return unwrap(world)->rejectArgument("rg_comm_get: a pointer is null");
  GroupView *view = nullptr;
  rg_status status = unwrap(world)->getView(rank, members, count, view);
  *comm = reinterpret_cast<rg_comm *>(view);
  return status;
}

int32_t rg_comm_size(const rg_comm *comm) {
  return comm ? int32_t(unwrap(comm)->group->members.size()) : 0;
}

int32_t rg_comm_position(const rg_comm *comm) {
  return comm ? unwrap(comm)->position : -1;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

rg_status rg_start(rg_comm *comm, const rg_collective *collective,
                   rg_future **future) {
  if (future)
    *future = nullptr;
  if (!comm)
    return RG_ERROR_ARGUMENT;
  World &world = *unwrap(comm)->world;
  if (!collective || !future)
    return world.rejectArgument("rg_start: a pointer is null");
  Future *started = nullptr;
  rg_status status = world.start(*unwrap(comm), *collective, started);
  *future = reinterpret_cast<rg_future *>(started);
  return status;
}

rg_status rg_wait(rg_future *future) { return rg_wait_timed(future, nullptr); }

rg_status rg_wait_timed(rg_future *future, rg_collective_times *times) {
  return future ? unwrap(future)->world->wait(unwrap(future), times)
                : RG_ERROR_ARGUMENT;
}

rg_status rg_test(rg_future *future, int32_t *done) {
  if (done)
    *done = 0;
  if (!future)
    return RG_ERROR_ARGUMENT;
  World &world = *unwrap(future)->world;
  if (!done)
    return world.rejectArgument("rg_test: a pointer is null");
  bool isDone = false;
  rg_status status = world.test(*unwrap(future), isDone);
  *done = isDone;
  return status;
}
