//===- StepRun.h - Results of a step on an engine ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_FUZZ_STEPRUN_H
#define REGATHER_TEST_FUZZ_STEPRUN_H

#include "CheckPlan.h"

#include "regather/Driver/CreateStepEngine.h"

#include <map>

namespace regather::fuzz {

/// A named result, put together of the parts of all ranks.
struct NamedResult {
  HostTensor tensor;
  /// What roles call it; `resultN` has no name of its own.
  bool isNamed = false;
};

/// The learning rate of steps that have one.
inline constexpr double kLearningRate = 0.125;

/// What a step gave, or why it gave nothing.
struct StepRun {
  std::map<std::string, NamedResult> results;
  /// Those of the step, members of flat ones one by one.
  std::vector<StepValue> parameters;
  std::optional<ArenaReport> arena;
  std::string failure;
};

struct RunSettings {
  EngineKind engine = EngineKind::Interpreter;
  /// Of the native engine.
  StepOptions options;
  uint64_t inputs = 0, order = 0;
  bool isExact = false;
  /// Of compiled kernels, for the native engine; empty for none.
  std::string cacheDirectory;
  /// The native engine optimises its kernels.
  bool optimizes = true;
};

/// Runs a copy of the step of `module` twice on inputs that the seed gives.
/// Both runs have to agree.
StepRun runStep(mlir::ModuleOp module, const RunSettings &settings);

/// Compiles a copy of the step into a bundle in a file of its own, and runs it.
StepRun runBundle(mlir::ModuleOp module, const RunSettings &settings);

/// The first difference between results of the same names; empty if there is
/// none. Without a tolerance, bits count, but all NaN are equal. The tolerance
/// is relative to the largest element of a result.
std::string compareRuns(const StepRun &expected, const StepRun &actual,
                        double tolerance);

/// True if no result is so large that sums of integers may have been rounded.
bool isSmall(const StepRun &run);

} // namespace regather::fuzz

#endif // REGATHER_TEST_FUZZ_STEPRUN_H
