//===- Remaining.h - Computation that is left -------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_REMAINING_H
#define REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_REMAINING_H

#include "ScheduleGraph.h"

namespace regather::overlap {

/// Seconds of computation that has not been issued, by priority.
class RemainingCompute {
public:
  explicit RemainingCompute(const Graph &graph);
  void remove(uint32_t op, double seconds) { add(ranks[op], -seconds); }
  /// Those of operations with a higher priority than `op`.
  double getBefore(uint32_t op) const;

private:
  void add(uint32_t rank, double seconds);

  std::vector<uint32_t> ranks;
  /// A Fenwick tree over ranks.
  std::vector<double> sums;
};

} // namespace regather::overlap

#endif // REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_REMAINING_H
