//===- DeviceRank.cpp - What a rank has on a device -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceRank.h"

#include "Numeric/RoundUp.h"

#include <algorithm>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

/// What the driver aligns allocations to; parts of one are aligned alike.
static constexpr int64_t kAlignment = 256;

static int64_t align(int64_t bytes) { return roundUp(bytes, kAlignment); }

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

/// Which streams communicate, but for stream 0, where the step computes.
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

/// The memory of others for an argument; 0 for none.
static CuAddress getGiven(const ArgumentAddresses &given, int64_t argument) {
  return given.empty() ? 0 : given[size_t(argument)];
}

MemoryNeed regather::runtime::getMemoryNeed(const rg_gpu_program &gpu,
                                            int64_t workspace,
                                            const ArgumentAddresses &given) {
  const rg_program &program = *gpu.program;
  MemoryNeed need;
  need.arena = align(program.arena_bytes);
  for (int64_t i = 0; i < program.argument_count; ++i)
    if (!getGiven(given, i) && !program.arguments[i].on_host)
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

Failure DeviceConstants::upload(const GpuDevice &device,
                                const rg_program &program, CuStream stream) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < program.constant_count; ++i)
    bytes += align(program.constants[i].bytes);
  if (Failure failure = memory.allocate(device, bytes))
    return failure;
  CuAddress next = memory.getAddress();
  for (int64_t i = 0; i < program.constant_count; ++i) {
    const rg_constant &constant = program.constants[i];
    addresses.push_back(next);
    next += CuAddress(align(constant.bytes));
    if (constant.bytes == 0)
      continue;
    if (Failure failure = device.check(device.getDriver().cuMemcpyHtoDAsync_v2(
                                           addresses.back(), constant.data,
                                           size_t(constant.bytes), stream),
                                       "cuMemcpyHtoDAsync"))
      return failure;
  }
  return device.check(device.getDriver().cuStreamSynchronize(stream),
                      "cuStreamSynchronize");
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
  if (hostArena)
    driver.cuMemFreeHost(hostArena);
  for (void *memory : hostArguments)
    driver.cuMemFreeHost(memory);
}

Failure DeviceRank::createEvent(CuEvent &event, unsigned flags) {
  return device.check(device.getDriver().cuEventCreate(&event, flags),
                      "cuEventCreate");
}

/// And its joint.
Failure DeviceRank::createStream(bool isCommunicating, int least,
                                 int greatest) {
  CuStream stream = nullptr;
  // The few blocks of a collective would else come behind all blocks of a
  // kernel that runs beside it.
  if (Failure failure =
          device.check(device.getDriver().cuStreamCreateWithPriority(
                           &stream, kCuStreamNonBlocking,
                           isCommunicating ? greatest : least),
                       "cuStreamCreateWithPriority"))
    return failure;
  streams.push_back(stream);
  CuEvent joint = nullptr;
  if (Failure failure = createEvent(joint, kCuEventDisableTiming))
    return failure;
  joints.push_back(joint);
  return Failure();
}

Failure DeviceRank::createStreams() {
  int least = 0, greatest = 0;
  Failure failure = device.check(
      device.getDriver().cuCtxGetStreamPriorityRange(&least, &greatest),
      "cuCtxGetStreamPriorityRange");
  for (bool isCommunicating : findCommunicating(program))
    if (!failure)
      failure = createStream(isCommunicating, least, greatest);
  return failure;
}

Failure DeviceRank::createEvents() {
  for (int32_t i = 0; i < program.event_count; ++i) {
    CuEvent event = nullptr;
    if (Failure failure = createEvent(event, kCuEventDisableTiming))
      return failure;
    events.push_back(event);
  }
  void *memory = nullptr;
  if (Failure failure = device.check(
          device.getDriver().cuMemHostAlloc(&memory, sizeof(*hostValue), 0),
          "cuMemHostAlloc"))
    return failure;
  hostValue = static_cast<uint64_t *>(memory);
  Failure failure = createEvent(begin, 0);
  return failure ? failure : createEvent(end, 0);
}

Failure DeviceRank::allocateOnHost(int64_t bytes, void *&memory) {
  return device.check(
      device.getDriver().cuMemHostAlloc(&memory, size_t(bytes), 0),
      "cuMemHostAlloc");
}

/// Those of others lie where they are.
Failure DeviceRank::allocateArguments(const ArgumentAddresses &given) {
  CuAddress next = argumentMemory.getAddress();
  for (int64_t i = 0; i < program.argument_count; ++i) {
    int64_t bytes = rg_value_bytes(&program.arguments[i]);
    if (CuAddress address = getGiven(given, i)) {
      arguments.push_back(address);
    } else if (program.arguments[i].on_host) {
      void *memory = nullptr;
      if (Failure failure = allocateOnHost(std::max<int64_t>(bytes, 1), memory))
        return failure;
      hostArguments.push_back(memory);
      arguments.push_back(CuAddress(reinterpret_cast<uintptr_t>(memory)));
    } else {
      arguments.push_back(next);
      next += CuAddress(align(bytes));
    }
  }
  return Failure();
}

Failure DeviceRank::allocate(const MemoryNeed &need,
                             const ArgumentAddresses &given,
                             DeviceCommunicator &communicator) {
  Result<CuAddress> allocated = communicator.allocate(need.arena);
  if (!allocated)
    return allocated.getFailure();
  arena = *allocated;
  if (program.host_arena_bytes > 0)
    if (Failure failure = allocateOnHost(program.host_arena_bytes, hostArena))
      return failure;
  if (Failure failure = argumentMemory.allocate(device, need.arguments))
    return failure;
  if (Failure failure = scratchMemory.allocate(device, need.scratch))
    return failure;
  if (Failure failure = allocateArguments(given))
    return failure;
  CuAddress next = scratchMemory.getAddress();
  for (bool isComputing : findComputing(program)) {
    scratch.push_back(isComputing ? next : 0);
    next += isComputing ? CuAddress(need.scratchPerStream) : 0;
  }
  return Failure();
}

Failure DeviceRank::create(const MemoryNeed &need,
                           const ArgumentAddresses &given,
                           DeviceCommunicator &communicator) {
  Failure failure = createStreams();
  if (!failure)
    failure = createEvents();
  return failure ? failure : allocate(need, given, communicator);
}

CuAddress DeviceRank::resolve(const rg_slice &slice) const {
  CuAddress base = arena;
  if (slice.space == RG_SPACE_ARGUMENT)
    base = arguments[size_t(slice.index)];
  else if (slice.space == RG_SPACE_CONSTANT)
    base = constants.getAddress(slice.index);
  else if (slice.space == RG_SPACE_HOST)
    base = CuAddress(reinterpret_cast<uintptr_t>(hostArena));
  return base + CuAddress(slice.offset);
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

Failure DeviceRank::record(CuEvent event, int32_t stream) {
  return device.check(
      device.getDriver().cuEventRecord(event, getStream(stream)),
      "cuEventRecord");
}

Failure DeviceRank::waitForJoint(int32_t stream, int32_t other) {
  return device.check(device.getDriver().cuStreamWaitEvent(
                          getStream(stream), joints[size_t(other)], 0),
                      "cuStreamWaitEvent");
}

Failure DeviceRank::forkStreams() {
  Failure failure;
  if (getNumStreams() > 1)
    failure = record(joints[0], 0);
  for (int32_t i = 1; !failure && i < getNumStreams(); ++i)
    failure = waitForJoint(i, 0);
  return failure;
}

Failure DeviceRank::joinStreams() {
  Failure failure;
  for (int32_t i = 1; !failure && i < getNumStreams(); ++i) {
    failure = record(joints[size_t(i)], i);
    if (!failure)
      failure = waitForJoint(0, i);
  }
  return failure;
}

Failure DeviceRank::recordBegin() { return record(begin, 0); }

Failure DeviceRank::recordEnd() { return record(end, 0); }

double DeviceRank::getSeconds() const {
  float milliseconds = 0;
  CuResult result =
      device.getDriver().cuEventElapsedTime(&milliseconds, begin, end);
  return result == kCuSuccess ? double(milliseconds) * 1e-3 : 0;
}
