//===- SimulationTrace.h - What a step waits for ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_SIMULATOR_SIMULATIONTRACE_H
#define REGATHER_LIB_ANALYSIS_SIMULATOR_SIMULATIONTRACE_H

#include "regather/Analysis/Simulator/Simulator.h"

namespace regather {

/// The collectives of an order, by stream.
struct StreamQueues {
  StreamQueues(const TimedGraph &graph, llvm::ArrayRef<uint32_t> order);

  /// By stream, its collectives as they are issued.
  std::vector<std::vector<uint32_t>> collectives;
  /// By operation, the place of a collective among those of its stream.
  std::vector<uint32_t> placeInStream;
  /// By stream and place: for each stream that it conflicts with, the number of
  /// collectives issued before.
  std::vector<IndexLists> earlier;
};

/// Follows the operations back from the end of the step: from each to one whose
/// end it began at. Linear.
std::vector<TimelineEntry> traceCriticalPath(const TimedGraph &graph,
                                             llvm::ArrayRef<uint32_t> order,
                                             const StreamQueues &queues,
                                             const RankClasses &classes,
                                             const SimulationResult &result);

} // namespace regather

#endif // REGATHER_LIB_ANALYSIS_SIMULATOR_SIMULATIONTRACE_H
