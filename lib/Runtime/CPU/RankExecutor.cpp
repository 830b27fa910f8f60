//===- RankExecutor.cpp - What one rank does in a step --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankExecutor.h"

#include "Numeric/RoundUp.h"

#include <algorithm>
#include <cstring>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

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
                           const LibraryCalls &library,
                           HostCommunicator &communicator, int32_t rank)
    : program(program), library(library), communicator(communicator),
      rank(rank), streams(size_t(program.stream_count)),
      events(size_t(program.event_count)), buffers(getMostSlices(program)),
      arguments(size_t(program.argument_count)),
      results(size_t(program.result_count)), walker(program, rank, *this) {}

RankExecutor::~RankExecutor() = default;

int64_t regather::runtime::getScratchBytes(const rg_program &program,
                                           const LibraryCalls &library) {
  int64_t bytes = library.getScratchBytes();
  for (int64_t i = 0; i < program.kernel_count; ++i)
    bytes = std::max(bytes, program.kernels[i].scratch_bytes);
  return roundUp(bytes, kScratchAlignment);
}

bool RankExecutor::allocate(int64_t threads) {
  scratchBytes = getScratchBytes(program, library);
  return arena.allocate(program.arena_bytes) &&
         hostArena.allocate(program.host_arena_bytes) &&
         scratch.allocate(scratchBytes * threads);
}

bool RankExecutor::startHelpers(int64_t threads, bool canSpin,
                                InjectedLink hostLink) {
  for (int64_t i = 0; i < program.instruction_count; ++i) {
    const rg_instruction &instruction = program.instructions[i];
    if (instruction.opcode != RG_OP_COPY || instruction.stream == 0)
      continue;
    std::unique_ptr<CopyEngine> &engine =
        streams[size_t(instruction.stream)].copies;
    if (engine)
      continue;
    engine = std::make_unique<CopyEngine>(hostLink);
    if (!engine->start())
      return false;
  }
  return pool.start(threads - 1, canSpin);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void *RankExecutor::resolve(const rg_slice &slice) const {
  if (slice.space == RG_SPACE_ARENA)
    return arena.getData() + slice.offset;
  if (slice.space == RG_SPACE_HOST)
    return hostArena.getData() + slice.offset;
  if (slice.space == RG_SPACE_ARGUMENT)
    return static_cast<std::byte *>(arguments[size_t(slice.index)]) +
           slice.offset;
  if (slice.space == RG_SPACE_RESULT)
    return static_cast<std::byte *>(results[size_t(slice.index)]) +
           slice.offset;
  // Kernels take all their buffers alike, but never write this one.
  const void *data = program.constants[slice.index].data;
  return const_cast<std::byte *>(static_cast<const std::byte *>(data)) +
         slice.offset;
}

int64_t RankExecutor::resolveAll(const rg_instruction &instruction) {
  const rg_slice *slices = getSlices(instruction);
  int64_t bytes = 0;
  for (int32_t i = 0; i < instruction.slice_count; ++i) {
    buffers[size_t(i)] = resolve(slices[i]);
    bytes += slices[i].bytes;
  }
  return bytes;
}

template <typename Integer> static int64_t readAs(const void *data) {
  Integer value = 0;
  std::memcpy(&value, data, sizeof(value));
  return value;
}

Result<int64_t> RankExecutor::readInteger(const rg_slice &slice) const {
  const void *data = resolve(slice);
  switch (slice.bytes) {
  case 1:
    return readAs<int8_t>(data);
  case 2:
    return readAs<int16_t>(data);
  case 4:
    return readAs<int32_t>(data);
  default:
    return readAs<int64_t>(data);
  }
}

Failure RankExecutor::writeInteger(const rg_slice &slice, int64_t value,
                                   int32_t /*stream*/) {
  // Little endian: the low bytes come first.
  std::memcpy(resolve(slice), &value, size_t(slice.bytes));
  return Failure();
}

Failure RankExecutor::copy(const rg_instruction &instruction) {
  resolveAll(instruction);
  int64_t bytes = getSlices(instruction)->bytes;
  Stream &stream = streams[size_t(instruction.stream)];
  if (!stream.copies) {
    std::memmove(buffers[0], buffers[1], size_t(bytes));
    return Failure();
  }
  stream.copies->begin(buffers[0], buffers[1], bytes);
  stream.pending.push_back({/*collective=*/nullptr, &instruction});
  return Failure();
}

Failure RankExecutor::fill(const rg_instruction &instruction) {
  resolveAll(instruction);
  const rg_slice *slices = getSlices(instruction);
  auto *target = static_cast<std::byte *>(buffers[0]);
  return fillByDoubling(slices[0].bytes, slices[1].bytes,
                        [&](int64_t at, int64_t from, int64_t length) {
                          std::memcpy(target + at,
                                      from < 0 ? buffers[1] : target + from,
                                      size_t(length));
                          return Failure();
                        });
}

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

static double getSeconds(RankExecutor::Clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

/// Waits for the oldest of what is under way on `stream`.
Failure RankExecutor::finishFirst(Stream &stream, const Pending &pending) {
  if (!pending.collective) {
    CopyEngine::Times times = stream.copies->finish();
    addSpan(*pending.instruction, getSeconds(times.begin),
            getSeconds(times.end));
    return Failure();
  }
  rg_collective_times times = {};
  Failure reason = communicator.wait(pending.collective, times);
  addSpan(*pending.instruction, times.begin, times.end);
  return reason;
}

Failure RankExecutor::waitUntil(Stream &stream, int64_t numStarted) {
  Failure first;
  Clock::time_point begin = Clock::now();
  while (stream.numForgotten + int64_t(stream.numDone) < numStarted) {
    const Pending &oldest = stream.pending[stream.numDone++];
    Failure reason = finishFirst(stream, oldest);
    if (reason) {
      noteFailure(reason, oldest.instruction - program.instructions);
      if (!first)
        first = std::move(reason);
    }
  }
  waitTime += Clock::now() - begin;
  if (stream.numDone == stream.pending.size()) {
    stream.numForgotten += int64_t(stream.numDone);
    stream.numDone = 0;
    stream.pending.clear();
  }
  return first;
}

Failure RankExecutor::sync() {
  Failure first;
  for (Stream &stream : streams)
    if (Failure reason = waitUntil(stream, stream.getNumStarted());
        reason && !first)
      first = std::move(reason);
  return first;
}

Failure RankExecutor::startCollective(const rg_instruction &instruction) {
  resolveAll(instruction);
  Result<PendingCollective *> started = communicator.start(
      rank, &instruction - program.instructions, buffers.data());
  if (!started)
    return started.getFailure();
  streams[size_t(instruction.stream)].pending.push_back(
      {*started, &instruction});
  return Failure();
}

Failure RankExecutor::record(const rg_instruction &instruction) {
  // What computes has been run by now.
  events[size_t(instruction.index)] = {
      instruction.stream, streams[size_t(instruction.stream)].getNumStarted()};
  return Failure();
}

Failure RankExecutor::wait(const rg_instruction &instruction) {
  // Streams are issued by this thread, so all of them wait.
  const Event &event = events[size_t(instruction.index)];
  return waitUntil(streams[size_t(event.stream)], event.numStarted);
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

/// Stops all other ranks, too.
Failure RankExecutor::stop(const char *message) {
  communicator.abort(message);
  return Failure(message, RG_ERROR_ARGUMENT);
}

Failure RankExecutor::launch(const rg_instruction &instruction) {
  const rg_kernel &kernel = program.kernels[instruction.index];
  int64_t bytes = resolveAll(instruction);
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
  return code == 0 ? Failure() : stop("an index is out of bounds");
}

Failure RankExecutor::callLibrary(const rg_instruction &instruction) {
  resolveAll(instruction);
  std::atomic<rg_status> status{RG_OK};
  pool.run(library.getNumTasks(instruction), [&](int64_t task, int64_t thread) {
    void *memory = scratch.getData() + thread * scratchBytes;
    if (rg_status result =
            library.runTask(instruction, buffers.data(), task, memory))
      status = result;
  });
  return status == RG_OK ? Failure() : stop("a library routine failed");
}

Failure RankExecutor::compute(const rg_instruction &instruction) {
  return instruction.opcode == RG_OP_LAUNCH ? launch(instruction)
                                            : callLibrary(instruction);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// The first failure is what matters.
void RankExecutor::noteFailure(const Failure &reason, int64_t instruction) {
  if (failure.status != RG_OK)
    return;
  failure = {reason.getCode(), rank, instruction};
  error = reason.getMessage();
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

rg_failure RankExecutor::run(void *const *newArguments, void *const *newResults,
                             Clock::time_point begin) {
  std::copy_n(newArguments, arguments.size(), arguments.begin());
  if (newResults)
    std::copy_n(newResults, results.size(), results.begin());
  failure = {RG_OK, rank, -1};
  waitTime = {};
  spans.clear();
  stepBegin = getSeconds(begin);
  error.clear();
  for (Event &event : events)
    event = {};
  walker.begin();
  while (!walker.isAtEnd()) {
    double start = recordsSpans ? getSeconds(Clock::now()) : 0;
    if (Failure reason = walker.advance()) {
      noteFailure(reason, walker.getCurrent());
      break;
    }
    const rg_instruction &instruction =
        program.instructions[walker.getCurrent()];
    // That of a collective, or of a copy beside computation, is known when it
    // is waited for.
    if (recordsSpans && instruction.opcode != RG_OP_COLLECTIVE &&
        (instruction.opcode != RG_OP_COPY || instruction.stream == 0))
      addSpan(instruction, start, getSeconds(Clock::now()));
  }
  communicator.finishRank(rank);
  // Collectives that nobody waits for still use this rank's memory. What fails
  // has been noted.
  static_cast<void>(sync());
  return failure;
}
