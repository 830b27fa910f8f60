//===- Training.h - Run a step several times --------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_TRAINING_TRAINING_H
#define REGATHER_EXECUTION_TRAINING_TRAINING_H

#include "regather/Execution/Engines/Engine.h"
#include "regather/Execution/Tensors/Safetensors.h"
#include "regather/Execution/Tensors/StepSignature.h"

#include <functional>
#include <memory>

namespace regather {

struct TrainingResult {
  /// One for each step; empty if the step has no loss.
  std::vector<double> losses;
  /// Wall-clock time of each step.
  std::vector<double> seconds;
  /// For each step, what Engine::getWaitSeconds says.
  std::vector<std::vector<double>> waitSeconds;
  /// For each step, the most that Engine::getDeviceSeconds says of a rank;
  /// empty if it says nothing.
  std::vector<double> deviceSeconds;
  /// Steps that were run again, with room for all rows.
  int64_t numRepeated = 0;
  /// Results of the last step on every rank.
  std::vector<RankValues> results;
  /// What getConstants names, on every rank: with the updates, all that a
  /// training goes on with.
  std::vector<RankValues> constants;
  /// The one rank that there are results of, as Engine::getOnlyRank says.
  std::optional<int32_t> onlyRank;
};

/// Called after each step with its number from 0 up.
using StepCallback = std::function<void(
    int64_t step, std::optional<double> loss, double seconds)>;

/// Called before each step with its number from 0 up, to put new data into the
/// arguments of the ranks.
using FeedCallback =
    std::function<void(int64_t step, std::vector<RankValues> &arguments)>;

/// What runs a step that had too little room for its rows: it takes the same
/// arguments, and has the same results but for the overflow.
struct RoomyStep {
  StepSignature step;
  std::unique_ptr<Engine> engine;
};

/// What is wrong if `roomy` is to run again what `step` had too little room
/// for: a tensor of one cannot be used as that of the other.
Failure checkRoomy(const StepSignature &step, const StepSignature &roomy);

/// What happens around the steps of a training.
struct TrainingHooks {
  StepCallback callback;
  FeedCallback feed = {};
  /// Asked after each step but the last; if it is true, the training ends. In a
  /// job, all ranks end after the same step when one of them is asked to.
  std::function<bool()> shouldStop = {};
  /// Called after each `saveEvery` steps but the last, with what has been
  /// trained so far, fetched. The training fails, without a message, if it is
  /// false.
  int64_t saveEvery = 0;
  std::function<bool(int64_t step, const TrainingResult &training)> save = {};
  /// Called when a step had too little room for its rows, for the first one
  /// alone. Without it such a step is an error.
  std::function<Result<RoomyStep>()> createRoomy = {};
};

/// Runs `steps` steps from `arguments`, or fewer if it should stop. After each,
/// the updates become the arguments that they belong to, and the number of the
/// step goes up by one; other arguments stay as they are, unless `feed` gives
/// them new values. A step that had too little room for its rows is run again.
/// If the engine fails, it has said why, and the message is
/// empty.
Result<TrainingResult> train(Engine &engine, const StepSignature &step,
                             std::vector<RankValues> arguments, int64_t steps,
                             const TrainingHooks &hooks);

/// The results of the last step, and the constants, as global tensors under the
/// names of the signature. Fails if copies that should be equal differ. In a
/// job, rank 0 gets them from all ranks, which have to collect them, too, and
/// get none.
Result<std::vector<NamedTensor>> collectOutputs(Engine &engine,
                                                const StepSignature &step,
                                                const TrainingResult &training);

} // namespace regather

#endif // REGATHER_EXECUTION_TRAINING_TRAINING_H
