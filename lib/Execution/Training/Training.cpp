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
#include <utility>

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

/// The updates become arguments. Ranks of other processes have none.
static void takeUpdates(const StepSignature &step,
                        const std::vector<RankValues> &results,
                        std::vector<RankValues> &arguments) {
  for (size_t rank = 0; rank < results.size(); ++rank)
    for (size_t i = 0; i < step.results.size(); ++i)
      if (step.results[i].role == Role::Update && !arguments[rank].empty())
        arguments[rank][step.results[i].argument] = results[rank][i];
}

/// What the next step receives: the updates, and its number.
static void advance(const StepSignature &step,
                    const std::vector<RankValues> &results,
                    std::vector<RankValues> &arguments) {
  takeUpdates(step, results, arguments);
  for (size_t i = 0; i < step.arguments.size(); ++i) {
    if (step.arguments[i].role != Role::Step)
      continue;
    // Tensors share their bytes, so that the old number stays what it was.
    for (RankValues &values : arguments)
      if (!values.empty())
        values[i] = makeStepNumber(values[i].getAsInteger(0) + 1);
  }
}

/// How many rows there was no room for, which all ranks know alike.
static int64_t getOverflow(const StepSignature &step,
                           const TrainingResult &training) {
  if (!step.overflow)
    return 0;
  auto rank = static_cast<size_t>(training.onlyRank.value_or(0));
  return training.results[rank][*step.overflow].getAsInteger(0);
}

namespace {
/// Runs steps again.
class StepRepeater {
public:
  StepRepeater(Engine &engine, const StepSignature &step,
               const TrainingHooks &hooks)
      : engine(engine), step(step), hooks(hooks) {}

  /// The seconds that it took; the results are then those of the step.
  Result<double> run(std::vector<RankValues> &arguments,
                     TrainingResult &training);

private:
  Failure create(int64_t overflow);

  Engine &engine;
  const StepSignature &step;
  const TrainingHooks &hooks;
  std::optional<RoomyStep> roomy;
};
} // namespace

/// True if tensors of one can be used as the other.
static bool isSame(const StepValue &lhs, const StepValue &rhs) {
  return lhs.name == rhs.name && lhs.role == rhs.role &&
         lhs.argument == rhs.argument && lhs.elementType == rhs.elementType &&
         lhs.localShape == rhs.localShape &&
         lhs.globalShape == rhs.globalShape && lhs.placement == rhs.placement &&
         lhs.members == rhs.members;
}

/// What the first of two values that differ is called; empty if none does.
static std::string findOther(const std::vector<StepValue> &lhs,
                             const std::vector<StepValue> &rhs) {
  size_t count = std::max(lhs.size(), rhs.size());
  for (size_t i = 0; i != count; ++i)
    if (i >= lhs.size() || i >= rhs.size() || !isSame(lhs[i], rhs[i]))
      return i < lhs.size() ? lhs[i].name : rhs[i].name;
  return "";
}

Failure regather::checkRoomy(const StepSignature &step,
                             const StepSignature &roomy) {
  std::vector<StepValue> results = step.results;
  results.erase(results.begin() + *step.overflow);
  auto explain = [](const char *kind, const std::string &name) {
    return Failure("a step that has too little room for its rows cannot be "
                   "run again: with room for all, " +
                   std::string(kind) + " '" + name + "' differs");
  };
  if (std::string name = findOther(step.arguments, roomy.arguments);
      !name.empty())
    return explain("argument", name);
  if (std::string name = findOther(results, roomy.results); !name.empty())
    return explain("result", name);
  return Failure();
}

Failure StepRepeater::create(int64_t overflow) {
  if (roomy)
    return Failure();
  if (!hooks.createRoomy)
    return Failure("a step had no room for " + std::to_string(overflow) +
                   " of the rows that one rank sends to another's experts, and "
                   "nothing has been updated: give it more room, or run it "
                   "from its capture, so that it can be compiled with room for "
                   "all");
  Result<RoomyStep> created = hooks.createRoomy();
  if (!created)
    return created.getFailure();
  if (Failure failure = checkRoomy(step, created->step))
    return failure;
  roomy = std::move(*created);
  return Failure();
}

Result<double> StepRepeater::run(std::vector<RankValues> &arguments,
                                 TrainingResult &training) {
  using Clock = std::chrono::steady_clock;
  if (Failure failure = create(getOverflow(step, training)))
    return failure;
  // The updates are what there was before, which the arguments may not hold any
  // more.
  if (!engine.fetch(training.results))
    return Failure(std::string());
  takeUpdates(step, training.results, arguments);
  Clock::time_point start = Clock::now();
  std::vector<RankValues> results;
  if (!roomy->engine->run(arguments, results) || !roomy->engine->fetch(results))
    return Failure(std::string());
  double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  // Ranks of other processes have no results.
  for (size_t rank = 0; rank != results.size(); ++rank)
    if (!results[rank].empty())
      results[rank].insert(results[rank].begin() + *step.overflow,
                           makeStepNumber(0));
  training.results = std::move(results);
  ++training.numRepeated;
  return seconds;
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
  std::vector<size_t> constants = getConstants(step);
  for (const RankValues &values : arguments) {
    RankValues &kept = training.constants.emplace_back();
    for (size_t i : constants)
      // Ranks of other processes have none.
      kept.push_back(values.empty() ? HostTensor() : values[i]);
  }
  StepRepeater repeater(engine, step, hooks);
  for (int64_t i = 0; i != steps; ++i) {
    training.results.clear();
    if (hooks.feed)
      hooks.feed(i, arguments);
    Clock::time_point start = Clock::now();
    if (!engine.run(arguments, training.results))
      return Failure(std::string());
    double seconds =
        std::chrono::duration<double>(Clock::now() - start).count();
    if (getOverflow(step, training) > 0) {
      Result<double> again = repeater.run(arguments, training);
      if (!again)
        return again.getFailure();
      seconds += *again;
    }
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

/// What each rank has of a value; in a job, nothing but at rank 0.
static Result<std::vector<HostTensor>>
collectParts(Engine &engine, const std::optional<int32_t> &onlyRank,
             const std::vector<RankValues> &values, size_t number) {
  if (onlyRank)
    return engine.gather(values[static_cast<size_t>(*onlyRank)][number]);
  std::vector<HostTensor> parts;
  for (const RankValues &each : values)
    parts.push_back(each[number]);
  return parts;
}

/// Adds value `number` of `values` as a global tensor, or each of its members.
static Failure collect(Engine &engine, const StepSignature &step,
                       const StepValue &value,
                       const std::optional<int32_t> &onlyRank,
                       const std::vector<RankValues> &values, size_t number,
                       std::vector<NamedTensor> &outputs) {
  Result<std::vector<HostTensor>> parts =
      collectParts(engine, onlyRank, values, number);
  if (!parts)
    return Failure("cannot collect the results: " + parts.getMessage());
  if (onlyRank.value_or(0) != 0)
    return Failure();
  Result<HostTensor> global = unshardTensor(*parts, value, step);
  if (!global)
    return global.getFailure();
  if (value.members.empty()) {
    outputs.push_back({value.name, std::move(*global)});
    return Failure();
  }
  std::vector<HostTensor> members = splitMembers(value, *global);
  for (size_t m = 0; m < members.size(); ++m)
    outputs.push_back({value.members[m].name, std::move(members[m])});
  return Failure();
}

Result<std::vector<NamedTensor>>
regather::collectOutputs(Engine &engine, const StepSignature &step,
                         const TrainingResult &training) {
  std::vector<NamedTensor> outputs;
  for (size_t i = 0; i < step.results.size(); ++i)
    // How many rows there was no room for is about the run, not of what is
    // trained.
    if (step.overflow != i)
      if (Failure failure =
              collect(engine, step, step.results[i], training.onlyRank,
                      training.results, i, outputs))
        return failure;
  std::vector<size_t> constants = getConstants(step);
  for (size_t i = 0; i < constants.size(); ++i)
    if (Failure failure =
            collect(engine, step, step.arguments[constants[i]],
                    training.onlyRank, training.constants, i, outputs))
      return failure;
  return outputs;
}
