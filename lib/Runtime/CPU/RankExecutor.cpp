//===- RankExecutor.cpp - What one rank does in a step --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankExecutor.h"

#include "Program/RankGroups.h"

#include <algorithm>
#include <cstring>

using namespace regather::runtime;

/// Kernels that touch fewer bytes run on one thread: to hand out work costs as
/// much as to do it.
static constexpr int64_t kMinParallelBytes = 64 << 10;

/// Into how many parts for each thread a kernel is cut, so that a thread that
/// is late is helped out.
static constexpr int64_t kTasksPerThread = 4;

static constexpr int64_t kScratchAlignment = 64;

static int64_t divideCeil(int64_t a, int64_t b) { return (a + b - 1) / b; }

//===----------------------------------------------------------------------===//
// Set-up
//===----------------------------------------------------------------------===//

RankExecutor::RankExecutor(const rg_program &program,
                           const LibraryCalls &library, rg_world *world,
                           int32_t rank)
    : program(program), library(library), world(world), rank(rank),
      streams(size_t(program.stream_count)),
      events(size_t(program.event_count)), loops(size_t(program.loop_count)),
      arguments(size_t(program.argument_count)) {
  int64_t mostSlices = 0;
  for (int64_t i = 0; i < program.instruction_count; ++i)
    mostSlices =
        std::max<int64_t>(mostSlices, program.instructions[i].slice_count);
  buffers.resize(size_t(mostSlices));
  members.resize(size_t(mostSlices / 2 + 1));
}

RankExecutor::~RankExecutor() = default;

int64_t regather::runtime::getScratchBytes(const rg_program &program,
                                           const LibraryCalls &library) {
  int64_t bytes = library.getScratchBytes();
  for (int64_t i = 0; i < program.kernel_count; ++i)
    bytes = std::max(bytes, program.kernels[i].scratch_bytes);
  return divideCeil(bytes, kScratchAlignment) * kScratchAlignment;
}

bool RankExecutor::allocate(int64_t threads) {
  scratchBytes = getScratchBytes(program, library);
  return arena.allocate(program.arena_bytes) &&
         scratch.allocate(scratchBytes * threads);
}

bool RankExecutor::startHelpers(int64_t threads, bool canSpin) {
  return pool.start(threads - 1, canSpin);
}

rg_status RankExecutor::findGroups() {
  for (int64_t i = 0; i < program.axes_count; ++i) {
    std::vector<int32_t> group = getGroup(program.axes[i], rank);
    rg_comm *comm = nullptr;
    rg_status status =
        rg_comm_get(world, rank, group.data(), int32_t(group.size()), &comm);
    if (status != RG_OK)
      return status;
    comms.push_back(comm);
  }
  return RG_OK;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void *RankExecutor::resolve(const rg_slice &slice) const {
  if (slice.space == RG_SPACE_ARENA)
    return arena.getData() + slice.offset;
  if (slice.space == RG_SPACE_ARGUMENT)
    return static_cast<std::byte *>(arguments[size_t(slice.index)]) +
           slice.offset;
  // Kernels take all their buffers alike, but never write this one.
  const void *data = program.constants[slice.index].data;
  return const_cast<std::byte *>(static_cast<const std::byte *>(data)) +
         slice.offset;
}

static int64_t readInteger(const void *data, int64_t bytes) {
  switch (bytes) {
  case 1: {
    int8_t value = 0;
    std::memcpy(&value, data, sizeof(value));
    return value;
  }
  case 2: {
    int16_t value = 0;
    std::memcpy(&value, data, sizeof(value));
    return value;
  }
  case 4: {
    int32_t value = 0;
    std::memcpy(&value, data, sizeof(value));
    return value;
  }
  default: {
    int64_t value = 0;
    std::memcpy(&value, data, sizeof(value));
    return value;
  }
  }
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

bool RankExecutor::check(rg_status status, const rg_instruction &instruction) {
  if (status == RG_OK)
    return true;
  if (failure.status == RG_OK)
    failure = {status, rank, &instruction - program.instructions};
  return false;
}

bool RankExecutor::fail(const char *message,
                        const rg_instruction &instruction) {
  rg_world_abort(world, message);
  return check(RG_ERROR_ARGUMENT, instruction);
}

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

bool RankExecutor::waitUntil(Stream &stream, int64_t numStarted) {
  bool ok = true;
  Clock::time_point begin = Clock::now();
  while (stream.numForgotten + int64_t(stream.numDone) < numStarted) {
    const Pending &oldest = stream.pending[stream.numDone++];
    rg_collective_times times = {};
    ok &= check(rg_wait_timed(oldest.future, &times), *oldest.instruction);
    addSpan(*oldest.instruction, times.begin, times.end);
  }
  waitTime += Clock::now() - begin;
  if (stream.numDone == stream.pending.size()) {
    stream.numForgotten += int64_t(stream.numDone);
    stream.numDone = 0;
    stream.pending.clear();
  }
  return ok;
}

bool RankExecutor::waitForAll() {
  bool ok = true;
  for (Stream &stream : streams)
    ok &= waitUntil(stream, stream.getNumStarted());
  return ok;
}

bool RankExecutor::start(const rg_instruction &instruction) {
  const rg_collective_entry &entry = program.collectives[instruction.index];
  const rg_slice *slices = getSlices(instruction);
  rg_collective collective = entry.collective;
  for (int64_t i = 0; i < collective.member_count; ++i) {
    rg_member &member = members[size_t(i)];
    member = collective.members[i];
    member.input = resolve(slices[2 * i]);
    member.output = resolve(slices[2 * i + 1]);
  }
  collective.members = members.data();
  rg_future *future = nullptr;
  if (!check(rg_start(comms[size_t(entry.axes)], &collective, &future),
             instruction))
    return false;
  streams[size_t(instruction.stream)].pending.push_back({future, &instruction});
  return true;
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

bool RankExecutor::launch(const rg_instruction &instruction) {
  const rg_kernel &kernel = program.kernels[instruction.index];
  const rg_slice *slices = getSlices(instruction);
  int64_t bytes = 0;
  for (int32_t i = 0; i < instruction.slice_count; ++i) {
    buffers[size_t(i)] = resolve(slices[i]);
    bytes += slices[i].bytes;
  }
  // In units of the grain.
  int64_t length = divideCeil(kernel.rows, kernel.grain);
  int64_t numTasks =
      bytes < kMinParallelBytes || pool.getNumThreads() == 1
          ? 1
          : std::min(length, pool.getNumThreads() * kTasksPerThread);
  int64_t taskLength = numTasks ? divideCeil(length, numTasks) : 0;
  std::atomic<int32_t> code{0};
  pool.run(numTasks, [&](int64_t task, int64_t thread) {
    int64_t begin = std::min(task * taskLength * kernel.grain, kernel.rows);
    int64_t end = std::min((task + 1) * taskLength * kernel.grain, kernel.rows);
    if (begin == end && task > 0)
      return;
    void *memory = scratch.getData() + thread * scratchBytes;
    if (int32_t result = kernel.function(buffers.data(), begin, end, memory))
      code = result;
  });
  return code == 0 || fail("an index is out of bounds", instruction);
}

bool RankExecutor::callLibrary(const rg_instruction &instruction) {
  const rg_slice *slices = getSlices(instruction);
  for (int32_t i = 0; i < instruction.slice_count; ++i)
    buffers[size_t(i)] = resolve(slices[i]);
  std::atomic<rg_status> status{RG_OK};
  pool.run(library.getNumTasks(instruction), [&](int64_t task, int64_t thread) {
    void *memory = scratch.getData() + thread * scratchBytes;
    if (rg_status result =
            library.runTask(instruction, buffers.data(), task, memory))
      status = result;
  });
  return status == RG_OK || fail("a library routine failed", instruction);
}

/// Writes one element, and doubles what is written until all of it is.
static void fill(std::byte *target, int64_t bytes, const void *element,
                 int64_t elementBytes) {
  if (bytes == 0)
    return;
  std::memcpy(target, element, size_t(elementBytes));
  for (int64_t done = elementBytes; done < bytes;) {
    int64_t length = std::min(done, bytes - done);
    std::memcpy(target + done, target, size_t(length));
    done += length;
  }
}

bool RankExecutor::compute(const rg_instruction &instruction) {
  const rg_slice *slices = getSlices(instruction);
  switch (instruction.opcode) {
  case RG_OP_LAUNCH:
    return launch(instruction);
  case RG_OP_GEMM:
  case RG_OP_ATTENTION:
    return callLibrary(instruction);
  case RG_OP_COPY:
    std::memmove(resolve(slices[0]), resolve(slices[1]),
                 size_t(slices[0].bytes));
    return true;
  case RG_OP_FILL:
    fill(static_cast<std::byte *>(resolve(slices[0])), slices[0].bytes,
         resolve(slices[1]), slices[1].bytes);
    return true;
  default: {
    int64_t position = getPosition(program.axes[instruction.index], rank);
    std::memcpy(resolve(slices[0]), &position, size_t(slices[0].bytes));
    return true;
  }
  }
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

/// Little endian: the low bytes come first.
static void writeInteger(void *data, int64_t bytes, int64_t value) {
  std::memcpy(data, &value, size_t(bytes));
}

void RankExecutor::control(const rg_instruction &instruction, int64_t &next) {
  const rg_slice *slices = getSlices(instruction);
  auto read = [&](int32_t i) {
    return readInteger(resolve(slices[i]), slices[i].bytes);
  };
  bool isTaken = true;
  switch (instruction.opcode) {
  case RG_OP_JUMP_IF_ZERO:
    isTaken = read(0) == 0;
    break;
  case RG_OP_LOOP: {
    Loop &loop = loops[size_t(instruction.index)];
    loop = {read(1), read(2), read(3)};
    isTaken = loop.value >= loop.upper || loop.step <= 0;
    if (!isTaken)
      writeInteger(resolve(slices[0]), slices[0].bytes, loop.value);
    break;
  }
  case RG_OP_NEXT: {
    Loop &loop = loops[size_t(instruction.index)];
    isTaken = !__builtin_add_overflow(loop.value, loop.step, &loop.value) &&
              loop.value < loop.upper;
    if (isTaken)
      writeInteger(resolve(slices[0]), slices[0].bytes, loop.value);
    break;
  }
  default:
    break;
  }
  if (isTaken)
    next = instruction.target;
}

bool RankExecutor::runInstruction(const rg_instruction &instruction,
                                  int64_t &next) {
  switch (instruction.opcode) {
  case RG_OP_COLLECTIVE:
    return start(instruction);
  case RG_OP_RECORD:
    // What computes has been run by now.
    events[size_t(instruction.index)] = {
        instruction.stream,
        streams[size_t(instruction.stream)].getNumStarted()};
    return true;
  case RG_OP_WAIT: {
    // Streams are issued by this thread, so all of them wait.
    const Event &event = events[size_t(instruction.index)];
    return waitUntil(streams[size_t(event.stream)], event.numStarted);
  }
  case RG_OP_SYNC:
    return waitForAll();
  case RG_OP_JUMP:
  case RG_OP_JUMP_IF_ZERO:
  case RG_OP_LOOP:
  case RG_OP_NEXT:
    control(instruction, next);
    return true;
  default:
    return compute(instruction);
  }
}

static double getSeconds(RankExecutor::Clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

void RankExecutor::recordSpans() {
  recordsSpans = true;
  // Of a wait and of what it waits for there may be one each.
  spans.reserve(size_t(2 * program.instruction_count));
}

void RankExecutor::addSpan(const rg_instruction &instruction, double begin,
                           double end) {
  if (recordsSpans)
    spans.push_back({&instruction - program.instructions, begin - stepBegin,
                     end - stepBegin});
}

rg_failure RankExecutor::run(void *const *newArguments,
                             Clock::time_point begin) {
  std::copy_n(newArguments, arguments.size(), arguments.begin());
  failure = {RG_OK, rank, -1};
  waitTime = {};
  spans.clear();
  stepBegin = getSeconds(begin);
  for (Event &event : events)
    event = {};
  for (int64_t i = 0; i < program.instruction_count;) {
    int64_t next = i + 1;
    const rg_instruction &instruction = program.instructions[i];
    double start = recordsSpans ? getSeconds(Clock::now()) : 0;
    if (!runInstruction(instruction, next))
      break;
    // That of a collective is known when it is waited for.
    if (recordsSpans && instruction.opcode != RG_OP_COLLECTIVE)
      addSpan(instruction, start, getSeconds(Clock::now()));
    i = next;
  }
  rg_rank_finish(world, rank);
  // Futures that nobody waits for still use this rank's memory.
  waitForAll();
  return failure;
}
