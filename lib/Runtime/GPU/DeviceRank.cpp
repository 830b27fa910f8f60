//===- DeviceRank.cpp - What a rank has on a device -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceRank.h"

#include <algorithm>

using namespace regather::runtime;

/// What the driver aligns allocations to; parts of one are aligned alike.
static constexpr int64_t kAlignment = 256;

static int64_t align(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

//===----------------------------------------------------------------------===//
// Need
//===----------------------------------------------------------------------===//

static bool computes(const rg_instruction &instruction) {
  return instruction.opcode == RG_OP_LAUNCH ||
         instruction.opcode == RG_OP_GEMM ||
         instruction.opcode == RG_OP_ATTENTION;
}

/// Which streams compute.
static std::vector<bool> findComputing(const rg_program &program) {
  std::vector<bool> found(size_t(program.stream_count));
  for (int64_t i = 0; i < program.instruction_count; ++i)
    if (computes(program.instructions[i]))
      found[size_t(program.instructions[i].stream)] = true;
  return found;
}

/// Which streams collective, but for stream 0, where the step computes.
static std::vector<bool> findCommunicating(const rg_program &program) {
  std::vector<bool> found(size_t(program.stream_count));
  for (int64_t i = 0; i < program.instruction_count; ++i) {
    const rg_instruction &instruction = program.instructions[i];
    if (instruction.opcode == RG_OP_COLLECTIVE && instruction.stream != 0)
      found[size_t(instruction.stream)] = true;
  }
  return found;
}

static int64_t getMostScratch(const rg_gpu_kernel *kernels, int64_t count) {
  int64_t most = 0;
  for (int64_t i = 0; i < count; ++i)
    most = std::max(most, kernels[i].scratch_bytes);
  return most;
}

MemoryNeed regather::runtime::getMemoryNeed(const rg_gpu_program &gpu,
                                            int64_t workspace) {
  const rg_program &program = *gpu.program;
  MemoryNeed need;
  need.arena = align(program.arena_bytes);
  for (int64_t i = 0; i < program.argument_count; ++i)
    need.arguments += align(rg_value_bytes(&program.arguments[i]));
  for (int64_t i = 0; i < program.constant_count; ++i)
    need.constants += align(program.constants[i].bytes);
  need.scratchPerStream = align(
      std::max({workspace, getMostScratch(gpu.kernels, program.kernel_count),
                getMostScratch(gpu.gemms, program.gemm_count),
                getMostScratch(gpu.attentions, program.attention_count)}));
  for (bool isComputing : findComputing(program))
    need.scratch += isComputing ? need.scratchPerStream : 0;
  return need;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

bool DeviceConstants::upload(const GpuDevice &device, const rg_program &program,
                             CuStream stream, std::string &message) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < program.constant_count; ++i)
    bytes += align(program.constants[i].bytes);
  if (!memory.allocate(device, bytes, message))
    return false;
  CuAddress next = memory.getAddress();
  for (int64_t i = 0; i < program.constant_count; ++i) {
    const rg_constant &constant = program.constants[i];
    addresses.push_back(next);
    next += CuAddress(align(constant.bytes));
    if (constant.bytes && !device.check(device.getDriver().cuMemcpyHtoDAsync_v2(
                                            addresses.back(), constant.data,
                                            size_t(constant.bytes), stream),
                                        "cuMemcpyHtoDAsync", message))
      return false;
  }
  return device.check(device.getDriver().cuStreamSynchronize(stream),
                      "cuStreamSynchronize", message);
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

DeviceRank::~DeviceRank() {
  const DriverApi &driver = device.getDriver();
  for (std::vector<CuEvent> *list : {&events, &joints})
    for (CuEvent event : *list)
      driver.cuEventDestroy_v2(event);
  for (CuEvent event : {begin, end})
    if (event)
      driver.cuEventDestroy_v2(event);
  for (CuStream stream : streams)
    driver.cuStreamDestroy_v2(stream);
  if (hostValue)
    driver.cuMemFreeHost(hostValue);
}

bool DeviceRank::createEvent(CuEvent &event, unsigned flags,
                             std::string &message) {
  return device.check(device.getDriver().cuEventCreate(&event, flags),
                      "cuEventCreate", message);
}

bool DeviceRank::createStreams(std::string &message) {
  const DriverApi &driver = device.getDriver();
  int least = 0, greatest = 0;
  if (!device.check(driver.cuCtxGetStreamPriorityRange(&least, &greatest),
                    "cuCtxGetStreamPriorityRange", message))
    return false;
  std::vector<bool> isCommunicating = findCommunicating(program);
  for (int32_t i = 0; i < program.stream_count; ++i) {
    CuStream stream = nullptr;
    // The few blocks of a collective would else come behind all blocks of a
    // kernel that runs beside it.
    int priority = isCommunicating[size_t(i)] ? greatest : least;
    if (!device.check(driver.cuStreamCreateWithPriority(
                          &stream, kCuStreamNonBlocking, priority),
                      "cuStreamCreateWithPriority", message))
      return false;
    streams.push_back(stream);
    CuEvent joint = nullptr;
    if (!createEvent(joint, kCuEventDisableTiming, message))
      return false;
    joints.push_back(joint);
  }
  for (int32_t i = 0; i < program.event_count; ++i) {
    CuEvent event = nullptr;
    if (!createEvent(event, kCuEventDisableTiming, message))
      return false;
    events.push_back(event);
  }
  void *memory = nullptr;
  if (!device.check(
          device.getDriver().cuMemHostAlloc(&memory, sizeof(*hostValue), 0),
          "cuMemHostAlloc", message))
    return false;
  hostValue = static_cast<uint64_t *>(memory);
  return createEvent(begin, 0, message) && createEvent(end, 0, message);
}

bool DeviceRank::allocate(const MemoryNeed &need,
                          DeviceCommunicator &communication,
                          std::string &message) {
  if (!communication.allocate(need.arena, arena, message) ||
      !argumentMemory.allocate(device, need.arguments, message) ||
      !scratchMemory.allocate(device, need.scratch, message))
    return false;
  CuAddress next = argumentMemory.getAddress();
  for (int64_t i = 0; i < program.argument_count; ++i) {
    arguments.push_back(next);
    next += CuAddress(align(rg_value_bytes(&program.arguments[i])));
  }
  next = scratchMemory.getAddress();
  for (bool isComputing : findComputing(program)) {
    scratch.push_back(isComputing ? next : 0);
    next += isComputing ? CuAddress(need.scratchPerStream) : 0;
  }
  return true;
}

bool DeviceRank::create(const MemoryNeed &need,
                        DeviceCommunicator &communication,
                        std::string &message) {
  return createStreams(message) && allocate(need, communication, message);
}

CuAddress DeviceRank::resolve(const rg_slice &slice) const {
  CuAddress base = arena;
  if (slice.space == RG_SPACE_ARGUMENT)
    base = arguments[size_t(slice.index)];
  else if (slice.space == RG_SPACE_CONSTANT)
    base = constants.getAddress(slice.index);
  return base + CuAddress(slice.offset);
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

bool DeviceRank::recordJoint(int32_t stream, std::string &message) {
  return device.check(device.getDriver().cuEventRecord(joints[size_t(stream)],
                                                       getStream(stream)),
                      "cuEventRecord", message);
}

bool DeviceRank::waitForJoint(int32_t stream, int32_t other,
                              std::string &message) {
  return device.check(device.getDriver().cuStreamWaitEvent(
                          getStream(stream), joints[size_t(other)], 0),
                      "cuStreamWaitEvent", message);
}

bool DeviceRank::forkStreams(std::string &message) {
  if (getNumStreams() > 1 && !recordJoint(0, message))
    return false;
  for (int32_t i = 1; i < getNumStreams(); ++i)
    if (!waitForJoint(i, 0, message))
      return false;
  return true;
}

bool DeviceRank::joinStreams(std::string &message) {
  for (int32_t i = 1; i < getNumStreams(); ++i)
    if (!recordJoint(i, message) || !waitForJoint(0, i, message))
      return false;
  return true;
}

bool DeviceRank::recordBegin(std::string &message) {
  return device.check(device.getDriver().cuEventRecord(begin, getStream(0)),
                      "cuEventRecord", message);
}

bool DeviceRank::recordEnd(std::string &message) {
  return device.check(device.getDriver().cuEventRecord(end, getStream(0)),
                      "cuEventRecord", message);
}

double DeviceRank::getSeconds() const {
  float milliseconds = 0;
  CuResult result =
      device.getDriver().cuEventElapsedTime(&milliseconds, begin, end);
  return result == kCuSuccess ? double(milliseconds) * 1e-3 : 0;
}
