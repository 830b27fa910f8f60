//===- RankClasses.h - Ranks that do the same at the same time --*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_SIMULATOR_RANKCLASSES_H
#define REGATHER_ANALYSIS_SIMULATOR_RANKCLASSES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <vector>

namespace regather {

/// Groups that look alike: their ranks are of the same classes, and they lie in
/// the cluster in the same way.
struct GroupClass {
  /// Classes of the ranks, ascending, each once.
  std::vector<uint32_t> rankClasses;
  /// What the caller said of where it lies.
  uint32_t placement = 0;
  /// Number of such groups.
  int64_t count = 0;
};

struct RankClass {
  int64_t firstRank = 0;
  int64_t count = 0;
  /// By stream, the number of the class of its group.
  std::vector<uint32_t> groups;
};

/// The coarsest partition of the ranks in which two ranks of a class meet, on
/// each stream, the same number of ranks of each class in a group that lies in
/// the same way. All ranks run the same program, so those of a class do
/// everything at the same time, and one stands for all.
struct RankClasses {
  std::vector<RankClass> ranks;
  /// By stream.
  std::vector<std::vector<GroupClass>> groups;
};

/// Ranks are numbered row-major over a mesh. `streamAxes` lists, for each
/// stream, the numbers of the axes that its groups run over. `place` says how a
/// group lies, by stream and ranks: groups with equal numbers take equal times.
///
/// O(n s log n) for n ranks and s streams in each round; the number of rounds
/// is that of classes at most, and 2 where groups fit into nodes.
RankClasses findRankClasses(
    llvm::ArrayRef<int64_t> meshSizes,
    llvm::ArrayRef<std::vector<unsigned>> streamAxes,
    llvm::function_ref<uint32_t(uint32_t, llvm::ArrayRef<int64_t>)> place);

} // namespace regather

#endif // REGATHER_ANALYSIS_SIMULATOR_RANKCLASSES_H
