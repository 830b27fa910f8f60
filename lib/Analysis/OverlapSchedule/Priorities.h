//===- Priorities.h - How late operations may begin -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_PRIORITIES_H
#define REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_PRIORITIES_H

#include "ScheduleGraph.h"

namespace regather::overlap {

/// How long before the end of the step each operation begins if everything is
/// put off as long as possible. Of operations that compete for a resource, the
/// one with the latest of `begins`, in seconds since the step began, comes
/// last. O(n log n).
std::vector<double> computePriorities(const Graph &graph,
                                      llvm::ArrayRef<double> begins);
/// When each operation is issued in an order, and not before its head.
std::vector<double> computeBegins(const Graph &graph,
                                  llvm::ArrayRef<uint32_t> order);

} // namespace regather::overlap

#endif // REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_PRIORITIES_H
