//===- TakeLess.cpp - Decisions with fewer bytes --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TakeLess.h"

#include "regather/Pipelines/StepOptionText.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace regather;

bool regather::takeLess(StepOptions &options, const StepOptions &given,
                        int64_t bytes, int64_t unitBytes) {
  auto change = [](int64_t &number, int64_t by) {
    number = std::max<int64_t>(number + by, 1);
  };
  if (given.recompute.decision == PassDecision::Open &&
      options.recompute.options.mode == tg::PartitionMode::Budget) {
    change(options.recompute.options.budget.bytes, -bytes);
    return true;
  }
  if (given.offload.decision == PassDecision::Open &&
      options.offload.options.mode == tg::OffloadMode::Bytes) {
    change(options.offload.options.bytes.bytes, bytes);
    return true;
  }
  if (!given.policy && options.policy && options.policy->units >= 0) {
    // Rounded up: rather too little than too much.
    int64_t units = options.policy->units;
    if (unitBytes > 0)
      change(options.policy->units, bytes > 0
                                        ? llvm::divideCeil(bytes, unitBytes)
                                        : -(-bytes / unitBytes));
    return options.policy->units != units;
  }
  int64_t states = 0;
  if (options.states.states == given.states.states ||
      StringRef(options.states.states).getAsInteger(10, states))
    return false;
  change(states, bytes);
  options.states.states = std::to_string(states);
  return true;
}

std::string regather::describeKind(const StepOptions &options) {
  StepOptions kind = options;
  if (kind.policy)
    kind.policy->units = std::min<int64_t>(kind.policy->units, 0);
  int64_t bytes = 0;
  bool isPart = !StringRef(options.states.states).getAsInteger(10, bytes);
  return llvm::formatv("{0} {1} {2} {3} {4}", printStepOption(kind, "policy"),
                       static_cast<int>(options.recompute.options.mode),
                       printStepOption(options, "reshard"),
                       static_cast<int>(options.offload.options.mode),
                       isPart ? "part" : options.states.states);
}
