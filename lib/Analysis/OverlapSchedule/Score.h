//===- Score.h - What an order takes, kept up to date -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_SCORE_H
#define REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_SCORE_H

#include "List.h"

namespace regather::overlap {

/// An order and what it takes, which is kept up to date while parts of it
/// change.
class IncrementalScore {
public:
  IncrementalScore(const Graph &graph, Order order, const Limits &limits);

  llvm::ArrayRef<uint32_t> getOrder() const { return order; }
  uint32_t getPlace(uint32_t op) const { return places[op]; }
  double getSeconds() const { return seconds; }
  /// How long the device waits at `op`.
  double getExposedSeconds(uint32_t op) const;

  /// What the step takes if the operations from `begin` on come in the order
  /// `window`, a permutation of them that keeps predecessors in front. Nothing
  /// if that exceeds a limit.
  ///
  /// Only looks at the window and as far behind it as times change by different
  /// amounts; at everything if there is contention.
  std::optional<double> evaluate(uint32_t begin,
                                 llvm::ArrayRef<uint32_t> window);
  /// Makes it the order.
  void accept(uint32_t begin, llvm::ArrayRef<uint32_t> window);

  /// Operations looked at so far.
  uint64_t getWork() const { return work; }

private:
  /// The streams before every so many places.
  static constexpr uint32_t kStride = 32;
  struct Checkpoint {
    std::vector<double> streamFree;
    std::vector<uint32_t> numFlying;
  };

  void recompute();
  bool fitsMemory(uint32_t begin, llvm::ArrayRef<uint32_t> window);
  bool startOrWait(uint32_t op, std::vector<uint32_t> &numFlying) const;
  std::optional<double>
  evaluateWithContention(uint32_t begin, llvm::ArrayRef<uint32_t> window,
                         std::vector<uint32_t> &numFlying);
  bool hasConverged(uint32_t place, const Clock &clock, double latestBefore);

  const Graph &graph;
  Order order;
  Limits limits;
  std::vector<uint32_t> places;
  double seconds = 0;
  /// By place, when the device comes to it; and the end.
  std::vector<double> times;
  std::vector<double> ends;
  std::vector<int64_t> live;
  std::vector<uint32_t> lastUse;
  std::vector<Checkpoint> checkpoints;
  uint64_t work = 0;

  // Of one evaluation.
  std::vector<double> newEnds;
  std::vector<uint32_t> started;
  std::vector<uint32_t> seen;
  uint32_t stamp = 0;
  std::vector<int64_t> dying;
};

} // namespace regather::overlap

#endif // REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_SCORE_H
