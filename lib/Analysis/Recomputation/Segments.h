//===- Segments.h - Parts of a program --------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program is cut where few values are carried on of which it is undecided
// whether backward has them. The set of those that it has is a state of the
// boundary; the cost of a segment depends on the states of its two boundaries
// alone. Repeated blocks give equal segments.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_RECOMPUTATION_SEGMENTS_H
#define REGATHER_LIB_ANALYSIS_RECOMPUTATION_SEGMENTS_H

#include "regather/Analysis/Recomputation/RecomputationPlanner.h"

namespace regather::recomputation {

/// What equal segments have in common. Carried values are known by their place
/// at the boundary, and states have a bit for each.
struct SegmentKind {
  /// Where a value goes on behind the segment.
  struct CarriedOut {
    /// True for a value that the segment only lets pass.
    bool passes = false;
    /// Its place at the first boundary, or the number of the value.
    uint32_t number = 0;
  };

  /// The operations of the segment on their own.
  RecomputationProblem problem;
  /// By operation, which of the carried values it reads.
  std::vector<std::vector<uint32_t>> carriedInputs;
  uint32_t numCarriedIn = 0;
  std::vector<CarriedOut> carriedOut;

  /// False if a value that passes is on one side only.
  bool isConsistent(uint32_t in, uint32_t out) const;
  /// The segment, if backward has `in` anyway and needs `out`.
  RecomputationProblem getProblem(uint32_t in, uint32_t out) const;
};

struct Segment {
  uint32_t firstOp = 0;
  uint32_t endOp = 0;
  uint32_t kind = 0;
};

struct Segmentation {
  std::vector<Segment> segments;
  std::vector<SegmentKind> kinds;
  /// How many values are carried over each boundary: the one before each
  /// segment, and the one at the end.
  std::vector<uint32_t> numCarried;
};

/// Cuts a program. Linear, but for a logarithm.
Segmentation cutIntoSegments(const RecomputationProblem &problem);

} // namespace regather::recomputation

#endif // REGATHER_LIB_ANALYSIS_RECOMPUTATION_SEGMENTS_H
