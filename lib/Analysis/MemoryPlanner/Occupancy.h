//===- Occupancy.h - What lies where and when -------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_MEMORYPLANNER_OCCUPANCY_H
#define REGATHER_LIB_ANALYSIS_MEMORYPLANNER_OCCUPANCY_H

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace regather::planner {

/// Bytes taken, as disjoint intervals that do not touch each other.
class ByteSet {
public:
  void insert(uint64_t begin, uint64_t end);
  bool empty() const { return intervals.empty(); }
  /// The end of the last interval, of which there has to be one.
  uint64_t getTop() const { return intervals.back().end; }

  /// The end of the interval that overlaps `[begin, end)`, of the lowest one if
  /// there are several.
  std::optional<uint64_t> findOverlap(uint64_t begin, uint64_t end) const;

private:
  struct Interval {
    uint64_t begin, end;
  };
  llvm::SmallVector<Interval, 2> intervals;
};

/// Answers where a block fits, without visiting the blocks that it is live
/// together with: there may be as many as there are blocks.
///
/// A segment tree over the sections. A node knows what is taken somewhere in
/// its range, and what is taken over its whole range; since bytes that are
/// taken without a gap become one interval, both sets stay small.
class Occupancy {
public:
  explicit Occupancy(uint32_t numSections);

  void insert(uint32_t begin, uint32_t end, uint64_t offset, uint64_t size);

  /// The lowest aligned offset at which `size` bytes are free in all sections
  /// of `[begin, end)`. Adds to `work`; once that is over `maxWork`, the answer
  /// is above all that is taken there, which needs no search: with many gaps
  /// that are too small, a search visits all of them.
  uint64_t findLowest(uint32_t begin, uint32_t end, uint64_t size,
                      uint64_t alignment, uint64_t &work,
                      uint64_t maxWork) const;

private:
  struct Node {
    ByteSet somewhere, everywhere;
  };

  uint32_t numLeaves = 1;
  /// A heap: the children of node i are 2i and 2i + 1.
  std::vector<Node> nodes;
};

} // namespace regather::planner

#endif // REGATHER_LIB_ANALYSIS_MEMORYPLANNER_OCCUPANCY_H
