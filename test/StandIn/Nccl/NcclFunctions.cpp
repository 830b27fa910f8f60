//===- NcclFunctions.cpp - Stand-in for NCCL ------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StandIn/Driver/RecordedCall.h"
#include "StandInNccl.h"

#include "regather/Runtime/Runtime.h"

#include <chrono>
#include <cstring>
#include <pthread.h>
#include <unistd.h>

using namespace regather::runtime;

namespace {
/// What a thread has called since ncclGroupStart.
struct PendingGroup {
  struct Part {
    std::shared_ptr<NcclCommTag> comm;
    CuStream stream;
    std::vector<NcclOperation> operations;
  };

  int depth = 0;
  NcclResult error = kNcclSuccess;
  std::vector<Part> parts;
};
} // namespace

static thread_local PendingGroup pending;
/// Set while work runs that was enqueued right now, and not by a graph.
static thread_local bool isEager = false;

static std::unique_lock<std::mutex> lockNccl() {
  return std::unique_lock<std::mutex>(StandInNccl::get().mutex);
}

/// Fails a call that is wrong in itself.
static NcclResult reject(RecordedCall &call, const std::string &problem) {
  call.require(false, kCuInvalidValue, problem).finish();
  auto lock = lockNccl();
  return StandInNccl::get().fail(kNcclInvalidArgument, problem);
}

static std::shared_ptr<NcclCommTag> findComm(NcclComm comm) {
  auto lock = lockNccl();
  return StandInNccl::get().find(comm);
}

/// True if memory belongs to the stack of this thread.
static bool isOnStack(const void *memory) {
  pthread_attr_t attributes;
  void *stack = nullptr;
  size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes))
    return false;
  pthread_attr_getstack(&attributes, &stack, &bytes);
  pthread_attr_destroy(&attributes);
  auto begin = reinterpret_cast<uintptr_t>(stack);
  auto place = reinterpret_cast<uintptr_t>(memory);
  return place >= begin && place - begin < bytes;
}

/// Enqueues what a thread has called in a group.
static NcclResult submit() {
  NcclResult result = pending.error;
  std::vector<PendingGroup::Part> parts = std::move(pending.parts);
  pending = {};
  for (PendingGroup::Part &part : parts) {
    if (result != kNcclSuccess && result != kNcclInProgress)
      return result;
    RecordedCall call("ncclGroupEnd");
    call.onStream(part.stream).add("comm", part.comm->number);
    // Only what a graph holds keeps the communicator from ending.
    std::shared_ptr<const char> captured;
    if (call.getResult() == kCuSuccess && part.stream->capture)
      captured = part.comm->captured;
    isEager = true;
    CuResult status = call.enqueue(
        [comm = part.comm, captured, operations = std::move(part.operations)] {
          // A graph has nobody who would ask whether it is done.
          bool isAwaited = !isEager || comm->isBlocking ||
                           StandInDevice::get().queues.isDelaying();
          NcclResult state =
              StandInNccl::get().arrive(comm, operations, isAwaited);
          // That another rank is gone, only the library notices.
          bool isGood = state == kNcclSuccess || state == kNcclRemoteError;
          return isAwaited && !isGood ? kCuLaunchFailed : kCuSuccess;
        },
        /*isOrdered=*/true);
    isEager = false;
    auto lock = lockNccl();
    if (status != kCuSuccess)
      result = StandInNccl::get().fail(kNcclUnhandledCudaError,
                                       "the stream cannot be used");
    else if (!part.comm->isBlocking)
      result = kNcclInProgress;
  }
  return result;
}

/// Records a routine and keeps it until the group ends.
static NcclResult addOperation(const char *name, NcclComm handle,
                               CuStream stream, const NcclOperation &operation,
                               size_t readBytes, size_t writtenBytes) {
  std::shared_ptr<NcclCommTag> comm = findComm(handle);
  RecordedCall call(name);
  if (!comm)
    return reject(call, "there is no such communicator");
  call.onStream(stream)
      .add("comm", comm->number)
      .add("position", comm->position)
      .add("count", int64_t(operation.count))
      .add("type", operation.type)
      .add("reduction", operation.reduction)
      .add("peer", operation.peer)
      .read({reinterpret_cast<CuAddress>(operation.source), readBytes})
      .write({reinterpret_cast<CuAddress>(operation.target), writtenBytes});
  NcclResult result = kNcclSuccess;
  if (call.finish() != kCuSuccess) {
    auto lock = lockNccl();
    result = StandInNccl::get().fail(kNcclInvalidArgument,
                                     "a buffer lies in no allocation");
    pending.error = result;
  } else {
    auto isSame = [&](const PendingGroup::Part &part) {
      return part.comm == comm && part.stream == stream;
    };
    if (pending.parts.empty() || !isSame(pending.parts.back()))
      pending.parts.push_back({comm, stream, {}});
    pending.parts.back().operations.push_back(operation);
  }
  return pending.depth ? result : submit();
}

extern "C" {

//===----------------------------------------------------------------------===//
// Library
//===----------------------------------------------------------------------===//

RG_EXPORT NcclResult ncclGetVersion(int *version) {
  const char *text = std::getenv("REGATHER_STAND_IN_NCCL");
  *version = text ? int(std::strtol(text, nullptr, 10)) : 23007;
  return kNcclSuccess;
}

RG_EXPORT const char *ncclGetErrorString(NcclResult result) {
  switch (result) {
  case kNcclSuccess:
    return "no error";
  case kNcclUnhandledCudaError:
    return "unhandled cuda error";
  case kNcclInvalidArgument:
    return "invalid argument";
  case kNcclInvalidUsage:
    return "invalid usage";
  case kNcclRemoteError:
    return "remote process exited or there was a network error";
  case kNcclInProgress:
    return "NCCL operation in progress";
  default:
    return "internal error";
  }
}

RG_EXPORT const char *ncclGetLastError(NcclComm comm) {
  static thread_local std::string text;
  auto lock = lockNccl();
  text = StandInNccl::get().lastError;
  return text.c_str();
}

RG_EXPORT NcclResult ncclGetUniqueId(NcclUniqueId *id) {
  RecordedCall call("ncclGetUniqueId");
  static int64_t numIds = 0;
  std::string text = "stand-in of process " + std::to_string(getpid()) + ": " +
                     std::to_string(++numIds);
  *id = {};
  std::memcpy(id->internal, text.data(), text.size());
  call.finish();
  return kNcclSuccess;
}

//===----------------------------------------------------------------------===//
// Communicators
//===----------------------------------------------------------------------===//

RG_EXPORT NcclResult ncclCommInitRankConfig(NcclComm *comm, int ranks,
                                            NcclUniqueId id, int rank,
                                            NcclConfig *config) {
  RecordedCall call("ncclCommInitRankConfig");
  call.add("ranks", ranks).add("position", rank).add("policy", config->policy);
  if (config->magic != NcclConfig().magic || config->size < 32)
    return reject(call, "the configuration is not initialized");
  std::unique_lock<std::mutex> lock = lockNccl();
  StandInNccl &nccl = StandInNccl::get();
  NcclResult result = kNcclSuccess;
  std::shared_ptr<NcclCommTag> created =
      nccl.create(id.internal, ranks, rank, result);
  if (!created) {
    call.require(false, kCuInvalidValue, nccl.lastError).finish();
    return result;
  }
  created->isBlocking = config->blocking != 0;
  *comm = created.get();
  call.add("comm", created->number).finish();
  if (!created->isBlocking)
    return kNcclInProgress;
  nccl.wake.wait(lock, [&] {
    return created->isAborted || nccl.getState(*created) != kNcclInProgress;
  });
  return kNcclSuccess;
}

RG_EXPORT NcclResult ncclCommGetAsyncError(NcclComm handle, NcclResult *error) {
  auto lock = lockNccl();
  std::shared_ptr<NcclCommTag> comm = StandInNccl::get().find(handle);
  if (!comm)
    return StandInNccl::get().fail(kNcclInvalidArgument,
                                   "there is no such communicator");
  *error = StandInNccl::get().getState(*comm);
  return kNcclSuccess;
}

RG_EXPORT NcclResult ncclCommFinalize(NcclComm comm) {
  RecordedCall call("ncclCommFinalize");
  call.finish();
  return findComm(comm) ? kNcclSuccess : kNcclInvalidArgument;
}

} // extern "C"

static NcclResult endComm(const char *name, NcclComm handle, bool isAbort) {
  if (!isAbort)
    StandInDevice::get().queues.finishAll();
  std::shared_ptr<NcclCommTag> comm = findComm(handle);
  RecordedCall call(name);
  if (!comm)
    return reject(call, "there is no such communicator");
  call.add("comm", comm->number).finish();
  {
    auto lock = lockNccl();
    StandInNccl::get().destroy(handle, isAbort);
  }
  // What was enqueued ends.
  StandInDevice::get().queues.finishAll();
  auto lock = lockNccl();
  // As NCCL does from 2.26 on.
  while (comm->captured.use_count() > 1)
    StandInNccl::get().wake.wait_for(lock, std::chrono::milliseconds(1));
  return kNcclSuccess;
}

extern "C" {

RG_EXPORT NcclResult ncclCommDestroy(NcclComm comm) {
  return endComm("ncclCommDestroy", comm, /*isAbort=*/false);
}

RG_EXPORT NcclResult ncclCommAbort(NcclComm comm) {
  return endComm("ncclCommAbort", comm, /*isAbort=*/true);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

CuResult cuMemAlloc_v2(CuAddress *address, size_t bytes);
CuResult cuMemFree_v2(CuAddress address);

RG_EXPORT NcclResult ncclMemAlloc(void **memory, size_t bytes) {
  CuAddress address = 0;
  if (cuMemAlloc_v2(&address, bytes) != kCuSuccess)
    return kNcclUnhandledCudaError;
  *memory = reinterpret_cast<void *>(address);
  return kNcclSuccess;
}

RG_EXPORT NcclResult ncclMemFree(void *memory) {
  return cuMemFree_v2(reinterpret_cast<CuAddress>(memory)) == kCuSuccess
             ? kNcclSuccess
             : kNcclInvalidArgument;
}

RG_EXPORT NcclResult ncclCommWindowRegister(NcclComm handle, void *memory,
                                            size_t bytes, NcclWindow *window,
                                            int flags) {
  std::shared_ptr<NcclCommTag> comm = findComm(handle);
  RecordedCall call("ncclCommWindowRegister");
  auto address = reinterpret_cast<CuAddress>(memory);
  if (!comm || !call.getDevice().contains({address, bytes}))
    return reject(call, comm ? "the window lies in no allocation"
                             : "there is no such communicator");
  call.add("comm", comm->number)
      .add("address", int64_t(address))
      .add("bytes", int64_t(bytes))
      .add("flags", flags);
  if (!comm->isBlocking && isOnStack(static_cast<const void *>(window)))
    return reject(call, "the window is written later, but its place is on the "
                        "stack of the caller");
  call.finish();
  *window = static_cast<NcclWindow>(memory);
  return kNcclSuccess;
}

RG_EXPORT NcclResult ncclCommWindowDeregister(NcclComm comm,
                                              NcclWindow window) {
  RecordedCall("ncclCommWindowDeregister").finish();
  return kNcclSuccess;
}

//===----------------------------------------------------------------------===//
// Routines
//===----------------------------------------------------------------------===//

RG_EXPORT NcclResult ncclGroupStart() {
  ++pending.depth;
  return kNcclSuccess;
}

RG_EXPORT NcclResult ncclGroupEnd() {
  if (pending.depth == 0)
    return kNcclInvalidUsage;
  return --pending.depth ? kNcclSuccess : submit();
}

using Kind = NcclOperation::Kind;

RG_EXPORT NcclResult ncclAllGather(const void *source, void *target,
                                   size_t count, int type, NcclComm comm,
                                   CuStream stream) {
  std::shared_ptr<NcclCommTag> known = findComm(comm);
  size_t bytes = count * getNcclTypeSize(type);
  size_t ranks = known ? size_t(known->group->ranks) : 1;
  return addOperation("ncclAllGather", comm, stream,
                      {Kind::AllGather, static_cast<const char *>(source),
                       static_cast<char *>(target), count, type, 0, 0},
                      bytes, bytes * ranks);
}

RG_EXPORT NcclResult ncclReduceScatter(const void *source, void *target,
                                       size_t count, int type, int reduction,
                                       NcclComm comm, CuStream stream) {
  std::shared_ptr<NcclCommTag> known = findComm(comm);
  size_t bytes = count * getNcclTypeSize(type);
  size_t ranks = known ? size_t(known->group->ranks) : 1;
  return addOperation("ncclReduceScatter", comm, stream,
                      {Kind::ReduceScatter, static_cast<const char *>(source),
                       static_cast<char *>(target), count, type, reduction, 0},
                      bytes * ranks, bytes);
}

RG_EXPORT NcclResult ncclAllReduce(const void *source, void *target,
                                   size_t count, int type, int reduction,
                                   NcclComm comm, CuStream stream) {
  size_t bytes = count * getNcclTypeSize(type);
  return addOperation("ncclAllReduce", comm, stream,
                      {Kind::AllReduce, static_cast<const char *>(source),
                       static_cast<char *>(target), count, type, reduction, 0},
                      bytes, bytes);
}

RG_EXPORT NcclResult ncclBroadcast(const void *source, void *target,
                                   size_t count, int type, int root,
                                   NcclComm comm, CuStream stream) {
  size_t bytes = count * getNcclTypeSize(type);
  return addOperation("ncclBroadcast", comm, stream,
                      {Kind::Broadcast, static_cast<const char *>(source),
                       static_cast<char *>(target), count, type, 0, root},
                      bytes, bytes);
}

RG_EXPORT NcclResult ncclSend(const void *source, size_t count, int type,
                              int peer, NcclComm comm, CuStream stream) {
  return addOperation("ncclSend", comm, stream,
                      {Kind::Send, static_cast<const char *>(source), nullptr,
                       count, type, 0, peer},
                      count * getNcclTypeSize(type), 0);
}

RG_EXPORT NcclResult ncclRecv(void *target, size_t count, int type, int peer,
                              NcclComm comm, CuStream stream) {
  return addOperation(
      "ncclRecv", comm, stream,
      {Kind::Recv, nullptr, static_cast<char *>(target), count, type, 0, peer},
      0, count * getNcclTypeSize(type));
}

} // extern "C"
