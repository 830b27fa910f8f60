//===- Bounds.h - What no order can beat ------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_BOUNDS_H
#define REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_BOUNDS_H

#include "ScheduleGraph.h"

namespace regather::overlap {

/// Work of one resource, which begins no earlier than `head`, and which at
/// least `tail` seconds follow.
struct Job {
  double head = 0;
  double seconds = 0;
  double tail = 0;
};

/// The least time in which one resource can do all jobs if it may interrupt
/// them: Jackson's rule, always the available one with the longest tail.
/// O(n log n).
double computeOneResourceBound(std::vector<Job> jobs);

/// No order takes less time: heads, tails, and what each resource has to do
/// between them.
double computeLowerBound(const Graph &graph);

} // namespace regather::overlap

#endif // REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_BOUNDS_H
