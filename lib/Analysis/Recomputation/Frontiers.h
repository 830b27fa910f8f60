//===- Frontiers.h - Choices of segments ------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef REGATHER_LIB_ANALYSIS_RECOMPUTATION_FRONTIERS_H
#define REGATHER_LIB_ANALYSIS_RECOMPUTATION_FRONTIERS_H

#include "../Effort.h"
#include "Segments.h"

namespace regather::recomputation {

/// What a segment may do.
struct Choice {
  int64_t bytes = 0;
  double seconds = 0;
  /// By operation of the segment.
  std::vector<bool> recomputed;
};

/// What a segment may do between two states.
struct Transition {
  uint32_t in = 0;
  uint32_t out = 0;
  /// With falling bytes and rising seconds.
  std::vector<Choice> choices;
  /// Of these, the ones on the convex hull.
  std::vector<Choice> hull;
  /// True if these are all that are not worse than another one.
  bool isComplete = false;
};

/// The transitions of a kind of segment for which there is a plan at all. Of
/// the choices of large segments, those on the convex hull.
std::vector<Transition> findTransitions(const SegmentKind &kind,
                                        planner::Effort &effort);

/// Adds choices between those on the hull, as long as
/// seconds + price * bytes <= threshold is possible, to the resolution that
/// `tolerance` (in seconds) asks for. False if it could not look at that many.
bool completeChoices(const SegmentKind &kind, Transition &transition,
                     double price, double threshold, double tolerance,
                     planner::Effort &effort);

} // namespace regather::recomputation

#endif // REGATHER_LIB_ANALYSIS_RECOMPUTATION_FRONTIERS_H
