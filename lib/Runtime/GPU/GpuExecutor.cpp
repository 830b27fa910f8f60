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

GpuExecutor::~GpuExecutor() {
  // Work that has not ended uses the memory. After a failure it might never.
  if (failure.status == RG_OK)
    for (const std::unique_ptr<DeviceRank> &rank : ranks)
      if (rank->getNumStreams())
        device.getDriver().cuStreamSynchronize(rank->getStream(0));
}

rg_status GpuExecutor::fail(rg_status status, const std::string &message) {
  if (error.empty())
    error = message;
  return status;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

rg_status GpuExecutor::synchronize(int32_t rank) {
  std::string message;
  CuStream stream = ranks[size_t(rank)]->getStream(0);
  return device.check(device.getDriver().cuStreamSynchronize(stream),
                      "cuStreamSynchronize", message)
             ? RG_OK
             : fail(RG_ERROR_DEVICE, message);
}

rg_status GpuExecutor::upload(int32_t rank, int64_t argument,
                              const void *data) {
  if (!hasRank(rank) || argument < 0 || argument >= program.argument_count)
    return fail(RG_ERROR_ARGUMENT, "there is no such argument");
  DeviceRank &state = *ranks[size_t(rank)];
  int64_t bytes = rg_value_bytes(&program.arguments[argument]);
  std::string message;
  if (bytes && !device.check(device.getDriver().cuMemcpyHtoDAsync_v2(
                                 state.getArgument(argument), data,
                                 size_t(bytes), state.getStream(0)),
                             "cuMemcpyHtoDAsync", message))
    return fail(RG_ERROR_DEVICE, message);
  return synchronize(rank);
}

rg_status GpuExecutor::download(int32_t rank, CuAddress address, int64_t bytes,
                                void *data) {
  std::string message;
  if (bytes && !device.check(device.getDriver().cuMemcpyDtoHAsync_v2(
                                 data, address, size_t(bytes),
                                 ranks[size_t(rank)]->getStream(0)),
                             "cuMemcpyDtoHAsync", message))
    return fail(RG_ERROR_DEVICE, message);
  return synchronize(rank);
}

rg_status GpuExecutor::downloadResult(int32_t rank, int64_t result,
                                      void *data) {
  if (!hasRank(rank) || result < 0 || result >= program.result_count)
    return fail(RG_ERROR_ARGUMENT, "there is no such result");
  const rg_slice &slice = program.results[result].slice;
  return download(rank, ranks[size_t(rank)]->resolve(slice), slice.bytes, data);
}

rg_status GpuExecutor::downloadArgument(int32_t rank, int64_t argument,
                                        void *data) {
  if (!hasRank(rank) || argument < 0 || argument >= program.argument_count)
    return fail(RG_ERROR_ARGUMENT, "there is no such argument");
  return download(rank, ranks[size_t(rank)]->getArgument(argument),
                  rg_value_bytes(&program.arguments[argument]), data);
}

rg_status GpuExecutor::gather(const char *data, int64_t bytes,
                              char *const *parts) {
  if (!rankGather || bytes < 0)
    return fail(RG_ERROR_ARGUMENT, "the process is no rank of a job");
  std::string message;
  return rankGather->gather(data, bytes, parts, message)
             ? RG_OK
             : fail(RG_ERROR_TIMEOUT, message);
}

rg_status GpuExecutor::agreeToStop(int64_t step, bool wants, int32_t *stops) {
  // Ranks of one process have nobody to agree with, nor has one without store.
  bool isAgreed = wants;
  std::string message;
  if (isJob && !store.agreeToStop(step, wants, isAgreed, message))
    return fail(RG_ERROR_TIMEOUT, message);
  *stops = isAgreed ? 1 : 0;
  return RG_OK;
}

int64_t GpuExecutor::findTouchedBytes() {
  if (!watchesArena || !error.empty())
    return -1;
  int64_t touched = 0;
  std::vector<unsigned char> bytes(size_t(program.arena_bytes));
  for (int32_t rank = 0; rank < numRanks; ++rank) {
    if (download(rank, ranks[size_t(rank)]->getArena(), program.arena_bytes,
                 bytes.data()))
      return -1;
    int64_t end = program.arena_bytes;
    while (end > touched && bytes[size_t(end - 1)] == (kPattern & 0xff))
      --end;
    touched = std::max(touched, end);
  }
  int64_t alignment = program.arena_alignment;
  return std::min((touched + alignment - 1) / alignment * alignment,
                  program.arena_bytes);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

rg_status GpuExecutor::failStep(rg_status status, int32_t rank,
                                int64_t instruction,
                                const std::string &message) {
  failure = {status, firstRank + rank, instruction};
  // NCCL does not end a communicator while a graph holds its collectives.
  if (graphs)
    graphs->destroy();
  communication->abort();
  communication->endStep();
  return fail(status, message);
}

rg_status GpuExecutor::beginStep() {
  // In a job, the watchdog of communication notices first, which can say more.
  constexpr double kWatchdogSeconds = 30;
  wait->setTimeout((isFirstStep ? firstTimeout : timeout) +
                   (isJob ? kWatchdogSeconds : 0));
  isWarmingUp = isFirstStep;
  isFirstStep = false;
  std::string message;
  if (!device.makeCurrent(message))
    return failStep(RG_ERROR_DEVICE, 0, -1, message);
  for (int32_t rank = 0; rank < numRanks; ++rank)
    if (!walkers[size_t(rank)]->begin(message))
      return failStep(RG_ERROR_DEVICE, rank, -1, message);
  communication->beginStep();
  return RG_OK;
}

rg_status GpuExecutor::advance(WalkState &state) {
  for (int32_t rank = 0; rank < numRanks; ++rank) {
    StepWalker &walker = *walkers[size_t(rank)];
    std::string message;
    WalkState reached = walker.advance(message);
    if (reached == WalkState::Failed)
      return failStep(walker.getStatus(), rank, walker.getInstruction(),
                      message);
    if (rank == 0)
      state = reached;
    if (reached != state)
      return failStep(RG_ERROR_MISMATCH, rank, walker.getInstruction(),
                      "one rank starts a transfer where another one ends");
  }
  return RG_OK;
}

rg_status GpuExecutor::beginGraph() {
  int64_t graph = walkers[0]->getGraph();
  std::string message;
  bool isCaptured = graphs->isCaptured(graph);
  const rg_gpu_graph &table = programs.graphs[graph];
  // First, since a launch may wait.
  for (int64_t i = table.first; isCaptured && i < table.end; ++i)
    if (program.instructions[i].opcode == RG_OP_COLLECTIVE)
      communication->replay(i);
  if (isCaptured ? !graphs->launch(graph, message)
                 : !isWarmingUp && !graphs->begin(message))
    return failStep(RG_ERROR_DEVICE, 0, table.first, message);
  for (const std::unique_ptr<StepWalker> &walker : walkers)
    isCaptured ? walker->skipGraph() : walker->enterGraph();
  return RG_OK;
}

rg_status GpuExecutor::endGraph() {
  if (!graphs->isCapturing())
    return RG_OK;
  int64_t graph = walkers[0]->getGraph();
  std::string message;
  // What was captured has not run.
  if (!graphs->end(graph, message) || !graphs->launch(graph, message))
    return failStep(RG_ERROR_DEVICE, 0, programs.graphs[graph].first, message);
  return RG_OK;
}

rg_status GpuExecutor::walkStep() {
  // All ranks start a collective before one of them goes on.
  WalkState state = WalkState::Collective;
  while (state != WalkState::End) {
    rg_status status = advance(state);
    if (status == RG_OK && state == WalkState::GraphBegin)
      status = beginGraph();
    else if (status == RG_OK && state == WalkState::GraphEnd)
      status = endGraph();
    if (status != RG_OK)
      return status;
  }
  return RG_OK;
}

rg_status GpuExecutor::endStep() {
  std::string message;
  for (int32_t rank = 0; rank < numRanks; ++rank)
    if (!walkers[size_t(rank)]->finish(message))
      return failStep(RG_ERROR_DEVICE, rank, -1, message);
  for (int32_t rank = 0; rank < numRanks; ++rank)
    if (rg_status status =
            wait->wait(ranks[size_t(rank)]->getStream(0), message))
      return failStep(status, rank, -1, message);
  communication->endStep();
  return RG_OK;
}

rg_status GpuExecutor::run() {
  if (!error.empty())
    return RG_ERROR_ABORTED;
  rg_status status = beginStep();
  if (status == RG_OK)
    status = walkStep();
  return status == RG_OK ? endStep() : status;
}
