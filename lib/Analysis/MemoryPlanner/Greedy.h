//===- Greedy.h - Quick packings --------------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_MEMORYPLANNER_GREEDY_H
#define REGATHER_LIB_ANALYSIS_MEMORYPLANNER_GREEDY_H

#include "../Effort.h"
#include "PackingProblem.h"

#include "llvm/ADT/StringRef.h"

namespace regather::planner {

/// The best packing of one component found so far.
struct Incumbent {
  /// By place in `Component::blocks`.
  std::vector<uint64_t> offsets;
  uint64_t peak = UINT64_MAX;
  llvm::StringRef strategy = "none needed";
};

/// Places blocks in several orders, each at the lowest place that is free,
/// until the peak is at most `target`. Near-linear in the number of blocks.
void packInOrders(const Problem &problem, const Component &component,
                  uint64_t target, Incumbent &best);

/// Improves the packing while effort lasts: places the blocks again after
/// moving those forward that reached too high.
void improveOrder(const Problem &problem, const Component &component,
                  uint64_t target, Effort &effort, Incumbent &best);

} // namespace regather::planner

#endif // REGATHER_LIB_ANALYSIS_MEMORYPLANNER_GREEDY_H
