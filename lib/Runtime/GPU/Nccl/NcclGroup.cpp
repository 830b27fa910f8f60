//===- NcclGroup.cpp - A communicator of NCCL -----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NcclGroup.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

/// How long a call may hold a communicator that is to be ended.
static constexpr std::chrono::seconds kAbortPatience(5);

static void *getPointer(CuAddress address) {
  return reinterpret_cast<void *>(address);
}

static int getDataType(rg_dtype dtype) {
  switch (dtype) {
  case RG_F32:
    return kNcclFloat32;
  case RG_F64:
    return kNcclFloat64;
  case RG_BF16:
    return kNcclBfloat16;
  case RG_F16:
    return kNcclFloat16;
  case RG_I1:
    return kNcclUint8;
  case RG_I32:
    return kNcclInt32;
  case RG_I64:
    return kNcclInt64;
  default:
    return kNcclInt8;
  }
}

static int getReduction(rg_reduction reduction) {
  return reduction == RG_SUM   ? kNcclSum
         : reduction == RG_AVG ? kNcclAvg
                               : kNcclMax;
}

std::string NcclGroup::describeGroup() const {
  return std::string(use == Use::Move ? "gathers" : "reductions") +
         " of group " + formatList(group);
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

/// Fails unless a call has been taken, whether or not it is done.
Failure NcclGroup::call(NcclResult result, const char *what) {
  if (result == kNcclSuccess || result == kNcclInProgress)
    return Failure();
  return Failure(std::string(what) + " for " + describeGroup() + ": " +
                     nccl.describe(result, comm),
                 RG_ERROR_DEVICE);
}

/// Waits until the last call is done on the host. Fails with RG_ERROR_TIMEOUT
/// if it is not in time.
Failure NcclGroup::await(const char *what, double seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds kLongestPause(200);
  Clock::time_point begin = Clock::now();
  for (std::chrono::microseconds pause(1);;
       pause = std::min(2 * pause, kLongestPause)) {
    NcclResult state = kNcclSuccess;
    {
      std::lock_guard<std::timed_mutex> lock(mutex);
      if (isAborted)
        return Failure(std::string(what) + " for " + describeGroup() +
                           ": communication was ended",
                       RG_ERROR_DEVICE);
      NcclResult result = nccl.ncclCommGetAsyncError(comm, &state);
      if (Failure failure = call(result, what))
        return failure;
      if (Failure failure = call(state, what))
        return failure;
    }
    if (state == kNcclSuccess)
      return Failure();
    std::chrono::duration<double> elapsed = Clock::now() - begin;
    if (seconds > 0 && elapsed.count() > seconds) {
      char text[32];
      std::snprintf(text, sizeof(text), "%g", seconds);
      return Failure(std::string(what) + " for " + describeGroup() +
                         " is not done after " + text + " seconds",
                     RG_ERROR_TIMEOUT);
    }
    std::this_thread::sleep_for(pause);
  }
}

//===----------------------------------------------------------------------===//
// Set-up
//===----------------------------------------------------------------------===//

NcclGroup::~NcclGroup() {
  if (!comm)
    return;
  for (NcclWindow window : windows)
    if (window)
      nccl.ncclCommWindowDeregister(comm, window);
  Failure failure = call(nccl.ncclCommFinalize(comm), "ncclCommFinalize");
  if (!failure)
    failure = await("ncclCommFinalize", /*seconds=*/10);
  if (failure)
    abort();
  else
    nccl.ncclCommDestroy(comm);
}

Failure NcclGroup::create(const std::string &name, int32_t rank,
                          RankStore &store, double seconds) {
  auto position = std::find(group.begin(), group.end(), rank) - group.begin();
  NcclUniqueId id = {};
  if (position == 0) {
    Failure failure = call(nccl.ncclGetUniqueId(&id), "ncclGetUniqueId");
    if (!failure && group.size() > 1)
      failure = store.set(name, std::string(id.internal, sizeof(id.internal)));
    if (failure)
      return failure;
  } else {
    Result<std::string> bytes = store.get(name, group.front());
    if (!bytes)
      return bytes.getFailure();
    if (bytes->size() != sizeof(id.internal))
      return "the store has " + std::to_string(bytes->size()) + " bytes for '" +
             name + "', expected " + std::to_string(sizeof(id.internal));
    std::memcpy(id.internal, bytes->data(), sizeof(id.internal));
  }
  NcclConfig config = nccl.getConfig();
  config.policy = policy;
  if (Failure failure =
          call(nccl.ncclCommInitRankConfig(&comm, int(group.size()), id,
                                           int(position), &config),
               "ncclCommInitRankConfig"))
    return failure;
  return awaitAll("ncclCommInitRankConfig", name, store, seconds);
}

/// Waits for what all ranks of the group have begun at about the same time, and
/// finds out which of them have stopped if it is not done in time. Both
/// together take no longer than `seconds`.
Failure NcclGroup::awaitAll(const char *what, const std::string &name,
                            RankStore &store, double seconds) {
  double rollSeconds = std::min(seconds / 4, 5.0);
  Failure failure = await(what, seconds - rollSeconds);
  if (!failure || failure.getCode() != RG_ERROR_TIMEOUT)
    return failure;
  Failure absent = store.callRoll(name + "/" + what, group, rollSeconds);
  return Failure(failure.getMessage() +
                     (absent ? "; " + absent.getMessage()
                             : ", although all its ranks answer"),
                 RG_ERROR_TIMEOUT);
}

Failure NcclGroup::registerMemory(CuAddress address, int64_t bytes,
                                  const std::string &name, RankStore &store,
                                  double seconds) {
  // Null where the ranks have no memory in common: buffers are used as they
  // are. NCCL writes it when the registration is complete, perhaps after this.
  NcclWindow &window = windows.emplace_back(nullptr);
  Failure failure =
      call(nccl.ncclCommWindowRegister(comm, getPointer(address), size_t(bytes),
                                       &window, kNcclWindowSymmetric),
           "ncclCommWindowRegister");
  return failure ? failure
                 : awaitAll("ncclCommWindowRegister", name, store, seconds);
}

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

NcclResult NcclGroup::enqueue(const PlanCall &item, const PlanMemory &memory,
                              CuStream stream) {
  const void *source = getPointer(memory.get(item.source));
  void *target = getPointer(memory.get(item.target));
  auto count = size_t(item.count);
  int type = getDataType(item.dtype);
  int reduction = getReduction(item.reduction);
  switch (item.kind) {
  case RG_ALL_GATHER:
    return nccl.ncclAllGather(source, target, count, type, comm, stream);
  case RG_REDUCE_SCATTER:
    return nccl.ncclReduceScatter(source, target, count, type, reduction, comm,
                                  stream);
  case RG_ALL_REDUCE:
    return nccl.ncclAllReduce(source, target, count, type, reduction, comm,
                              stream);
  default:
    return nccl.ncclBroadcast(source, target, count, type, int(item.root), comm,
                              stream);
  }
}

NcclResult NcclGroup::enqueue(const PlanPhase &phase, const PlanMemory &memory,
                              CuStream stream) {
  NcclResult first = kNcclSuccess;
  auto keep = [&](NcclResult result) {
    if (result != kNcclSuccess && result != kNcclInProgress &&
        first == kNcclSuccess)
      first = result;
  };
  for (const PlanCall &item : phase.calls)
    keep(enqueue(item, memory, stream));
  for (const PlanMessage &item : phase.sends)
    keep(nccl.ncclSend(getPointer(memory.get(item.address)), size_t(item.bytes),
                       kNcclInt8, int(item.peer), comm, stream));
  for (const PlanMessage &item : phase.receives)
    keep(nccl.ncclRecv(getPointer(memory.get(item.address)), size_t(item.bytes),
                       kNcclInt8, int(item.peer), comm, stream));
  return first;
}

Failure NcclGroup::exchange(const PlanPhase &phase, const PlanMemory &memory,
                            CuStream stream) {
  {
    std::lock_guard<std::timed_mutex> lock(mutex);
    if (isAborted)
      return Failure("communication of " + describeGroup() + " was ended",
                     RG_ERROR_DEVICE);
    if (Failure failure = call(nccl.ncclGroupStart(), "ncclGroupStart"))
      return failure;
    // A group that was begun has to be ended, whatever happens in it.
    NcclResult result = enqueue(phase, memory, stream);
    NcclResult end = nccl.ncclGroupEnd();
    if (Failure failure = call(result, "an exchange"))
      return failure;
    if (Failure failure = call(end, "ncclGroupEnd"))
      return failure;
  }
  // Before it, the stream may lack what was asked for.
  return await("an exchange", /*seconds=*/0);
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

Failure NcclGroup::poll() {
  // A call that holds it finds the failure itself.
  std::unique_lock<std::timed_mutex> lock(mutex, std::try_to_lock);
  if (!lock || isAborted || !comm)
    return Failure();
  NcclResult state = kNcclSuccess;
  Failure failure =
      call(nccl.ncclCommGetAsyncError(comm, &state), "ncclCommGetAsyncError");
  return failure ? failure : call(state, "an exchange");
}

void NcclGroup::abort() {
  isAborted = true;
  NcclComm ended = nullptr;
  {
    std::unique_lock<std::timed_mutex> lock(mutex, kAbortPatience);
    std::swap(ended, comm);
  }
  // Without the lock, as this may block: the others see that it has ended.
  if (ended)
    nccl.ncclCommAbort(ended);
}
