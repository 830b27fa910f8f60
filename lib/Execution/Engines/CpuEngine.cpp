//===- CpuEngine.cpp - Tables that run ------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Engines/CpuEngine.h"

#include "DescribeSpans.h"

#include <algorithm>
#include <cstring>

using namespace regather;

static_assert(static_cast<int>(ElementType::F32) == RG_F32 &&
                  static_cast<int>(ElementType::I64) == RG_I64,
              "element types have one order");

Result<std::unique_ptr<CpuEngine>>
CpuEngine::create(const rg_program &program, const rg_executor_options &options,
                  Reporter reporter) {
  for (int64_t i = 0; i < program.result_count; ++i)
    if (program.results[i].slice.space == RG_SPACE_RESULT)
      return Failure("result " + std::to_string(i) +
                     " is to be written to memory of the caller, of which a "
                     "run has none");
  std::unique_ptr<CpuEngine> engine(
      new CpuEngine(program, std::move(reporter)));
  if (rg_executor_create(&program, &options, &engine->executor) != RG_OK)
    return Failure(rg_executor_error(engine->executor));
  if (options.transport) {
    engine->onlyRank = options.transport->rank;
    engine->jobRanks = options.transport->ranks;
  }
  return engine;
}

CpuEngine::~CpuEngine() { rg_executor_destroy(executor); }

/// True if a result is an argument, as a donated one is that was updated.
static bool isArgument(const rg_program &program, const rg_value &result) {
  const rg_slice &place = result.slice;
  return place.space == RG_SPACE_ARGUMENT && place.offset == 0 &&
         place.bytes == rg_value_bytes(&program.arguments[place.index]);
}

HostTensor CpuEngine::getResult(RankValues &arguments, int32_t rank,
                                int64_t i) const {
  const rg_value &result = program.results[i];
  Shape shape(result.shape, result.shape + result.rank);
  if (isArgument(program, result))
    if (const HostTensor &argument = arguments[result.slice.index];
        argument.getShape() == shape)
      return argument;
  HostTensor tensor =
      HostTensor::uninitialized(static_cast<ElementType>(result.dtype), shape);
  std::memcpy(tensor.getData(), rg_executor_result(executor, rank, i),
              tensor.getNumBytes());
  return tensor;
}

bool CpuEngine::run(std::vector<RankValues> &arguments,
                    std::vector<RankValues> &results) {
  std::vector<std::vector<void *>> pointers(arguments.size());
  std::vector<void *const *> ranks;
  auto first = static_cast<size_t>(onlyRank.value_or(0));
  auto count = static_cast<size_t>(rg_executor_ranks(executor));
  for (size_t rank = 0; rank < count; ++rank) {
    for (int64_t i = 0; i < program.argument_count; ++i) {
      HostTensor &argument = arguments[first + rank][i];
      // Others, such as another rank, may hold the same bytes.
      if (program.arguments[i].donated && !argument.isUnique())
        argument = argument.clone();
      pointers[rank].push_back(argument.getData());
    }
    ranks.push_back(pointers[rank].data());
  }
  if (rg_executor_run(executor, ranks.data(), nullptr) != RG_OK) {
    rg_failure failure = rg_executor_failure(executor);
    reporter("rank " + std::to_string(failure.rank) +
                 " stopped: " + rg_executor_error(executor),
             failure.instruction);
    return false;
  }
  results.assign(arguments.size(),
                 RankValues(static_cast<size_t>(program.result_count)));
  for (size_t rank = 0; rank < count; ++rank)
    for (int64_t i = 0; i < program.result_count; ++i)
      results[first + rank][static_cast<size_t>(i)] =
          getResult(arguments[first + rank], static_cast<int32_t>(rank), i);
  return measureWaits();
}

//===----------------------------------------------------------------------===//
// Jobs
//===----------------------------------------------------------------------===//

bool CpuEngine::measureWaits() {
  waitSeconds.clear();
  for (int32_t rank = 0, e = rg_executor_ranks(executor); rank < e; ++rank)
    waitSeconds.push_back(rg_executor_wait_seconds(executor, rank));
  if (!onlyRank)
    return true;
  double own = waitSeconds.front();
  waitSeconds.resize(static_cast<size_t>(jobRanks));
  std::vector<void *> addresses;
  for (double &seconds : waitSeconds)
    addresses.push_back(&seconds);
  if (rg_executor_gather(executor, &own, sizeof(own), /*to=*/-1,
                         addresses.data()) == RG_OK)
    return true;
  reporter(rg_executor_error(executor), /*instruction=*/-1);
  return false;
}

Result<std::vector<HostTensor>> CpuEngine::collect(const HostTensor &tensor,
                                                   int32_t to) {
  if (!onlyRank)
    return Failure("the engine runs no job");
  std::vector<HostTensor> parts;
  std::vector<void *> addresses;
  if (to < 0 || to == *onlyRank)
    for (int32_t rank = 0; rank < jobRanks; ++rank) {
      parts.push_back(
          HostTensor::uninitialized(tensor.getType(), tensor.getShape()));
      addresses.push_back(parts.back().getData());
    }
  if (rg_executor_gather(executor, tensor.getData(), tensor.getNumBytes(), to,
                         addresses.data()) != RG_OK)
    return Failure(rg_executor_error(executor));
  return parts;
}

Result<std::vector<HostTensor>> CpuEngine::gather(const HostTensor &tensor) {
  Result<std::vector<HostTensor>> parts = collect(tensor, /*to=*/0);
  // All return when rank 0 has everything.
  if (parts &&
      rg_executor_gather(executor, nullptr, 0, /*to=*/-1, nullptr) != RG_OK)
    return Failure(rg_executor_error(executor));
  return parts;
}

Result<std::vector<HostTensor>> CpuEngine::exchange(const HostTensor &tensor) {
  return collect(tensor, /*to=*/-1);
}

Result<bool> CpuEngine::agreeToStop(int64_t /*step*/, bool wants) {
  if (!onlyRank)
    return wants;
  std::vector<char> all(static_cast<size_t>(jobRanks));
  std::vector<void *> addresses;
  for (char &each : all)
    addresses.push_back(&each);
  char own = wants ? 1 : 0;
  if (rg_executor_gather(executor, &own, 1, /*to=*/-1, addresses.data()) !=
      RG_OK)
    return Failure(std::string("the ranks do not stop together: ") +
                   rg_executor_error(executor));
  return std::count(all.begin(), all.end(), 1) > 0;
}

//===----------------------------------------------------------------------===//
// What a run tells
//===----------------------------------------------------------------------===//

std::optional<int64_t> CpuEngine::getPeakBytes() const {
  return program.arena_bytes + rg_argument_bytes(&program, /*host=*/0);
}

int32_t CpuEngine::getThreads() const { return rg_executor_threads(executor); }

std::vector<std::vector<RunSpan>> CpuEngine::getSpans() const {
  std::vector<std::vector<RunSpan>> ranks;
  for (int32_t rank = 0, e = rg_executor_ranks(executor); rank < e; ++rank) {
    int64_t count = 0;
    const rg_span *spans = rg_executor_spans(executor, rank, &count);
    ranks.push_back(describeSpans(program, spans, count));
  }
  return ranks;
}

std::optional<ArenaReport> CpuEngine::getArena() const {
  ArenaReport report;
  report.planned = program.arena_bytes;
  report.lowerBound = program.arena_lower_bound;
  report.plannedOnHost = program.host_arena_bytes;
  report.argumentsOnHost = rg_argument_bytes(&program, /*host=*/1);
  if (int64_t touched = rg_executor_touched_bytes(executor); touched >= 0) {
    report.touched = touched;
    report.touchedOnHost = rg_executor_touched_host_bytes(executor);
  }
  return report;
}
