//===- PackingSearch.h - Exact search for a packing -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_MEMORYPLANNER_PACKINGSEARCH_H
#define REGATHER_LIB_ANALYSIS_MEMORYPLANNER_PACKINGSEARCH_H

#include "../Effort.h"
#include "PackingProblem.h"

namespace regather::planner {

enum class SearchOutcome {
  Found,
  /// No packing fits into the capacity.
  Impossible,
  /// The effort was spent before the answer was known.
  Unknown
};

/// Looks for a packing of `component` that ends at or below `capacity`, and
/// writes it to `offsets`, by place in `Component::blocks`. Tries several
/// orders of candidates with `effortPerOrder` each, as far as `effort` goes.
/// `floor` is what `findFloor` returned.
SearchOutcome searchPacking(const Problem &problem, const Component &component,
                            llvm::ArrayRef<uint64_t> floor, uint64_t capacity,
                            uint64_t effortPerOrder, Effort &effort,
                            std::vector<uint64_t> &offsets);

} // namespace regather::planner

#endif // REGATHER_LIB_ANALYSIS_MEMORYPLANNER_PACKINGSEARCH_H
