//===- JointPartition.h - Forward and backward of a joint graph -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What forward saves for backward in a joint graph of both, such as AOTAutograd
// makes, and the two programs that follow. All numbers are numbers of nodes.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_RECOMPUTATION_JOINTPARTITION_H
#define REGATHER_ANALYSIS_RECOMPUTATION_JOINTPARTITION_H

#include "regather/Analysis/Recomputation/PyTorchPartition.h"

namespace regather {

/// By node: forward hands it to backward. Nodes that backward does not need may
/// be members.
using SavedNodes = std::vector<bool>;

/// Marks for recomputation what is computed from one released parameter alone
/// and leads to its gather or follows it, so that backward gathers again. Marks
/// to save stay, and so does what is returned. `isReleased`, `isGather` and
/// `isWait` are by node. Linear.
void releaseGathered(llvm::MutableArrayRef<JointNode> graph,
                     const std::vector<bool> &isReleased,
                     const std::vector<bool> &isGather,
                     const std::vector<bool> &isWait);

/// Saves what backward reads, but for what is marked to be recomputed and for
/// what is made of constants alone.
llvm::Expected<SavedNodes> saveAll(llvm::ArrayRef<JointNode> graph);

/// Saves the fewest bytes (see SavingCut.h). Library calls and what is not
/// repeatable run again if they are marked so, and other calls unless saving
/// what they write takes less than a quarter of what they read.
llvm::Expected<SavedNodes> saveFewestBytes(llvm::ArrayRef<JointNode> graph);

/// Saves what `record` lists, what is marked to be saved, and what can run only
/// once.
llvm::Expected<SavedNodes> replaySaved(llvm::ArrayRef<JointNode> graph,
                                       llvm::ArrayRef<uint32_t> record);

/// Saves at most `budget` bytes, besides arguments, such that what backward
/// runs again takes the least of `seconds` (see planRecomputation). Fails if
/// the budget is below the minimum, which the message states.
llvm::Expected<SavedNodes> saveWithinBudget(llvm::ArrayRef<JointNode> graph,
                                            llvm::ArrayRef<double> seconds,
                                            int64_t budget);

struct JointSplit {
  /// What forward hands to backward, arguments included, in the order of the
  /// graph.
  std::vector<uint32_t> saved;
  /// What each of the two runs, in that order: the order of the graph, but for
  /// items, which come right behind what they select from, and for what
  /// backward computes again, which comes right before its first reader.
  std::vector<uint32_t> forward, backward;
};

/// The two programs that PyTorch 2.13 makes of a joint graph of which these
/// nodes are saved: `_extract_fwd_bwd_modules`,
/// `reordering_to_mimic_autograd_engine` and `raise_getitems`. Fails if a
/// result of forward depends on a tangent, and if a result of backward does not
/// follow from what is saved. Linear, but for sorting.
llvm::Expected<JointSplit> splitJointGraph(llvm::ArrayRef<JointNode> graph,
                                           const SavedNodes &isSaved);

} // namespace regather

#endif // REGATHER_ANALYSIS_RECOMPUTATION_JOINTPARTITION_H
