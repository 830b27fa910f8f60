//===- JoinParts.cpp - One step of two functions --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JoinParts.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace regather;

/// True if a value that is one can be passed as the other.
static bool haveSameType(const StepValue &first, const StepValue &second) {
  return first.elementType == second.elementType &&
         first.localShape == second.localShape &&
         first.globalShape == second.globalShape;
}

static LogicalResult emitMismatch(const AnalyzedStep &forward,
                                  const AnalyzedStep &backward,
                                  const Twine &message) {
  func::FuncOp taking = backward.entry, giving = forward.entry;
  InFlightDiagnostic diag = taking.emitError() << message;
  diag.attachNote(giving.getLoc()) << "forward is here";
  return diag;
}

/// Backward begins with the arguments of forward.
static LogicalResult verifyArguments(const AnalyzedStep &forward,
                                     const AnalyzedStep &backward) {
  const std::vector<StepValue> &given = forward.signature.arguments;
  const std::vector<StepValue> &taken = backward.signature.arguments;
  for (auto [number, argument] : llvm::enumerate(given))
    if (number >= taken.size() || taken[number].name != argument.name ||
        taken[number].role != argument.role ||
        !haveSameType(taken[number], argument))
      return emitMismatch(forward, backward,
                          "argument " + Twine(number) +
                              " of backward is not \"" + argument.name +
                              "\", which it is of forward");
  return success();
}

/// Numbers of the results of forward that the further arguments of backward
/// take.
static FailureOr<std::vector<unsigned>>
matchSaved(const AnalyzedStep &forward, const AnalyzedStep &backward) {
  llvm::StringMap<unsigned> saved;
  for (auto [number, result] : llvm::enumerate(forward.signature.results))
    if (result.role == Role::Saved)
      saved[result.name] = number;
  std::vector<unsigned> matched;
  for (const StepValue &argument :
       ArrayRef<StepValue>(backward.signature.arguments)
           .drop_front(forward.signature.arguments.size())) {
    auto it = saved.find(argument.name);
    if (it == saved.end() ||
        !haveSameType(argument, forward.signature.results[it->second]))
      return emitMismatch(forward, backward,
                          "backward takes \"" + Twine(argument.name) +
                              "\", but forward saves no value of that name "
                              "and type");
    matched.push_back(it->second);
  }
  return matched;
}

LogicalResult regather::joinParts(AnalyzedStep &step,
                                  const AnalyzedStep &backward) {
  if (failed(verifyArguments(step, backward)))
    return failure();
  FailureOr<std::vector<unsigned>> saved = matchSaved(step, backward);
  if (failed(saved))
    return failure();
  StepPartition partition;
  partition.saved = std::move(*saved);
  std::vector<StepValue> results;
  llvm::StringSet<> names;
  for (auto [number, result] : llvm::enumerate(step.signature.results)) {
    if (result.role == Role::Saved)
      continue;
    partition.returned.push_back(number);
    for (const StepValue &inFile : result.getFileValues())
      names.insert(inFile.name);
    results.push_back(result);
  }
  for (const StepValue &result : backward.signature.results) {
    for (const StepValue &inFile : result.getFileValues())
      if (!names.insert(inFile.name).second)
        return emitMismatch(step, backward,
                            "forward and backward both return \"" +
                                Twine(inFile.name) + "\"");
    results.push_back(result);
  }
  step.signature.results = std::move(results);
  if (step.signature.loss && backward.signature.loss)
    return emitMismatch(step, backward,
                        "forward and backward both return a loss");
  step.signature.loss.reset();
  step.signature.overflow.reset();
  for (auto [number, result] : llvm::enumerate(step.signature.results)) {
    if (result.role == Role::Loss)
      step.signature.loss = number;
    if (result.role == Role::Overflow)
      step.signature.overflow = number;
  }
  step.backward = BackwardPart{backward.entry, std::move(partition)};
  return success();
}
