//===- BudgetPlan.h - Save within a budget ----------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_PARTITION_BUDGETPLAN_H
#define REGATHER_DIALECT_TG_TRANSFORMS_PARTITION_BUDGETPLAN_H

#include "SavedValues.h"

#include "regather/Analysis/Recomputation/RecomputationPlanner.h"
#include "regather/Dialect/TG/Steps/StepCosts.h"

namespace regather::tg::partition {

/// The costs on the cluster that `nameOrPath` names. Emits an error at `func`
/// if there is none.
mlir::FailureOr<CostModel> loadCostModel(mlir::FunctionOpInterface func,
                                         llvm::StringRef nameOrPath);

struct BudgetPlan {
  SavedValues saved;
  /// What backward runs again. A wait stands for its collective.
  llvm::DenseSet<mlir::Operation *> recomputed;
  int64_t savedBytes = 0;
  double seconds = 0;
  /// No plan takes less.
  double lowerBound = 0;
};

/// The forward part of a step as the planner sees it: marks, costs, and what
/// backward reads.
RecomputationProblem makeRecomputationProblem(const Step &step,
                                              StepCosts &costs);

/// Finds what to save so that it takes at most `budget` bytes and what is
/// computed again little time. Emits an error if the budget is too small, with
/// the least that is possible.
mlir::FailureOr<BudgetPlan> saveWithinBudget(const Step &step, int64_t budget,
                                             StepCosts &costs);

} // namespace regather::tg::partition

#endif // REGATHER_DIALECT_TG_TRANSFORMS_PARTITION_BUDGETPLAN_H
