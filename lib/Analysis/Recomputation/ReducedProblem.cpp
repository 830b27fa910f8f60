//===- ReducedProblem.cpp - Smaller problems ------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReducedProblem.h"

#include "regather/Support/LLVM/MakeFailure.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <cmath>

using namespace regather;
using namespace regather::recomputation;

Failure recomputation::verify(const RecomputationProblem &problem) {
  size_t numOps = problem.ops.size(), numValues = problem.values.size();
  for (const auto &[number, value] : llvm::enumerate(problem.values)) {
    if (value.op >= numOps)
      return makeFailure("value " + llvm::Twine(number) +
                         " must be of one of the " + llvm::Twine(numOps) +
                         " operations, got " + llvm::Twine(value.op));
    if (value.bytes < 0)
      return makeFailure("bytes of value " + llvm::Twine(number) +
                         " must not be negative, got " +
                         llvm::Twine(value.bytes));
  }
  for (const auto &[number, op] : llvm::enumerate(problem.ops)) {
    if (!std::isfinite(op.seconds) || op.seconds < 0)
      return makeFailure("seconds of operation " + llvm::Twine(number) +
                         " must be finite and not negative, got " +
                         std::to_string(op.seconds));
    for (uint32_t input : op.inputs)
      if (input >= numValues || problem.values[input].op >= number)
        return makeFailure(
            "operation " + llvm::Twine(number) +
            " must read values of earlier operations, got value " +
            llvm::Twine(input));
  }
  return Failure();
}

/// The values of each operation, one after the other.
static std::vector<std::vector<uint32_t>>
getResults(const RecomputationProblem &problem) {
  std::vector<std::vector<uint32_t>> results(problem.ops.size());
  for (const auto &[number, value] : llvm::enumerate(problem.values))
    results[value.op].push_back(number);
  return results;
}

std::optional<RecomputationPlan>
recomputation::makePlan(const RecomputationProblem &problem,
                        const std::vector<bool> &recomputed) {
  RecomputationPlan plan;
  plan.isSaved.assign(problem.values.size(), false);
  plan.isRecomputed.assign(problem.ops.size(), false);
  // The values of an operation lie next to each other, but operations come in
  // any order, so that demand is counted for both.
  std::vector<bool> demanded(problem.values.size());
  std::vector<bool> isDemanded(problem.ops.size());
  auto demand = [&](uint32_t value) {
    demanded[value] = true;
    isDemanded[problem.values[value].op] = true;
  };
  for (const auto &[number, value] : llvm::enumerate(problem.values))
    if (value.isNeeded)
      demand(number);
  for (uint32_t op = problem.ops.size(); op-- > 0;) {
    if (!isDemanded[op] || !recomputed[op])
      continue;
    if (!problem.ops[op].mayRecompute)
      return std::nullopt;
    plan.isRecomputed[op] = true;
    plan.seconds += problem.ops[op].seconds;
    llvm::for_each(problem.ops[op].inputs, demand);
  }
  for (const auto &[number, value] : llvm::enumerate(problem.values)) {
    if (!demanded[number] || plan.isRecomputed[value.op])
      continue;
    if (!value.maySave)
      return std::nullopt;
    plan.isSaved[number] = true;
    plan.savedBytes += value.bytes;
  }
  return plan;
}

//===----------------------------------------------------------------------===//
// ReducedProblem
//===----------------------------------------------------------------------===//

/// By value, whether any plan can need it.
static std::vector<bool> findDemanded(const RecomputationProblem &problem,
                                      std::vector<bool> &isDemandedOp) {
  std::vector<bool> demanded(problem.values.size());
  isDemandedOp.assign(problem.ops.size(), false);
  auto demand = [&](uint32_t value) {
    demanded[value] = true;
    isDemandedOp[problem.values[value].op] = true;
  };
  for (const auto &[number, value] : llvm::enumerate(problem.values))
    if (value.isNeeded)
      demand(number);
  for (uint32_t op = problem.ops.size(); op-- > 0;)
    if (isDemandedOp[op] && problem.ops[op].mayRecompute)
      llvm::for_each(problem.ops[op].inputs, demand);
  return demanded;
}

ReducedProblem::ReducedProblem(const RecomputationProblem &problem)
    : problem(problem), opNumbers(problem.ops.size(), kNone) {
  constexpr uint32_t kFree = kNone;
  std::vector<bool> isDemandedOp;
  std::vector<bool> demanded = findDemanded(problem, isDemandedOp);
  std::vector<std::vector<uint32_t>> results = getResults(problem);
  // By original value: the value of the reduced problem that stands for it.
  std::vector<uint32_t> numbers(problem.values.size(), kFree);
  for (const auto &[number, op] : llvm::enumerate(problem.ops)) {
    if (!isDemandedOp[number])
      continue;
    std::vector<uint32_t> inputs;
    for (uint32_t input : op.inputs)
      if (numbers[input] != kFree)
        inputs.push_back(numbers[input]);
    llvm::sort(inputs);
    inputs.erase(llvm::unique(inputs), inputs.end());
    if (op.mayRecompute && op.seconds == 0) {
      if (inputs.empty())
        continue;
      // Instead of a view, a plan can as well save the value that it is a view
      // of, unless that is larger.
      const RecomputationProblem::Value *whole = &reduced.values[inputs[0]];
      const RecomputationProblem::Value &view =
          problem.values[results[number][0]];
      if (inputs.size() == 1 && results[number].size() == 1 &&
          whole->bytes <= view.bytes && (whole->maySave || !view.maySave)) {
        numbers[results[number][0]] = inputs[0];
        reduced.values[inputs[0]].isNeeded |= view.isNeeded;
        continue;
      }
    }
    opNumbers[number] = reduced.addOp(
        op.seconds, op.mayRecompute,
        op.mayRecompute ? std::move(inputs) : std::vector<uint32_t>());
    for (uint32_t result : results[number])
      if (demanded[result])
        numbers[result] = reduced.addValue(
            opNumbers[number], problem.values[result].bytes,
            problem.values[result].maySave, problem.values[result].isNeeded);
  }
}

std::vector<bool>
ReducedProblem::expand(const std::vector<bool> &recomputed) const {
  std::vector<bool> expanded(problem.ops.size());
  for (auto [number, reducedNumber] : llvm::enumerate(opNumbers))
    expanded[number] = reducedNumber == kNone ? problem.ops[number].mayRecompute
                                              : recomputed[reducedNumber];
  return expanded;
}
