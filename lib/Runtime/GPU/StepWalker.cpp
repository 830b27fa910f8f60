//===- StepWalker.cpp - Enqueues the step of a rank -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepWalker.h"

#include "SliceAccess.h"

#include <algorithm>
#include <cstring>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

StepWalker::StepWalker(const StepResources &resources, DeviceRank &rank,
                       StepSpans *spans)
    : resources(resources), program(*resources.program.program),
      driver(resources.device.getDriver()), rank(rank), spans(spans),
      walker(program, rank.getRank(), *this),
      isRecorded(size_t(program.event_count)), buffers(getMostSlices(program)) {
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

Failure StepWalker::begin() {
  walker.begin();
  nextGraph = 0;
  inGraph = false;
  if (spans)
    spans->beginStep();
  std::fill(isRecorded.begin(), isRecorded.end(), false);
  NvtxRange range({rank.getRank(), getInstruction(), "begin of the step"});
  Failure failure = rank.recordBegin();
  return failure ? failure : rank.forkStreams();
}

Failure StepWalker::finish() {
  walker.finish();
  NvtxRange range({rank.getRank(), getInstruction(), "end of the step"});
  Failure failure = rank.joinStreams();
  return failure ? failure : rank.recordEnd();
}

bool StepWalker::isAtGraph(WalkState &state) {
  if (nextGraph == resources.program.graph_count)
    return false;
  const rg_gpu_graph &table = resources.program.graphs[nextGraph];
  if (walker.getNext() != (inGraph ? table.end : table.first))
    return false;
  state = inGraph ? WalkState::GraphEnd : WalkState::GraphBegin;
  graph = nextGraph;
  if (inGraph) {
    inGraph = false;
    ++nextGraph;
  }
  return true;
}

void StepWalker::skipGraph() {
  walker.skipTo(resources.program.graphs[nextGraph++].end);
}

Result<WalkState> StepWalker::advance() {
  // Work of a collective is enqueued until all ranks have come to it.
  if (Failure failure = endSpan())
    return failure;
  for (;;) {
    WalkState state = WalkState::End;
    if (isAtGraph(state) || walker.isAtEnd())
      return state;
    int64_t number = walker.getNext();
    const rg_instruction &instruction = program.instructions[number];
    resolve(instruction);
    NvtxRange range({rank.getRank(), number, instruction.description},
                    getMemory(instruction));
    if (Failure failure = beginSpan(number))
      return failure;
    if (Failure failure = walker.advance())
      return failure;
    if (instruction.opcode == RG_OP_COLLECTIVE)
      return WalkState::Collective;
    if (Failure failure = endSpan())
      return failure;
  }
}

/// True for what a stream computes or moves.
static bool isWork(const rg_instruction &instruction) {
  switch (instruction.opcode) {
  case RG_OP_LAUNCH:
  case RG_OP_GEMM:
  case RG_OP_ATTENTION:
  case RG_OP_CONVOLUTION:
  case RG_OP_COPY:
  case RG_OP_FILL:
  case RG_OP_COLLECTIVE:
    return true;
  default:
    return false;
  }
}

Failure StepWalker::beginSpan(int64_t number) {
  const rg_instruction &instruction = program.instructions[number];
  return spans && isWork(instruction)
             ? spans->begin(number, rank.getStream(instruction.stream))
             : Failure();
}

void StepWalker::resolve(const rg_instruction &instruction) {
  const rg_slice *slices = getSlices(instruction);
  for (int32_t i = 0; i < instruction.slice_count; ++i)
    buffers[size_t(i)] = rank.resolve(slices[i]);
}

WorkMemory StepWalker::getMemory(const rg_instruction &instruction) const {
  WorkMemory memory;
  if (!NvtxRange::isObserved())
    return memory;
  const rg_slice *slices = getSlices(instruction);
  for (int32_t i = 0; i < instruction.slice_count; ++i) {
    DeviceRange range = {buffers[size_t(i)], uint64_t(slices[i].bytes)};
    SliceAccess access = getSliceAccess(resources.program, instruction, i);
    if (access.isRead)
      memory.reads.push_back(range);
    if (access.isWritten)
      memory.writes.push_back(range);
  }
  const rg_gpu_kernel *kernel = findKernel(instruction);
  if (kernel && kernel->scratch_bytes)
    memory.scratch.push_back(
        {rank.getScratch(instruction.stream), uint64_t(kernel->scratch_bytes)});
  return memory;
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

const rg_gpu_kernel *
StepWalker::findKernel(const rg_instruction &instruction) const {
  const rg_gpu_program &tables = resources.program;
  if (instruction.opcode == RG_OP_LAUNCH)
    return &tables.kernels[instruction.index];
  if (instruction.opcode != RG_OP_GEMM && instruction.opcode != RG_OP_ATTENTION)
    return nullptr;
  if (resources.library.computes(instruction))
    return nullptr;
  return instruction.opcode == RG_OP_GEMM
             ? &tables.gemms[instruction.index]
             : &tables.attentions[instruction.index];
}

Failure StepWalker::compute(const rg_instruction &instruction) {
  CuAddress scratch = rank.getScratch(instruction.stream);
  CuStream stream = rank.getStream(instruction.stream);
  if (const rg_gpu_kernel *kernel = findKernel(instruction))
    return resources.kernels.launch(*kernel, buffers.data(),
                                    instruction.slice_count, scratch, stream);
  return resources.library.run(instruction, buffers.data(), scratch, stream);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Failure StepWalker::copyBytes(CuAddress target, CuAddress source, int64_t bytes,
                              int32_t stream) {
  return check(driver.cuMemcpyDtoDAsync_v2(target, source, size_t(bytes),
                                           rank.getStream(stream)),
               "cuMemcpyDtoDAsync");
}

Failure StepWalker::setMemory(CuAddress target, int64_t width, uint32_t value,
                              int64_t count, int32_t stream) {
  CuStream on = rank.getStream(stream);
  if (width == 1)
    return check(driver.cuMemsetD8Async(target,
                                        static_cast<unsigned char>(value),
                                        size_t(count), on),
                 "cuMemsetD8Async");
  if (width == 2)
    return check(driver.cuMemsetD16Async(target,
                                         static_cast<unsigned short>(value),
                                         size_t(count), on),
                 "cuMemsetD16Async");
  return check(driver.cuMemsetD32Async(target, value, size_t(count), on),
               "cuMemsetD32Async");
}

Failure StepWalker::copy(const rg_instruction &instruction) {
  int64_t bytes = getSlices(instruction)[0].bytes;
  // Bytes that stay where they are.
  if (bytes == 0 || buffers[0] == buffers[1])
    return Failure();
  const rg_slice *slices = getSlices(instruction);
  CuStream stream = rank.getStream(instruction.stream);
  auto getPointer = [](CuAddress address) {
    return reinterpret_cast<void *>(uintptr_t(address));
  };
  if (rg_slice_on_host(&program, &slices[0]))
    return check(driver.cuMemcpyDtoHAsync_v2(getPointer(buffers[0]), buffers[1],
                                             size_t(bytes), stream),
                 "cuMemcpyDtoHAsync");
  if (rg_slice_on_host(&program, &slices[1]))
    return check(driver.cuMemcpyHtoDAsync_v2(buffers[0], getPointer(buffers[1]),
                                             size_t(bytes), stream),
                 "cuMemcpyHtoDAsync");
  return copyBytes(buffers[0], buffers[1], bytes, instruction.stream);
}

/// The shortest pattern that repeats to the given bytes: of 1, 2 or 4 bytes; 0
/// if there is none.
static int64_t getPeriod(const char *element, int64_t bytes) {
  for (int64_t period : {1, 2, 4})
    if (period <= bytes && bytes % period == 0 &&
        std::memcmp(element, element + period, size_t(bytes - period)) == 0)
      return period;
  return 0;
}

Failure StepWalker::fill(const rg_instruction &instruction) {
  const rg_slice *slices = getSlices(instruction);
  const rg_slice &element = slices[1];
  int64_t bytes = slices[0].bytes;
  if (bytes == 0)
    return Failure();
  if (element.space == RG_SPACE_CONSTANT) {
    const char *data =
        static_cast<const char *>(program.constants[element.index].data) +
        element.offset;
    // Little endian: the low bytes come first.
    uint32_t pattern = 0;
    int64_t period = getPeriod(data, element.bytes);
    std::memcpy(&pattern, data, size_t(period));
    if (period)
      return setMemory(buffers[0], period, pattern, bytes / period,
                       instruction.stream);
  }
  return fillByDoubling(
      bytes, element.bytes, [&](int64_t at, int64_t from, int64_t length) {
        return copyBytes(buffers[0] + CuAddress(at),
                         from < 0 ? buffers[1] : buffers[0] + CuAddress(from),
                         length, instruction.stream);
      });
}

Failure StepWalker::writeInteger(const rg_slice &slice, int64_t value,
                                 int32_t stream) {
  // The value is part of the call, so that no memory of the host has to wait
  // until it is read.
  CuAddress target = rank.resolve(slice);
  auto bits = static_cast<uint64_t>(value);
  int64_t width = std::min<int64_t>(slice.bytes, sizeof(uint32_t));
  Failure failure;
  for (int64_t at = 0; !failure && at < slice.bytes; at += width)
    failure = setMemory(target + CuAddress(at), width,
                        static_cast<uint32_t>(bits >> 8 * at), 1, stream);
  return failure;
}

Result<int64_t> StepWalker::readInteger(const rg_slice &slice) {
  CuStream stream = rank.getStream(0);
  int64_t bytes = std::min<int64_t>(slice.bytes, sizeof(int64_t));
  // A copy to other memory would wait for the device, for however long.
  uint64_t &bits = *rank.getHostValue();
  if (Failure failure =
          check(driver.cuMemcpyDtoHAsync_v2(&bits, rank.resolve(slice),
                                            size_t(bytes), stream),
                "cuMemcpyDtoHAsync"))
    return failure;
  if (Failure failure = resources.wait.wait(stream))
    return failure;
  // Integers are signed.
  int64_t unused = 64 - 8 * bytes;
  return static_cast<int64_t>(bits << unused) >> unused;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

Failure StepWalker::startCollective(const rg_instruction &instruction) {
  return resources.communicator.start(rank.getRank(), getInstruction(),
                                      buffers.data(),
                                      rank.getStream(instruction.stream));
}

Failure StepWalker::record(const rg_instruction &instruction) {
  isRecorded[size_t(instruction.index)] = true;
  return check(driver.cuEventRecord(rank.getEvent(instruction.index),
                                    rank.getStream(instruction.stream)),
               "cuEventRecord");
}

Failure StepWalker::wait(const rg_instruction &instruction) {
  // What an earlier step recorded is over.
  if (!isRecorded[size_t(instruction.index)])
    return Failure();
  return check(driver.cuStreamWaitEvent(rank.getStream(instruction.stream),
                                        rank.getEvent(instruction.index), 0),
               "cuStreamWaitEvent");
}

Failure StepWalker::sync() {
  Failure failure = rank.joinStreams();
  return failure ? failure : rank.forkStreams();
}
