//===- PackingProblem.h - Blocks to pack over time --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_MEMORYPLANNER_PACKINGPROBLEM_H
#define REGATHER_LIB_ANALYSIS_MEMORYPLANNER_PACKINGPROBLEM_H

#include "regather/Analysis/MemoryPlanner/MemoryPlanner.h"

#include "regather/Support/Result.h"

#include <cstdint>
#include <vector>

namespace regather::planner {

/// A rectangle, time by bytes, that stands for one buffer or for several at the
/// same place. Time is counted in sections: a section is a stretch of steps
/// between the end of one lifetime and the next begin, so two blocks are live
/// together exactly if they share a section.
struct Block {
  /// Not zero; a multiple of `Problem::unit`.
  uint64_t size = 0;
  uint64_t alignment = 1;
  uint32_t begin = 0;
  uint32_t end = 0;
  bool fixed = false;
  /// Only of fixed blocks.
  uint64_t offset = 0;

  uint32_t width() const { return end - begin; }
};

struct Problem {
  std::vector<Block> blocks;
  uint32_t numSections = 0;
  /// Bytes live in each section.
  std::vector<uint64_t> load;
  /// No plan needs less than this.
  uint64_t lowerBound = 0;
  /// Every offset that packing without gaps leads to, and so every peak worth
  /// trying, is a multiple of this.
  uint64_t unit = 1;
};

/// Movable blocks that are connected by shared sections; no other movable block
/// shares a section with them.
struct Component {
  uint32_t begin = 0;
  uint32_t end = 0;
  /// In the order of their begin.
  std::vector<uint32_t> blocks;
};

/// The blocks of `request`, and the block of each buffer, or -1 for one that
/// needs no memory.
struct NormalizedRequest {
  Problem problem;
  std::vector<int64_t> blockOfBuffer;
};

Result<NormalizedRequest> normalizeRequest(const MemoryPlanRequest &request);

/// In the order of time.
std::vector<Component> findComponents(const Problem &problem);

/// Where each section of the component begins to be free, if the fixed blocks
/// leave no free bytes below them; nothing otherwise.
std::optional<std::vector<uint64_t>> findFloor(const Problem &problem,
                                               const Component &component);

} // namespace regather::planner

#endif // REGATHER_LIB_ANALYSIS_MEMORYPLANNER_PACKINGPROBLEM_H
