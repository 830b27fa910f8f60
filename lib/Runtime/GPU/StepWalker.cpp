//===- StepWalker.cpp - Enqueues the step of a rank -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepWalker.h"

#include "Program/RankGroups.h"
#include "SliceAccess.h"

#include <algorithm>
#include <cstring>

using namespace regather::runtime;

StepWalker::StepWalker(const StepResources &resources, DeviceRank &rank)
    : resources(resources), program(*resources.program.program),
      driver(resources.device.getDriver()), rank(rank),
      loops(size_t(program.loop_count)),
      isRecorded(size_t(program.event_count)) {
  int32_t mostSlices = 0;
  for (int64_t i = 0; i < program.instruction_count; ++i)
    mostSlices = std::max(mostSlices, program.instructions[i].slice_count);
  buffers.resize(size_t(mostSlices));
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

bool StepWalker::begin(std::string &message) {
  next = 0;
  current = -1;
  nextGraph = 0;
  inGraph = false;
  status = RG_OK;
  std::fill(isRecorded.begin(), isRecorded.end(), false);
  NvtxRange range({rank.getRank(), current, "begin of the step"});
  return rank.recordBegin(message) && rank.forkStreams(message);
}

bool StepWalker::finish(std::string &message) {
  current = -1;
  NvtxRange range({rank.getRank(), current, "end of the step"});
  return rank.joinStreams(message) && rank.recordEnd(message);
}

bool StepWalker::isAtGraph(WalkState &state) {
  if (nextGraph == resources.program.graph_count)
    return false;
  const rg_gpu_graph &table = resources.program.graphs[nextGraph];
  if (next != (inGraph ? table.end : table.first))
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
  next = resources.program.graphs[nextGraph++].end;
}

WalkState StepWalker::advance(std::string &message) {
  for (;;) {
    WalkState state = WalkState::End;
    if (isAtGraph(state))
      return state;
    if (next >= program.instruction_count)
      return WalkState::End;
    current = next++;
    const rg_instruction &instruction = program.instructions[current];
    resolve(instruction);
    NvtxRange range({rank.getRank(), current, instruction.description},
                    getMemory(instruction));
    if (!issue(instruction, next, message)) {
      if (status == RG_OK)
        status = RG_ERROR_DEVICE;
      return WalkState::Failed;
    }
    if (instruction.opcode == RG_OP_COLLECTIVE)
      return WalkState::Collective;
  }
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

bool StepWalker::issue(const rg_instruction &instruction, int64_t &target,
                       std::string &message) {
  switch (instruction.opcode) {
  case RG_OP_LAUNCH:
  case RG_OP_GEMM:
  case RG_OP_ATTENTION:
    return compute(instruction, message);
  case RG_OP_COLLECTIVE:
    return resources.communication.start(
        rank.getRank(), current, buffers.data(),
        rank.getStream(instruction.stream), message);
  case RG_OP_RECORD:
    return record(instruction, message);
  case RG_OP_WAIT:
    return wait(instruction, message);
  case RG_OP_COPY:
    return copy(instruction, message);
  case RG_OP_FILL:
    return fill(instruction, message);
  case RG_OP_AXIS_INDEX:
    return writeAxisIndex(instruction, message);
  case RG_OP_SYNC:
    return rank.joinStreams(message) && rank.forkStreams(message);
  default:
    return control(instruction, target, message);
  }
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

bool StepWalker::launch(const rg_instruction &instruction,
                        const rg_gpu_kernel &kernel, std::string &message) {
  return resources.kernels.launch(kernel, buffers.data(),
                                  instruction.slice_count,
                                  rank.getScratch(instruction.stream),
                                  rank.getStream(instruction.stream), message);
}

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

bool StepWalker::compute(const rg_instruction &instruction,
                         std::string &message) {
  if (const rg_gpu_kernel *kernel = findKernel(instruction))
    return launch(instruction, *kernel, message);
  return resources.library.run(instruction, buffers.data(),
                               rank.getScratch(instruction.stream),
                               rank.getStream(instruction.stream), message);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

bool StepWalker::copy(const rg_instruction &instruction, std::string &message) {
  int64_t bytes = getSlices(instruction)[0].bytes;
  // Bytes that stay where they are.
  if (bytes == 0 || buffers[0] == buffers[1])
    return true;
  return check(driver.cuMemcpyDtoDAsync_v2(buffers[0], buffers[1],
                                           size_t(bytes),
                                           rank.getStream(instruction.stream)),
               "cuMemcpyDtoDAsync", message);
}

/// The shortest pattern that repeats to the given bytes: of 1, 2 or 4 bytes, or
/// of all.
static int64_t getPeriod(const char *element, int64_t bytes) {
  for (int64_t period : {1, 2, 4})
    if (period <= bytes && bytes % period == 0 &&
        std::memcmp(element, element + period, size_t(bytes - period)) == 0)
      return period;
  return bytes;
}

bool StepWalker::fill(const rg_instruction &instruction, std::string &message) {
  const rg_slice *slices = getSlices(instruction);
  const rg_slice &element = slices[1];
  if (slices[0].bytes == 0)
    return true;
  if (element.space != RG_SPACE_CONSTANT)
    return fillByDoubling(instruction, message);
  const char *data =
      static_cast<const char *>(program.constants[element.index].data) +
      element.offset;
  int64_t period = getPeriod(data, element.bytes);
  size_t count = size_t(slices[0].bytes / period);
  CuStream stream = rank.getStream(instruction.stream);
  // Little endian: the low bytes come first.
  uint32_t pattern = 0;
  if (period <= 4)
    std::memcpy(&pattern, data, size_t(period));
  switch (period) {
  case 1:
    return check(driver.cuMemsetD8Async(buffers[0],
                                        static_cast<unsigned char>(pattern),
                                        count, stream),
                 "cuMemsetD8Async", message);
  case 2:
    return check(driver.cuMemsetD16Async(buffers[0],
                                         static_cast<unsigned short>(pattern),
                                         count, stream),
                 "cuMemsetD16Async", message);
  case 4:
    return check(driver.cuMemsetD32Async(buffers[0], pattern, count, stream),
                 "cuMemsetD32Async", message);
  default:
    return fillByDoubling(instruction, message);
  }
}

bool StepWalker::fillByDoubling(const rg_instruction &instruction,
                                std::string &message) {
  const rg_slice *slices = getSlices(instruction);
  CuStream stream = rank.getStream(instruction.stream);
  CuAddress source = buffers[1];
  int64_t length = slices[1].bytes;
  for (int64_t done = 0; done < slices[0].bytes; done += length) {
    if (done) {
      source = buffers[0];
      length = std::min(done, slices[0].bytes - done);
    }
    if (!check(driver.cuMemcpyDtoDAsync_v2(buffers[0] + CuAddress(done), source,
                                           size_t(length), stream),
               "cuMemcpyDtoDAsync", message))
      return false;
  }
  return true;
}

bool StepWalker::writeAxisIndex(const rg_instruction &instruction,
                                std::string &message) {
  return writeInteger(
      getSlices(instruction)[0],
      getPosition(program.axes[instruction.index], rank.getRank()),
      rank.getStream(instruction.stream), message);
}

bool StepWalker::writeInteger(const rg_slice &slice, int64_t value,
                              CuStream stream, std::string &message) {
  // The value is part of the call, so that no memory of the host has to wait
  // until it is read.
  CuAddress target = rank.resolve(slice);
  auto bits = static_cast<uint64_t>(value);
  if (slice.bytes == 1)
    return check(driver.cuMemsetD8Async(
                     target, static_cast<unsigned char>(bits), 1, stream),
                 "cuMemsetD8Async", message);
  if (slice.bytes == 2)
    return check(driver.cuMemsetD16Async(
                     target, static_cast<unsigned short>(bits), 1, stream),
                 "cuMemsetD16Async", message);
  for (int64_t i = 0; i < slice.bytes / 4; ++i)
    if (!check(driver.cuMemsetD32Async(target + 4 * CuAddress(i),
                                       static_cast<unsigned>(bits >> 32 * i), 1,
                                       stream),
               "cuMemsetD32Async", message))
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

bool StepWalker::record(const rg_instruction &instruction,
                        std::string &message) {
  isRecorded[size_t(instruction.index)] = true;
  return check(driver.cuEventRecord(rank.getEvent(instruction.index),
                                    rank.getStream(instruction.stream)),
               "cuEventRecord", message);
}

bool StepWalker::wait(const rg_instruction &instruction, std::string &message) {
  // What an earlier step recorded is over.
  if (!isRecorded[size_t(instruction.index)])
    return true;
  return check(driver.cuStreamWaitEvent(rank.getStream(instruction.stream),
                                        rank.getEvent(instruction.index), 0),
               "cuStreamWaitEvent", message);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

bool StepWalker::readInteger(const rg_slice &slice, int64_t &value,
                             std::string &message) {
  CuStream stream = rank.getStream(0);
  int64_t bytes = std::min<int64_t>(slice.bytes, sizeof(value));
  // A copy to other memory would wait for the device, for however long.
  uint64_t &bits = *rank.getHostValue();
  if (!check(driver.cuMemcpyDtoHAsync_v2(&bits, rank.resolve(slice),
                                         size_t(bytes), stream),
             "cuMemcpyDtoHAsync", message))
    return false;
  status = resources.wait.wait(stream, message);
  if (status != RG_OK)
    return false;
  // Integers are signed.
  int64_t unused = 64 - 8 * bytes;
  value = static_cast<int64_t>(bits << unused) >> unused;
  return true;
}

bool StepWalker::control(const rg_instruction &instruction, int64_t &target,
                         std::string &message) {
  const rg_slice *slices = getSlices(instruction);
  bool isTaken = true, hasValue = false;
  int64_t value = 0;
  switch (instruction.opcode) {
  case RG_OP_JUMP_IF_ZERO:
    if (!readInteger(slices[0], value, message))
      return false;
    isTaken = value == 0;
    break;
  case RG_OP_LOOP: {
    Loop &loop = loops[size_t(instruction.index)];
    if (!readInteger(slices[1], loop.value, message) ||
        !readInteger(slices[2], loop.upper, message) ||
        !readInteger(slices[3], loop.step, message))
      return false;
    isTaken = loop.value >= loop.upper || loop.step <= 0;
    hasValue = !isTaken;
    value = loop.value;
    break;
  }
  case RG_OP_NEXT: {
    Loop &loop = loops[size_t(instruction.index)];
    isTaken = !__builtin_add_overflow(loop.value, loop.step, &loop.value) &&
              loop.value < loop.upper;
    hasValue = isTaken;
    value = loop.value;
    break;
  }
  default:
    break;
  }
  if (hasValue && !writeInteger(slices[0], value, rank.getStream(0), message))
    return false;
  if (isTaken)
    target = instruction.target;
  return true;
}
