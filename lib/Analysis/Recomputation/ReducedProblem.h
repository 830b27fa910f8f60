//===- ReducedProblem.h - Smaller problems ----------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_RECOMPUTATION_REDUCEDPROBLEM_H
#define REGATHER_LIB_ANALYSIS_RECOMPUTATION_REDUCEDPROBLEM_H

#include "regather/Analysis/Recomputation/RecomputationPlanner.h"

#include <optional>

namespace regather::recomputation {

inline constexpr uint32_t kNone = ~uint32_t(0);

/// Fails if an index is out of range, operations read what later ones make, or
/// numbers are negative.
Failure verify(const RecomputationProblem &problem);

/// The plan that runs the operations `recomputed` again, as far as anything
/// needs them, and saves what else is needed. Nothing if that may not be saved,
/// or if one of them may not run again.
std::optional<RecomputationPlan> makePlan(const RecomputationProblem &problem,
                                          const std::vector<bool> &recomputed);

/// A problem with the same optimum and without what is easily decided:
/// operations that nothing needs, values that are free to have, and values that
/// are views of another one, which stands for them.
class ReducedProblem {
public:
  explicit ReducedProblem(const RecomputationProblem &problem);

  const RecomputationProblem &get() const { return reduced; }
  /// By operation of the original problem, what `plan` means for it.
  std::vector<bool> expand(const std::vector<bool> &recomputed) const;

private:
  const RecomputationProblem &problem;
  RecomputationProblem reduced;
  /// By original operation, its number in the reduced problem; kNone if it is
  /// run again wherever it is needed.
  std::vector<uint32_t> opNumbers;
};

} // namespace regather::recomputation

#endif // REGATHER_LIB_ANALYSIS_RECOMPUTATION_REDUCEDPROBLEM_H
