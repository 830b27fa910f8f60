//===- RecomputationPlanner.cpp - Save within a budget --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Recomputation/RecomputationPlanner.h"
#include "regather/Support/LLVM/MakeFailure.h"

#include "Cuts.h"
#include "ReducedProblem.h"
#include "SegmentPlanner.h"

#include "llvm/ADT/Twine.h"

using namespace regather;
using namespace regather::recomputation;

/// The plan of the original problem for a plan of the reduced one.
static RecomputationPlan expand(const RecomputationProblem &problem,
                                const ReducedProblem &reduced,
                                const RecomputationPlan &plan) {
  RecomputationPlan expanded =
      *makePlan(problem, reduced.expand(plan.isRecomputed));
  expanded.lowerBound = plan.lowerBound;
  return expanded;
}

static Result<RecomputationPlan> findSmallest(const ReducedProblem &reduced) {
  PlanCutter cutter(reduced.get());
  if (std::optional<RecomputationPlan> plan = cutter.findSmallest())
    return std::move(*plan);
  return makeFailure(
      "a value that is needed can be neither saved nor computed again");
}

Result<RecomputationPlan>
regather::findSmallestPlan(const RecomputationProblem &problem) {
  if (Failure failure = verify(problem))
    return failure;
  ReducedProblem reduced(problem);
  Result<RecomputationPlan> plan = findSmallest(reduced);
  if (!plan)
    return plan.getFailure();
  return expand(problem, reduced, *plan);
}

Result<RecomputationPlan>
regather::planRecomputation(const RecomputationProblem &problem, int64_t budget,
                            const RecomputationPlannerOptions &options) {
  if (Failure failure = verify(problem))
    return failure;
  ReducedProblem reduced(problem);
  Result<RecomputationPlan> smallest = findSmallest(reduced);
  if (!smallest)
    return smallest.getFailure();
  if (smallest->savedBytes > budget)
    return makeFailure("budget of " + llvm::Twine(budget) +
                       " bytes is below the minimum of " +
                       llvm::Twine(smallest->savedBytes) + " bytes");
  std::optional<RecomputationPlan> plan =
      SegmentPlanner(reduced.get(), budget, options).solve();
  // The smallest plan fits, even if rounding has excluded the others.
  return expand(problem, reduced, plan ? *plan : *smallest);
}
