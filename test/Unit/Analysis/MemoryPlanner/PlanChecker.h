//===- PlanChecker.h - Whether a memory plan holds ------------ -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_UNIT_ANALYSIS_MEMORYPLANNER_PLANCHECKER_H
#define REGATHER_TEST_UNIT_ANALYSIS_MEMORYPLANNER_PLANCHECKER_H

#include "regather/Analysis/MemoryPlanner/MemoryPlanner.h"

namespace regather {

/// Checks offsets against the request: alignment, fixed places, groups, the end
/// of the arena, and that buffers live together do not overlap, apart from
/// in-place pairs. Takes O(n log n) and shares nothing with the planner.
Failure checkMemoryPlan(const MemoryPlanRequest &request,
                        llvm::ArrayRef<uint64_t> offsets, uint64_t peak);

} // namespace regather

#endif // REGATHER_TEST_UNIT_ANALYSIS_MEMORYPLANNER_PLANCHECKER_H
