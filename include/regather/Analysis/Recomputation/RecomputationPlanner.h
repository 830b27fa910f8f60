//===- RecomputationPlanner.h - Save within a budget ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides which values forward keeps for backward when they may take so many
// bytes and no more, and which operations backward therefore runs again.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_RECOMPUTATION_RECOMPUTATIONPLANNER_H
#define REGATHER_ANALYSIS_RECOMPUTATION_RECOMPUTATIONPLANNER_H

#include "regather/Support/Result.h"

#include <cstdint>
#include <vector>

namespace regather {

/// Forward, as backward sees it. Operations and values are known by their
/// index. What costs nothing to have, such as arguments, is left out.
struct RecomputationProblem {
  struct Op {
    /// What running it again takes; not negative.
    double seconds = 0;
    bool mayRecompute = true;
    /// Values that it reads. Earlier operations make them.
    std::vector<uint32_t> inputs;
  };
  struct Value {
    /// The operation that makes it.
    uint32_t op = 0;
    /// What saving it takes; not negative.
    int64_t bytes = 0;
    bool maySave = true;
    /// True if backward reads it.
    bool isNeeded = false;
  };

  uint32_t addOp(double seconds, bool mayRecompute,
                 std::vector<uint32_t> inputs) {
    ops.push_back({seconds, mayRecompute, std::move(inputs)});
    return ops.size() - 1;
  }
  uint32_t addValue(uint32_t op, int64_t bytes, bool maySave, bool isNeeded) {
    values.push_back({op, bytes, maySave, isNeeded});
    return values.size() - 1;
  }

  std::vector<Op> ops;
  std::vector<Value> values;
};

/// Every value that is needed, by backward or by an operation that is run
/// again, is saved, or its operation is run again. Nothing is done for nobody.
struct RecomputationPlan {
  /// By value, by operation.
  std::vector<bool> isSaved, isRecomputed;
  int64_t savedBytes = 0;
  /// Of all operations that are run again, each once.
  double seconds = 0;
  /// No plan within the budget takes fewer seconds than that.
  double lowerBound = 0;
};

struct RecomputationPlannerOptions {
  /// The search for a better plan ends when this part of the seconds, at most,
  /// could still be won.
  double tolerance = 1e-3;
  /// What the search may spend beyond the first plans, in arcs of flow networks
  /// looked at: the same on every machine. A thousand take about 10 us.
  uint64_t effort = 40'000'000;
};

/// Of the plans that save the fewest bytes, one that takes the least time, up
/// to rounding. Fails if a value that is needed can be neither saved nor
/// computed again, and for a malformed problem.
Result<RecomputationPlan> findSmallestPlan(const RecomputationProblem &problem);

/// Looks for the plan of the fewest seconds among those that save at most
/// `budget` bytes. The result depends on the problem alone, and its distance
/// to the optimum is known (`lowerBound`). Fails like `findSmallestPlan`, and
/// if the budget is below what that plan saves.
///
/// The operations are cut into segments at points of the program over which few
/// values are carried. Each distinct segment is solved once, by minimum cuts
/// and branch and bound; a dynamic programme combines what they may save.
Result<RecomputationPlan>
planRecomputation(const RecomputationProblem &problem, int64_t budget,
                  const RecomputationPlannerOptions &options = {});

} // namespace regather

#endif // REGATHER_ANALYSIS_RECOMPUTATION_RECOMPUTATIONPLANNER_H
