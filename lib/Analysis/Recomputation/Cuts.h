//===- Cuts.h - Plans as minimum cuts ---------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan is a cut. Behind it, on the side of the sink, `in` of an operation
// means that backward runs it, and `out` of a value that backward has it.
//
//   source -> in(o)     what running o again takes; infinite if that may not be
//   in(o) -> out(v)     what saving v takes, if o makes v
//   out(u) -> in(o)     infinite, if o reads u
//   out(v) -> sink      infinite, if backward reads v
//
// With seconds and bytes weighed against each other, the minimum cut is the
// plan of the least sum. That is the Lagrangian relaxation of a budget: of all
// plans (bytes, seconds), it finds those on the lower convex hull.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_RECOMPUTATION_CUTS_H
#define REGATHER_LIB_ANALYSIS_RECOMPUTATION_CUTS_H

#include "../Effort.h"

#include "regather/Analysis/Recomputation/MinimumCut.h"
#include "regather/Analysis/Recomputation/RecomputationPlanner.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>

namespace regather::recomputation {

/// The decision that an operation is run again, or is not.
struct Decision {
  uint32_t op = 0;
  bool recompute = false;
};

class PlanCutter {
public:
  explicit PlanCutter(const RecomputationProblem &problem);

  /// The plan of the least secondsWeight * seconds + bytesWeight * bytes among
  /// those that obey `decisions`; nothing if there is none.
  std::optional<RecomputationPlan> cut(double secondsWeight, double bytesWeight,
                                       llvm::ArrayRef<Decision> decisions = {});

  /// The least time, and among these plans about the fewest bytes.
  std::optional<RecomputationPlan>
  findFastest(llvm::ArrayRef<Decision> decisions = {});
  /// The fewest bytes, and among these plans about the least time.
  std::optional<RecomputationPlan>
  findSmallest(llvm::ArrayRef<Decision> decisions = {});

  const RecomputationProblem &getProblem() const { return problem; }
  /// Arcs of the network.
  uint64_t getSize() const { return 2 * numEdges; }

private:
  const RecomputationProblem &problem;
  FlowNetwork network;
  size_t numEdges = 0;
  double totalSeconds = 0, totalBytes = 0;
};

/// The plans on the lower convex hull, with falling bytes and rising seconds;
/// empty if there is no plan at all. Some are left out once `effort` is spent.
std::vector<RecomputationPlan> findHull(PlanCutter &cutter,
                                        planner::Effort &effort);

} // namespace regather::recomputation

#endif // REGATHER_LIB_ANALYSIS_RECOMPUTATION_CUTS_H
