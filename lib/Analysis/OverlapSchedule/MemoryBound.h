//===- MemoryBound.h - Bytes that every order has live ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_MEMORYBOUND_H
#define REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_MEMORYBOUND_H

#include "ScheduleGraph.h"

namespace regather::overlap {

/// No order takes less memory: what is live at an operation in every order,
/// because what writes it comes before and something that uses it does not.
/// Looks at all operations of a step of some 10,000, and at some of a longer
/// one, so that it takes O(n) and a fraction of a second.
int64_t computeMemoryBound(const Graph &graph);

} // namespace regather::overlap

#endif // REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_MEMORYBOUND_H
