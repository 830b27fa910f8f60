//===- Training.cpp - Run a step several times ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Training/Training.h"

#include "regather/Execution/Training/StepInputs.h"

#include <algorithm>
#include <chrono>

using namespace regather;

/// The loss of a step. Every rank has it; unsharding checks that they agree.
static Result<std::optional<double>>
getLoss(Engine &engine, const StepSignature &step,
        const std::vector<RankValues> &results) {
  if (!step.loss)
    return std::optional<double>();
  std::vector<HostTensor> parts;
  if (std::optional<int32_t> rank = engine.getOnlyRank()) {
    auto all = engine.exchange(results[size_t(*rank)][*step.loss]);
    if (!all)
      return all.getFailure();
    parts = std::move(*all);
  } else {
    for (const RankValues &values : results)
      parts.push_back(values[*step.loss]);
  }
  Result<HostTensor> loss =
      unshardTensor(parts, step.results[*step.loss], step);
  if (!loss)
    return loss.getFailure();
  return std::optional<double>(loss->getAsDouble(0));
}

/// What the next step receives: the updates, and its number. Ranks of other
/// processes have no arguments.
static void advance(const StepSignature &step,
                    const std::vector<RankValues> &results,
                    std::vector<RankValues> &arguments) {
  for (size_t rank = 0; rank < results.size(); ++rank)
    for (size_t i = 0; i < step.results.size(); ++i)
      if (step.results[i].role == Role::Update && !arguments[rank].empty())
        arguments[rank][step.results[i].argument] = results[rank][i];
  for (size_t i = 0; i < step.arguments.size(); ++i) {
    if (step.arguments[i].role != Role::Step)
      continue;
    // Tensors share their bytes, so that the old number stays what it was.
    for (RankValues &values : arguments)
      if (!values.empty())
        values[i] = makeStepNumber(values[i].getAsInteger(0) + 1);
  }
}

/// Saves what has been trained so far.
static bool save(Engine &engine, const TrainingResult &training, int64_t index,
                 const TrainingHooks &hooks) {
  // The engine goes on with what it has kept.
  TrainingResult fetched = training;
  return engine.fetch(fetched.results) && hooks.save(index, fetched);
}

Result<TrainingResult> regather::train(Engine &engine,
                                       const StepSignature &step,
                                       std::vector<RankValues> arguments,
                                       int64_t steps,
                                       const TrainingHooks &hooks) {
  using Clock = std::chrono::steady_clock;
  TrainingResult training;
  training.onlyRank = engine.getOnlyRank();
  for (int64_t i = 0; i != steps; ++i) {
    training.results.clear();
    if (hooks.feed)
      hooks.feed(i, arguments);
    Clock::time_point start = Clock::now();
    if (!engine.run(arguments, training.results))
      return Failure(std::string());
    double seconds =
        std::chrono::duration<double>(Clock::now() - start).count();
    Result<std::optional<double>> loss =
        getLoss(engine, step, training.results);
    if (!loss)
      return loss.getFailure();
    training.seconds.push_back(seconds);
    training.waitSeconds.push_back(engine.getWaitSeconds());
    std::vector<double> onDevice = engine.getDeviceSeconds();
    if (!onDevice.empty())
      training.deviceSeconds.push_back(
          *std::max_element(onDevice.begin(), onDevice.end()));
    if (*loss)
      training.losses.push_back(**loss);
    advance(step, training.results, arguments);
    hooks.callback(i, *loss, seconds);
    if (i + 1 == steps)
      break;
    if (hooks.saveEvery && (i + 1) % hooks.saveEvery == 0)
      if (!save(engine, training, i, hooks))
        return Failure(std::string());
    Result<bool> stops =
        engine.agreeToStop(i, hooks.shouldStop && hooks.shouldStop());
    if (!stops)
      return stops.getFailure();
    if (*stops)
      break;
  }
  if (!engine.fetch(training.results))
    return Failure(std::string());
  return training;
}

/// What each rank has of a result; in a job, nothing but at rank 0.
static Result<std::vector<HostTensor>>
collectParts(Engine &engine, const TrainingResult &training, size_t result) {
  if (training.onlyRank) {
    auto rank = static_cast<size_t>(*training.onlyRank);
    return engine.gather(training.results[rank][result]);
  }
  std::vector<HostTensor> parts;
  for (const RankValues &values : training.results)
    parts.push_back(values[result]);
  return parts;
}

Result<std::vector<NamedTensor>>
regather::collectOutputs(Engine &engine, const StepSignature &step,
                         const TrainingResult &training) {
  std::vector<NamedTensor> outputs;
  for (size_t i = 0; i < step.results.size(); ++i) {
    Result<std::vector<HostTensor>> parts = collectParts(engine, training, i);
    if (!parts)
      return Failure("cannot collect the results: " + parts.getMessage());
    if (training.onlyRank.value_or(0) != 0)
      continue;
    Result<HostTensor> global = unshardTensor(*parts, step.results[i], step);
    if (!global)
      return global.getFailure();
    const StepValue &result = step.results[i];
    if (result.members.empty()) {
      outputs.push_back({result.name, std::move(*global)});
      continue;
    }
    std::vector<HostTensor> members = splitMembers(result, *global);
    for (size_t m = 0; m < members.size(); ++m)
      outputs.push_back({result.members[m].name, std::move(members[m])});
  }
  return outputs;
}
