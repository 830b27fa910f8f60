//===- List.h - List schedules ----------------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_LIST_H
#define REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_LIST_H

#include "ScheduleGraph.h"

namespace regather::overlap {

struct Limits {
  int64_t bytes = 0;
  uint32_t inFlight = 0;
};

/// How a list schedule chooses among what could be next.
struct ListRule {
  /// The operation with the longest tail comes first; otherwise the first one
  /// of the base.
  bool takesLongestTail = false;
  /// The device waits rather than delay an operation with a longer tail that a
  /// collective under way releases.
  bool protectsLongestTail = false;
  /// Collectives start shortly before they are needed, which leaves memory to
  /// those under way; otherwise they start as early as memory allows.
  bool startsLate = false;
};

/// Issues operations one after the other, at a simulated time.
///
///   until all are issued:
///     issue waits whose collectives are complete, if that frees memory
///     on each stream that would run dry during the next operation:
///       start the collective that is needed first, but a reduction if the
///       other one can spare the time
///     issue the best operation that is ready and that memory has room for;
///     if there is none, wait for the collective that is complete first
///
/// `base` is an order without a collective in flight beside another one that
/// keeps to the limit; so does the result.
Order computeListSchedule(const Graph &graph, llvm::ArrayRef<uint32_t> base,
                          const Limits &limits, const ListRule &rule);

} // namespace regather::overlap

#endif // REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_LIST_H
