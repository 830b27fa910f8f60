//===- UnitPlans.cpp - Which units are computed again ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Recomputation/UnitPlans.h"

#include "regather/Analysis/Modules/ModuleUnits.h"
#include "regather/Support/LLVM/MakeFailure.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace regather;

PlannedModules regather::planUnits(ArrayRef<StringRef> paths,
                                   ArrayRef<PatternMatch> matches,
                                   const UnitPlans &plans) {
  PlannedModules planned;
  StringMap<uint32_t> numbers;
  // In the order of forward, those that no pattern names.
  StringMap<uint64_t> places;
  for (auto [match, unit] :
       zip_equal(matches, findUnitsOfPaths(paths, matches))) {
    CheckpointNode node;
    node.unit = numbers.try_emplace(unit, numbers.size()).first->second;
    if (match.pattern) {
      if (!unit.empty())
        node.plan = plans.ofPatterns[*match.pattern];
    } else if (!unit.empty()) {
      uint64_t place = places.try_emplace(unit, places.size()).first->second;
      node.plan = plans.numFirst && place >= *plans.numFirst ? plans.others
                                                             : plans.plan;
    }
    planned.nodes.push_back(node);
  }
  if (plans.numFirst && *plans.numFirst > places.size())
    planned.failure = makeFailure(
        "option 'units' is for the first {0} of {1} units of forward",
        *plans.numFirst, places.size());
  return planned;
}
