//===- OneRankClass.h - Ranks that do the same ---------------- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_UNIT_ANALYSIS_ONERANKCLASS_H
#define REGATHER_TEST_UNIT_ANALYSIS_ONERANKCLASS_H

#include "regather/Analysis/Simulator/RankClasses.h"

namespace regather {

/// One class, in which every rank meets only its like.
inline RankClasses makeOneRankClass(size_t numStreams) {
  RankClasses classes;
  classes.ranks.push_back({0, 1, std::vector<uint32_t>(numStreams, 0)});
  classes.groups.resize(numStreams, {GroupClass{{0}, 0, 1}});
  return classes;
}

} // namespace regather

#endif // REGATHER_TEST_UNIT_ANALYSIS_ONERANKCLASS_H
