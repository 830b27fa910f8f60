//===- PlanSearch.h - Exact plans -------------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_RECOMPUTATION_PLANSEARCH_H
#define REGATHER_LIB_ANALYSIS_RECOMPUTATION_PLANSEARCH_H

#include "../Effort.h"
#include "Cuts.h"

namespace regather::recomputation {

/// The plan of the fewest seconds that saves at most `budget` bytes and takes
/// less than `cutoff` seconds, up to `tolerance` (a part of the seconds) and as
/// far as `effort` goes; `lowerBound` says how close it is. Nothing if there is
/// no such plan, or none was found.
///
/// Branch and bound: what operations are run again is decided one after the
/// other, and minimum cuts give the bounds.
std::optional<RecomputationPlan> searchPlan(PlanCutter &cutter, int64_t budget,
                                            double cutoff, double tolerance,
                                            planner::Effort &effort);

} // namespace regather::recomputation

#endif // REGATHER_LIB_ANALYSIS_RECOMPUTATION_PLANSEARCH_H
