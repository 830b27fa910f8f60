//===- Distances.h - Heads and tails of operations --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_DISTANCES_H
#define REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_DISTANCES_H

#include "ScheduleGraph.h"

namespace regather::overlap {

/// Raises heads and tails, which are lengths of paths, to what resources need
/// for the work on the way. O(n log n), and a constant number of passes over
/// all operations.
void tightenDistances(Graph &graph);

} // namespace regather::overlap

#endif // REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_DISTANCES_H
