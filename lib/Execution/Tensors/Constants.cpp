//===- Constants.cpp - What a training step leaves as it is ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Tensors/StepSignature.h"

using namespace regather;

static bool isState(const StepValue &value) {
  return value.role == Role::Parameter || value.role == Role::Buffer ||
         value.role == Role::OptimizerState;
}

std::vector<size_t> regather::getConstants(const StepSignature &step) {
  std::vector<bool> isUpdated(step.arguments.size());
  bool updates = false;
  for (const StepValue &result : step.results)
    if (result.role == Role::Update) {
      isUpdated[static_cast<size_t>(result.argument)] = true;
      updates = true;
    }
  std::vector<size_t> constants;
  for (size_t i = 0; updates && i != step.arguments.size(); ++i)
    if (isState(step.arguments[i]) && !isUpdated[i])
      constants.push_back(i);
  return constants;
}
