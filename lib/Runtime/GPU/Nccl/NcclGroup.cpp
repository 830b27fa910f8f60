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

/// True if a call has been taken, whether or not it is done.
bool NcclGroup::call(NcclResult result, const char *what,
                     std::string &message) {
  if (result == kNcclSuccess || result == kNcclInProgress)
    return true;
  message = std::string(what) + " for " + describeGroup() + ": " +
            nccl.describe(result, comm);
  return false;
}

/// Waits until the last call is done on the host.
bool NcclGroup::await(const char *what, double seconds, std::string &message,
                      bool *isLate) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds kLongestPause(200);
  Clock::time_point begin = Clock::now();
  for (std::chrono::microseconds pause(1);;
       pause = std::min(2 * pause, kLongestPause)) {
    NcclResult state = kNcclSuccess;
    {
      std::lock_guard<std::timed_mutex> lock(mutex);
      if (isAborted) {
        message = std::string(what) + " for " + describeGroup() +
                  ": communication was ended";
        return false;
      }
      NcclResult result = nccl.ncclCommGetAsyncError(comm, &state);
      if (!call(result, what, message) || !call(state, what, message))
        return false;
    }
    if (state == kNcclSuccess)
      return true;
    std::chrono::duration<double> elapsed = Clock::now() - begin;
    if (seconds > 0 && elapsed.count() > seconds) {
      char text[32];
      std::snprintf(text, sizeof(text), "%g", seconds);
      message = std::string(what) + " for " + describeGroup() +
                " is not done after " + text + " seconds";
      if (isLate)
        *isLate = true;
      return false;
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
  std::string message;
  if (!call(nccl.ncclCommFinalize(comm), "ncclCommFinalize", message) ||
      !await("ncclCommFinalize", /*seconds=*/10, message))
    abort();
  else
    nccl.ncclCommDestroy(comm);
}

bool NcclGroup::create(const std::string &name, int32_t rank, RankStore &store,
                       double seconds, std::string &message) {
  auto position = std::find(group.begin(), group.end(), rank) - group.begin();
  NcclUniqueId id = {};
  std::string bytes;
  if (position == 0) {
    NcclResult result = nccl.ncclGetUniqueId(&id);
    if (!call(result, "ncclGetUniqueId", message))
      return false;
    bytes.assign(id.internal, sizeof(id.internal));
    if (group.size() > 1 && !store.set(name, bytes, message))
      return false;
  } else {
    if (!store.get(name, group.front(), bytes, message))
      return false;
    if (bytes.size() != sizeof(id.internal)) {
      message = "the store has " + std::to_string(bytes.size()) +
                " bytes for '" + name + "', expected " +
                std::to_string(sizeof(id.internal));
      return false;
    }
    std::memcpy(id.internal, bytes.data(), sizeof(id.internal));
  }
  NcclConfig config = nccl.getConfig();
  config.policy = policy;
  if (!call(nccl.ncclCommInitRankConfig(&comm, int(group.size()), id,
                                        int(position), &config),
            "ncclCommInitRankConfig", message))
    return false;
  return awaitAll("ncclCommInitRankConfig", name, store, seconds, message);
}

/// Waits for what all ranks of the group have begun at about the same time, and
/// finds out which of them have stopped if it is not done in time. Both
/// together take no longer than `seconds`.
bool NcclGroup::awaitAll(const char *what, const std::string &name,
                         RankStore &store, double seconds,
                         std::string &message) {
  double rollSeconds = std::min(seconds / 4, 5.0);
  bool isLate = false;
  if (await(what, seconds - rollSeconds, message, &isLate))
    return true;
  std::string absent;
  if (isLate)
    message += store.callRoll(name + "/" + what, group, rollSeconds, absent)
                   ? ", although all its ranks answer"
                   : "; " + absent;
  return false;
}

bool NcclGroup::registerMemory(CuAddress address, int64_t bytes,
                               const std::string &name, RankStore &store,
                               double seconds, std::string &message) {
  // Null where the ranks have no memory in common: buffers are used as they
  // are. NCCL writes it when the registration is complete, perhaps after this.
  NcclWindow &window = windows.emplace_back(nullptr);
  return call(nccl.ncclCommWindowRegister(comm, getPointer(address),
                                          size_t(bytes), &window,
                                          kNcclWindowSymmetric),
              "ncclCommWindowRegister", message) &&
         awaitAll("ncclCommWindowRegister", name, store, seconds, message);
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

bool NcclGroup::exchange(const PlanPhase &phase, const PlanMemory &memory,
                         CuStream stream, std::string &message) {
  {
    std::lock_guard<std::timed_mutex> lock(mutex);
    if (isAborted) {
      message = "communication of " + describeGroup() + " was ended";
      return false;
    }
    if (!call(nccl.ncclGroupStart(), "ncclGroupStart", message))
      return false;
    // A group that was begun has to be ended, whatever happens in it.
    NcclResult result = enqueue(phase, memory, stream);
    NcclResult end = nccl.ncclGroupEnd();
    if (!call(result, "an exchange", message) ||
        !call(end, "ncclGroupEnd", message))
      return false;
  }
  // Before it, the stream may lack what was asked for.
  return await("an exchange", /*seconds=*/0, message);
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

bool NcclGroup::poll(std::string &message) {
  // A call that holds it finds the failure itself.
  std::unique_lock<std::timed_mutex> lock(mutex, std::try_to_lock);
  if (!lock || isAborted || !comm)
    return true;
  NcclResult state = kNcclSuccess;
  NcclResult result = nccl.ncclCommGetAsyncError(comm, &state);
  return call(result, "ncclCommGetAsyncError", message) &&
         call(state, "an exchange", message);
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
