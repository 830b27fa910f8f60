//===- UnitPlans.h - Which units are computed again -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_RECOMPUTATION_UNITPLANS_H
#define REGATHER_ANALYSIS_RECOMPUTATION_UNITPLANS_H

#include "regather/Analysis/Modules/ModulePattern.h"
#include "regather/Analysis/Recomputation/CheckpointMarks.h"
#include "regather/Support/Result.h"

namespace regather {

/// Plans for the checkpointed units of forward.
struct UnitPlans {
  /// For units that no pattern names.
  CheckpointPlan plan = CheckpointPlan::None;
  /// How many of these have it, from the first one on, and the plan of those
  /// behind them. Without a number, all have it.
  std::optional<uint64_t> numFirst;
  CheckpointPlan others = CheckpointPlan::None;
  /// By pattern.
  std::vector<CheckpointPlan> ofPatterns;
};

struct PlannedModules {
  /// By path: its unit and the plan for that, and nothing else.
  std::vector<CheckpointNode> nodes;
  /// There are fewer units than are to have the plan.
  Failure failure;
};

/// Finds the units of module paths, which come in the order in which forward
/// runs them, as `findUnitsOfPaths` does. `matches` are by path. Linear.
PlannedModules planUnits(llvm::ArrayRef<llvm::StringRef> paths,
                         llvm::ArrayRef<PatternMatch> matches,
                         const UnitPlans &plans);

} // namespace regather

#endif // REGATHER_ANALYSIS_RECOMPUTATION_UNITPLANS_H
