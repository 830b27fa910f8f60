//===- Training.cpp - Run a step several times ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Training.h"

#include "regather/Execution/StepInputs.h"

#include <chrono>

using namespace mlir;
using namespace regather;
using namespace regather::tg;

/// The loss of a step. Every rank has it; unsharding checks that they agree.
static FailureOr<std::optional<double>> getLoss(const StepSignature &step,
                                                ArrayRef<RankValues> results) {
  if (!step.loss)
    return std::optional<double>();
  std::vector<HostTensor> parts;
  for (const RankValues &values : results)
    parts.push_back(values[*step.loss]);
  llvm::Expected<HostTensor> loss =
      unshardTensor(parts, step.results[*step.loss], step.mesh);
  if (!loss) {
    func::FuncOp entry = step.entry;
    return entry.emitError() << llvm::toString(loss.takeError());
  }
  return std::optional<double>(loss->getAsDouble(0));
}

/// What the next step receives: the updates, and its number.
static void advance(const StepSignature &step, ArrayRef<RankValues> results,
                    std::vector<RankValues> &arguments) {
  for (auto [rank, values] : llvm::enumerate(results))
    for (auto [result, value] : llvm::zip(step.results, values))
      if (result.role == RoleKind::Update)
        arguments[rank][result.argument] = value;
  for (auto [index, argument] : llvm::enumerate(step.arguments)) {
    if (argument.role != RoleKind::Step)
      continue;
    // Tensors share their bytes, so that the old number stays what it was.
    int64_t number = arguments.front()[index].getAsInteger(0) + 1;
    for (RankValues &values : arguments)
      values[index] = makeStepNumber(number);
  }
}

FailureOr<TrainingResult> regather::train(Engine &engine,
                                          const StepSignature &step,
                                          std::vector<RankValues> arguments,
                                          int64_t steps, StepCallback callback,
                                          FeedCallback feed) {
  using Clock = std::chrono::steady_clock;
  TrainingResult training;
  for (int64_t i = 0; i != steps; ++i) {
    training.results.clear();
    if (feed)
      feed(i, arguments);
    Clock::time_point start = Clock::now();
    if (failed(engine.run(arguments, training.results)))
      return failure();
    double seconds =
        std::chrono::duration<double>(Clock::now() - start).count();
    FailureOr<std::optional<double>> loss = getLoss(step, training.results);
    if (failed(loss))
      return failure();
    training.seconds.push_back(seconds);
    if (*loss)
      training.losses.push_back(**loss);
    advance(step, training.results, arguments);
    callback(i, *loss, seconds);
  }
  return training;
}

llvm::Expected<std::vector<NamedTensor>>
regather::collectOutputs(const StepSignature &step,
                         const TrainingResult &training) {
  std::vector<NamedTensor> outputs;
  for (auto [i, result] : llvm::enumerate(step.results)) {
    std::vector<HostTensor> parts;
    for (const RankValues &values : training.results)
      parts.push_back(values[i]);
    llvm::Expected<HostTensor> global = unshardTensor(parts, result, step.mesh);
    if (!global)
      return global.takeError();
    if (result.members.empty()) {
      outputs.push_back({result.name, std::move(*global)});
      continue;
    }
    for (auto [member, tensor] :
         llvm::zip_equal(result.members, splitMembers(result, *global)))
      outputs.push_back({member.name, std::move(tensor)});
  }
  return outputs;
}
