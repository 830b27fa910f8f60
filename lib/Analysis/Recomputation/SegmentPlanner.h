//===- SegmentPlanner.h - Plans of segments ---------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_RECOMPUTATION_SEGMENTPLANNER_H
#define REGATHER_LIB_ANALYSIS_RECOMPUTATION_SEGMENTPLANNER_H

#include "Frontiers.h"

#include <optional>

namespace regather::recomputation {

/// Dynamic programming over the segments of a step: a path from boundary
/// to boundary, through states, with a choice for each segment.
class SegmentPlanner {
public:
  SegmentPlanner(const RecomputationProblem &problem, int64_t budget,
                 const RecomputationPlannerOptions &options);

  /// The best plan that was found; nothing if none fits the budget.
  std::optional<RecomputationPlan> solve();

private:
  /// The cheapest way from a state to the end.
  struct Way {
    double cost = 0;
    int64_t bytes = 0;
    double seconds = 0;
    /// Of the next segment; kNone if there is no way.
    uint32_t transition = 0;
    uint32_t choice = 0;
  };
  /// The beginning of a path.
  struct Label {
    int64_t bytes = 0;
    double seconds = 0;
    /// Its number among the labels of the state that the last transition comes
    /// from.
    uint32_t parent = 0;
    uint32_t transition = 0;
    uint32_t choice = 0;
  };
  /// A path: a label before a segment, the choice of the segment, and the
  /// cheapest way from there to the end.
  struct Path {
    uint32_t segment = 0;
    uint32_t parent = 0;
    uint32_t transition = 0;
    uint32_t choice = 0;
  };

  const std::vector<Transition> &getTransitions(uint32_t segment) const {
    return transitions[segmentation.segments[segment].kind];
  }
  uint32_t getNumStates(uint32_t boundary) const {
    return 1u << segmentation.numCarried[boundary];
  }
  void findWays(double secondsWeight, double bytesWeight);
  bool fits(const Way &way) const { return way.bytes <= budget; }
  bool findPrice();
  bool complete(double limit);
  void findFewestBytes();
  void search(double limit, bool hasAll);
  std::optional<Path> extend(uint32_t segment, double limit);
  void prune(std::vector<Label> &labels);
  void setChoice(uint32_t segment, uint32_t transition, uint32_t choice);
  void follow(uint32_t segment, uint32_t state);
  void follow(const Path &path);
  void searchWhole();
  double getGap() const { return bestSeconds - bound; }
  bool isGoodEnough() const {
    return getGap() <= options.tolerance * bestSeconds || effort.isSpent();
  }

  const RecomputationProblem &problem;
  int64_t budget;
  RecomputationPlannerOptions options;
  planner::Effort effort;
  Segmentation segmentation;
  /// By kind.
  std::vector<std::vector<Transition>> transitions;

  /// The price of a byte in seconds, and what is derived from it.
  double price = 0;
  double bound = 0;
  /// By boundary and state.
  std::vector<std::vector<Way>> ways;
  std::vector<std::vector<int64_t>> fewestBytes;
  std::vector<std::vector<std::vector<Label>>> labels;
  /// The operations that the best path runs again.
  std::vector<bool> best;
  double bestSeconds = 0;
  /// False if a search has dropped paths that might have become better.
  bool isExact = true;
};

} // namespace regather::recomputation

#endif // REGATHER_LIB_ANALYSIS_RECOMPUTATION_SEGMENTPLANNER_H
