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

/// An order and its time and memory, which are kept up to date while parts of
/// it change.
class IncrementalScore {
public:
  IncrementalScore(const Graph &graph, Order order, const Limits &limits);

  llvm::ArrayRef<uint32_t> getOrder() const { return order; }
  uint32_t getPlace(uint32_t op) const { return places[op]; }
  double getSeconds() const { return seconds; }
  /// How long the device waits at `op`.
  double getExposedSeconds(uint32_t op) const;

  /// The seconds of the step if the operations from `begin` on come in the
  /// order `window`, a permutation of them that keeps dependences. Nothing if
  /// that exceeds a limit.
  ///
  /// Visits the window, and the operations behind it up to where all times
  /// change by one amount; with contention, everything.
  std::optional<double> evaluate(uint32_t begin,
                                 llvm::ArrayRef<uint32_t> window);
  /// Makes the evaluated order the current one.
  void accept(uint32_t begin, llvm::ArrayRef<uint32_t> window);

  /// Operations looked at so far.
  uint64_t getWork() const { return work; }

private:
  /// Snapshots of the streams before every so many places.
  static constexpr uint32_t kStride = 32;
  struct Checkpoint {
    std::vector<double> streamFree;
    std::vector<uint32_t> numInFlight;
  };

  void recompute();
  bool fitsMemory(uint32_t begin, llvm::ArrayRef<uint32_t> window);
  bool startOrWait(uint32_t op, std::vector<uint32_t> &numInFlight) const;
  std::optional<double>
  evaluateWithContention(uint32_t begin, llvm::ArrayRef<uint32_t> window,
                         std::vector<uint32_t> &numInFlight);
  bool hasConverged(uint32_t place, const Clock &clock, double latestBefore);

  const Graph &graph;
  Order order;
  Limits limits;
  std::vector<uint32_t> places;
  double seconds = 0;
  /// By place, when the device reaches it; the last one is the end of the step.
  std::vector<double> times;
  std::vector<double> ends;
  std::vector<int64_t> live;
  std::vector<uint32_t> lastUse;
  std::vector<Checkpoint> checkpoints;
  uint64_t work = 0;

  // Scratch of one evaluation.
  std::vector<double> newEnds;
  std::vector<uint32_t> started;
  std::vector<uint32_t> seen;
  uint32_t stamp = 0;
  std::vector<int64_t> dying;
};

} // namespace regather::overlap

#endif // REGATHER_LIB_ANALYSIS_OVERLAPSCHEDULE_SCORE_H
