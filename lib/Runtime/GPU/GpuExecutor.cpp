//===- GpuExecutor.cpp - Run a step on GPUs -------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuExecutor.h"

#include <algorithm>
#include <cstring>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

GpuExecutor::~GpuExecutor() {
  // Work that has not ended uses the memory. After a failure it might never.
  if (failure.status == RG_OK)
    for (const std::unique_ptr<DeviceRank> &rank : ranks)
      if (rank->getNumStreams())
        device.getDriver().cuStreamSynchronize(rank->getStream(0));
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Failure GpuExecutor::synchronize(int32_t rank) {
  CuStream stream = ranks[size_t(rank)]->getStream(0);
  return device.check(device.getDriver().cuStreamSynchronize(stream),
                      "cuStreamSynchronize");
}

/// The pinned memory at an address that lies on the host.
static void *getHostPointer(CuAddress address) {
  return reinterpret_cast<void *>(uintptr_t(address));
}

rg_status GpuExecutor::upload(int32_t rank, int64_t argument,
                              const void *data) {
  if (!hasRank(rank) || argument < 0 || argument >= program.argument_count)
    return keep({"there is no such argument", RG_ERROR_ARGUMENT});
  DeviceRank &state = *ranks[size_t(rank)];
  int64_t bytes = rg_value_bytes(&program.arguments[argument]);
  Failure reason;
  if (program.arguments[argument].on_host) {
    reason = synchronize(rank);
    if (!reason && bytes)
      std::memcpy(getHostPointer(state.getArgument(argument)), data,
                  size_t(bytes));
    return keep(reason);
  }
  if (bytes)
    reason = device.check(device.getDriver().cuMemcpyHtoDAsync_v2(
                              state.getArgument(argument), data, size_t(bytes),
                              state.getStream(0)),
                          "cuMemcpyHtoDAsync");
  return keep(reason ? reason : synchronize(rank));
}

rg_status GpuExecutor::take(int32_t rank, int64_t argument, CuAddress address) {
  if (!hasRank(rank) || !hasArgument(argument))
    return keep({"there is no such argument", RG_ERROR_ARGUMENT});
  int64_t bytes = rg_value_bytes(&program.arguments[argument]);
  Failure reason;
  if (bytes && program.arguments[argument].on_host)
    reason = device.check(
        device.getDriver().cuMemcpyDtoHAsync_v2(
            getHostPointer(ranks[size_t(rank)]->getArgument(argument)), address,
            size_t(bytes), ranks[size_t(rank)]->getStream(0)),
        "cuMemcpyDtoHAsync");
  else if (bytes)
    reason =
        device.check(device.getDriver().cuMemcpyDtoDAsync_v2(
                         ranks[size_t(rank)]->getArgument(argument), address,
                         size_t(bytes), ranks[size_t(rank)]->getStream(0)),
                     "cuMemcpyDtoDAsync");
  return keep(reason ? reason : synchronize(rank));
}

CuAddress GpuExecutor::getArgumentAddress(int32_t rank,
                                          int64_t argument) const {
  return hasRank(rank) && hasArgument(argument)
             ? ranks[size_t(rank)]->getArgument(argument)
             : 0;
}

Failure GpuExecutor::downloadFromHost(int32_t rank, CuAddress address,
                                      int64_t bytes, void *data) {
  Failure reason = synchronize(rank);
  if (!reason && bytes)
    std::memcpy(data, getHostPointer(address), size_t(bytes));
  return reason;
}

Failure GpuExecutor::download(int32_t rank, CuAddress address, int64_t bytes,
                              void *data) {
  Failure reason;
  if (bytes)
    reason = device.check(
        device.getDriver().cuMemcpyDtoHAsync_v2(
            data, address, size_t(bytes), ranks[size_t(rank)]->getStream(0)),
        "cuMemcpyDtoHAsync");
  return reason ? reason : synchronize(rank);
}

rg_status GpuExecutor::downloadResult(int32_t rank, int64_t result,
                                      void *data) {
  if (!hasRank(rank) || result < 0 || result >= program.result_count)
    return keep({"there is no such result", RG_ERROR_ARGUMENT});
  const rg_slice &slice = program.results[result].slice;
  if (rg_slice_on_host(&program, &slice))
    return keep(downloadFromHost(rank, ranks[size_t(rank)]->resolve(slice),
                                 slice.bytes, data));
  return keep(
      download(rank, ranks[size_t(rank)]->resolve(slice), slice.bytes, data));
}

rg_status GpuExecutor::downloadArgument(int32_t rank, int64_t argument,
                                        void *data) {
  if (!hasRank(rank) || argument < 0 || argument >= program.argument_count)
    return keep({"there is no such argument", RG_ERROR_ARGUMENT});
  if (program.arguments[argument].on_host)
    return keep(
        downloadFromHost(rank, ranks[size_t(rank)]->getArgument(argument),
                         rg_value_bytes(&program.arguments[argument]), data));
  return keep(download(rank, ranks[size_t(rank)]->getArgument(argument),
                       rg_value_bytes(&program.arguments[argument]), data));
}

rg_status GpuExecutor::gather(const char *data, int64_t bytes,
                              char *const *parts) {
  if (!rankGather || bytes < 0)
    return keep({"the process is no rank of a job", RG_ERROR_ARGUMENT});
  if (Failure reason = rankGather->gather(data, bytes, parts))
    return keep({reason.getMessage(), RG_ERROR_TIMEOUT});
  return RG_OK;
}

rg_status GpuExecutor::agreeToStop(int64_t step, bool wants, int32_t *stops) {
  if (callerStore)
    return keep({"the caller's ranks agree by themselves", RG_ERROR_ARGUMENT});
  // Ranks of one process have nobody to agree with, nor has one without store.
  Result<bool> isAgreed = wants;
  if (isJob)
    isAgreed = store.agreeToStop(step, wants);
  if (!isAgreed)
    return keep({isAgreed.getMessage(), RG_ERROR_TIMEOUT});
  *stops = *isAgreed ? 1 : 0;
  return RG_OK;
}

int64_t GpuExecutor::findTouchedBytes() {
  if (!watchesArena || hasFailed())
    return -1;
  int64_t touched = 0;
  std::vector<unsigned char> bytes(size_t(program.arena_bytes));
  for (int32_t rank = 0; rank < numRanks; ++rank) {
    if (keep(download(rank, ranks[size_t(rank)]->getArena(),
                      program.arena_bytes, bytes.data())))
      return -1;
    int64_t end = program.arena_bytes;
    while (end > touched && bytes[size_t(end - 1)] == (kPattern & 0xff))
      --end;
    touched = std::max(touched, end);
  }
  return getTouchedArena(program, touched);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Failure GpuExecutor::beginStep() {
  // In a job, the watchdog of communication notices first, which can say more.
  constexpr double kWatchdogSeconds = 30;
  wait->setTimeout((isFirstStep ? firstTimeout : timeout) +
                   (isJob ? kWatchdogSeconds : 0));
  isWarmingUp = isFirstStep;
  isFirstStep = false;
  stand(0, -1);
  for (int32_t rank = 0; rank < numRanks; ++rank) {
    stand(rank, -1);
    if (Failure reason = walkers[size_t(rank)]->begin())
      return reason;
  }
  communicator->beginStep();
  return Failure();
}

Result<WalkState> GpuExecutor::advance() {
  std::optional<WalkState> state;
  for (int32_t rank = 0; rank < numRanks; ++rank) {
    StepWalker &walker = *walkers[size_t(rank)];
    Result<WalkState> reached = walker.advance();
    stand(rank, walker.getInstruction());
    if (!reached)
      return reached;
    if (state && *reached != *state)
      return Failure("one rank starts a transfer where another one ends",
                     RG_ERROR_MISMATCH);
    state = *reached;
  }
  return *state;
}

Failure GpuExecutor::beginGraph() {
  int64_t graph = walkers[0]->getGraph();
  bool isCaptured = graphs->isCaptured(graph);
  const rg_gpu_graph &table = programs.graphs[graph];
  stand(0, table.first);
  // First, since a launch may wait.
  for (int64_t i = table.first; isCaptured && i < table.end; ++i)
    if (program.instructions[i].opcode == RG_OP_COLLECTIVE)
      communicator->replay(i);
  Failure reason;
  if (isCaptured)
    reason = graphs->launch(graph);
  else if (!isWarmingUp)
    reason = graphs->begin();
  if (reason)
    return reason;
  for (const std::unique_ptr<StepWalker> &walker : walkers)
    isCaptured ? walker->skipGraph() : walker->enterGraph();
  return Failure();
}

Failure GpuExecutor::endGraph() {
  if (!graphs->isCapturing())
    return Failure();
  int64_t graph = walkers[0]->getGraph();
  stand(0, programs.graphs[graph].first);
  Failure reason = graphs->end(graph);
  // What was captured has not run.
  return reason ? reason : graphs->launch(graph);
}

Failure GpuExecutor::walkStep() {
  // All ranks start a collective before one of them goes on.
  for (;;) {
    Result<WalkState> state = advance();
    if (!state)
      return state.getFailure();
    Failure reason;
    if (*state == WalkState::End)
      return reason;
    if (*state == WalkState::GraphBegin)
      reason = beginGraph();
    else if (*state == WalkState::GraphEnd)
      reason = endGraph();
    if (reason)
      return reason;
  }
}

Failure GpuExecutor::awaitRanks() {
  for (int32_t rank = 0; rank < numRanks; ++rank) {
    stand(rank, -1);
    if (Failure reason = wait->wait(ranks[size_t(rank)]->getStream(0)))
      return reason;
  }
  return Failure();
}

Failure GpuExecutor::readSpans() {
  for (const std::unique_ptr<StepSpans> &own : spans)
    if (Failure reason = own->read(ranks[0]->getBegin()))
      return reason;
  return Failure();
}

Failure GpuExecutor::endStep(const rg_gpu_copies &copies) {
  for (int32_t rank = 0; rank < numRanks; ++rank) {
    stand(rank, -1);
    if (Failure reason = walkers[size_t(rank)]->finish())
      return reason;
  }
  // A copy to memory of the host waits without a limit.
  Failure reason = awaitRanks();
  if (!reason)
    reason = readSpans();
  if (!reason)
    reason = copyResults(copies);
  if (!reason)
    reason = copyUpdates(copies);
  if (!reason && (copies.result_count || copies.update_count))
    reason = awaitRanks();
  if (!reason)
    communicator->endStep();
  return reason;
}

rg_status GpuExecutor::run(const rg_gpu_copies &copies) {
  if (hasFailed())
    return RG_ERROR_ABORTED;
  Failure reason = checkCopies(copies);
  if (!reason)
    reason = makeUpdateMemory(copies);
  if (!reason)
    reason = copyArguments(copies);
  if (!reason)
    reason = beginStep();
  if (!reason)
    reason = walkStep();
  if (!reason)
    reason = endStep(copies);
  if (!reason) {
    failure = {RG_OK, 0, -1};
    return RG_OK;
  }
  rg_status status = keep(reason);
  failure.status = status;
  // NCCL does not end a communicator while a graph holds its collectives.
  if (graphs)
    graphs->destroy();
  communicator->abort(reason.getMessage());
  communicator->endStep();
  return status;
}
