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

/// One way to carry out a segment.
struct Choice {
  int64_t bytes = 0;
  double seconds = 0;
  /// By operation of the segment.
  std::vector<bool> recomputed;
};

/// The choices of a segment between two states.
struct Transition {
  uint32_t in = 0;
  uint32_t out = 0;
  /// Sorted by falling bytes and rising seconds.
  std::vector<Choice> choices;
  /// Of these, the ones on the convex hull.
  std::vector<Choice> hull;
  /// True if these are all choices that no other one beats in both bytes and
  /// seconds.
  bool isComplete = false;
};

/// The transitions of a kind of segment for which there is a plan at all. Of
/// the choices of large segments, those on the convex hull.
std::vector<Transition> findTransitions(const SegmentKind &kind,
                                        planner::Effort &effort);

/// Adds the choices between those on the hull for which seconds + price * bytes
/// <= threshold, up to `tolerance` seconds. False if these are too many to
/// find.
bool completeChoices(const SegmentKind &kind, Transition &transition,
                     double price, double threshold, double tolerance,
                     planner::Effort &effort);

} // namespace regather::recomputation

#endif // REGATHER_LIB_ANALYSIS_RECOMPUTATION_FRONTIERS_H
