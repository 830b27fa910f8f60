//===- GpuEngine.cpp - Tables that run on GPUs ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Engines/GpuEngine.h"

#include "DescribeSpans.h"

#include <sstream>

using namespace regather;

GpuEngine::GpuEngine(const rg_gpu_program &gpu, const StepSignature &step,
                     Reporter reporter)
    : program(*gpu.program), reporter(std::move(reporter)), ranks(step.ranks),
      isWanted(step.results.size()), updates(step.arguments.size(), -1) {
  for (size_t i = 0; i < step.results.size(); ++i) {
    isWanted[i] = step.results[i].role == Role::Loss ||
                  step.results[i].role == Role::Overflow;
    if (step.results[i].role == Role::Update)
      updates[static_cast<size_t>(step.results[i].argument)] =
          static_cast<int64_t>(i);
  }
}

Result<std::unique_ptr<GpuEngine>>
GpuEngine::create(const rg_gpu_program &program, const StepSignature &step,
                  const rg_gpu_executor_options &options, Reporter reporter) {
  std::unique_ptr<GpuEngine> engine(
      new GpuEngine(program, step, std::move(reporter)));
  if (rg_gpu_executor_create(&program, &options, &engine->executor) != RG_OK)
    return Failure(rg_gpu_executor_error(engine->executor));
  return engine;
}

GpuEngine::~GpuEngine() { rg_gpu_executor_destroy(executor); }

std::optional<int32_t> GpuEngine::getOnlyRank() const {
  if (rg_gpu_executor_ranks(executor) == ranks)
    return std::nullopt;
  return rg_gpu_executor_first_rank(executor);
}

bool GpuEngine::check(rg_status status) {
  if (status == RG_OK)
    return true;
  rg_failure failure = rg_gpu_executor_failure(executor);
  reporter("rank " + std::to_string(failure.rank) +
               " stopped: " + rg_gpu_executor_error(executor),
           failure.instruction);
  return false;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// Moves updates that do not lie in the arguments that they replace. All are
/// read before one is written: one may lie in the place of another.
bool GpuEngine::keepUpdates(int32_t rank, const RankValues &arguments) {
  std::vector<std::pair<size_t, HostTensor>> moved;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].getData() || updates[i] < 0)
      continue;
    const rg_slice &place = program.results[updates[i]].slice;
    if (place.space == RG_SPACE_ARGUMENT && place.offset == 0 &&
        static_cast<size_t>(place.index) == i)
      continue;
    moved.push_back({i, download(rank, static_cast<size_t>(updates[i]))});
    if (!moved.back().second.getData())
      return false;
  }
  for (const auto &[i, tensor] : moved)
    if (!check(rg_gpu_executor_upload(executor, rank, static_cast<int64_t>(i),
                                      tensor.getData())))
      return false;
  return true;
}

bool GpuEngine::uploadArguments(std::vector<RankValues> &arguments) {
  resident.resize(static_cast<size_t>(rg_gpu_executor_ranks(executor)));
  for (size_t local = 0; local < resident.size(); ++local) {
    auto rank = static_cast<int32_t>(local);
    RankValues &known = resident[local];
    RankValues &given =
        arguments[static_cast<size_t>(getOnlyRank().value_or(0)) + local];
    known.resize(given.size());
    if (!keepUpdates(rank, given))
      return false;
    for (size_t i = 0; i < known.size(); ++i) {
      const HostTensor &argument = given[i];
      // While the engine holds a tensor, nobody writes to it.
      if (!argument.getData() || argument.getData() == known[i].getData())
        continue;
      if (!check(rg_gpu_executor_upload(executor, rank, static_cast<int64_t>(i),
                                        argument.getData())))
        return false;
      known[i] = program.arguments[i].donated ? HostTensor() : argument;
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// A tensor without data if it fails, which has been reported.
HostTensor GpuEngine::download(int32_t rank, size_t i) {
  const rg_value &result = program.results[i];
  HostTensor tensor = HostTensor::uninitialized(
      static_cast<ElementType>(result.dtype),
      Shape(result.shape, result.shape + result.rank));
  return check(rg_gpu_executor_download(executor, rank, static_cast<int64_t>(i),
                                        tensor.getData()))
             ? tensor
             : HostTensor();
}

bool GpuEngine::run(std::vector<RankValues> &arguments,
                    std::vector<RankValues> &results) {
  if (!uploadArguments(arguments) || !check(rg_gpu_executor_run(executor)))
    return false;
  results.assign(arguments.size(), RankValues(isWanted.size()));
  auto first = static_cast<size_t>(getOnlyRank().value_or(0));
  for (size_t local = 0; local < resident.size(); ++local)
    for (size_t i = 0; i < isWanted.size(); ++i) {
      if (!isWanted[i])
        continue;
      HostTensor &result = results[first + local][i];
      result = download(static_cast<int32_t>(local), i);
      if (!result.getData())
        return false;
    }
  return true;
}

bool GpuEngine::fetch(std::vector<RankValues> &results) {
  auto first = static_cast<size_t>(getOnlyRank().value_or(0));
  for (size_t local = 0; local < resident.size(); ++local)
    for (HostTensor &result : results[first + local]) {
      if (result.getData())
        continue;
      auto i = static_cast<size_t>(&result - results[first + local].data());
      result = download(static_cast<int32_t>(local), i);
      if (!result.getData())
        return false;
    }
  return true;
}

Result<std::vector<HostTensor>> GpuEngine::gather(const HostTensor &tensor) {
  std::vector<HostTensor> parts;
  std::vector<void *> addresses;
  if (getOnlyRank().value_or(0) == 0)
    for (int64_t rank = 0; rank < ranks; ++rank) {
      parts.push_back(
          HostTensor::uninitialized(tensor.getType(), tensor.getShape()));
      addresses.push_back(parts.back().getData());
    }
  if (rg_gpu_executor_gather(executor, tensor.getData(), tensor.getNumBytes(),
                             addresses.data()) != RG_OK)
    return Failure(rg_gpu_executor_error(executor));
  return parts;
}

Result<bool> GpuEngine::agreeToStop(int64_t step, bool wants) {
  int32_t stops = 0;
  if (rg_gpu_executor_agree_to_stop(executor, step, wants ? 1 : 0, &stops) !=
      RG_OK)
    return Failure(std::string("the ranks do not stop together: ") +
                   rg_gpu_executor_error(executor));
  return stops != 0;
}

std::vector<double> GpuEngine::getDeviceSeconds() const {
  std::vector<double> seconds;
  for (int32_t rank = 0; rank < rg_gpu_executor_ranks(executor); ++rank)
    seconds.push_back(rg_gpu_executor_seconds(executor, rank));
  return seconds;
}

std::vector<std::vector<RunSpan>> GpuEngine::getSpans() const {
  std::vector<std::vector<RunSpan>> all;
  for (int32_t rank = 0; rank < rg_gpu_executor_ranks(executor); ++rank) {
    int64_t count = 0;
    const rg_span *spans = rg_gpu_executor_spans(executor, rank, &count);
    all.push_back(describeSpans(program, spans, count));
    for (RunSpan &span : all.back())
      span.isOnDevice = true;
  }
  return all;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

std::optional<int64_t> GpuEngine::getPeakBytes() const {
  return rg_gpu_executor_bytes(executor) +
         rg_argument_bytes(&program, /*host=*/0);
}

std::optional<ArenaReport> GpuEngine::getArena() const {
  ArenaReport report;
  report.planned = program.arena_bytes;
  report.lowerBound = program.arena_lower_bound;
  report.plannedOnHost = program.host_arena_bytes;
  report.argumentsOnHost = rg_argument_bytes(&program, /*host=*/1);
  if (int64_t touched = rg_gpu_executor_touched_bytes(executor); touched >= 0)
    report.touched = touched;
  return report;
}

//===----------------------------------------------------------------------===//
// Routines
//===----------------------------------------------------------------------===//

std::vector<std::string> GpuEngine::getRoutines() const {
  std::vector<std::string> lines;
  std::istringstream text(rg_gpu_executor_routines(executor));
  for (std::string line; std::getline(text, line);)
    lines.push_back(line);
  return lines;
}
