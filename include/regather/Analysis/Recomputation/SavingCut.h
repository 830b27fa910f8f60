//===- SavingCut.h - Save the fewest bytes ----------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Saving is cutting. Behind the cut, on the side of the sink, `in` of an
// operation means that backward runs it, and `out` of a value that backward has
// it.
//
//   in(o) -> out(v)     what saving v costs, if o makes v
//   out(u) -> in(o)     infinite, if o reads u: running o takes u
//   out(v) -> sink      infinite, if backward reads v
//   source -> in(o)     infinite, if o may not run again; more than all costs,
//                       if that takes a gather that backward does not do anyway
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_RECOMPUTATION_SAVINGCUT_H
#define REGATHER_ANALYSIS_RECOMPUTATION_SAVINGCUT_H

#include "regather/Analysis/Recomputation/MinimumCut.h"

#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace regather {

/// Forward, as backward sees it. Operations and values are known by their
/// index. What costs nothing to have, such as arguments, is left out.
struct SavingProblem {
  struct Op {
    bool mayRecompute = true;
    /// Running it again takes a gather that nobody has asked for.
    bool addsGather = false;
    /// Values that it reads.
    llvm::SmallVector<uint32_t, 4> inputs;
  };
  struct Value {
    /// The operation that makes it.
    uint32_t op = 0;
    /// What saving it costs; kInfiniteCapacity if it may not be saved.
    int64_t cost = 0;
  };

  std::vector<Op> ops;
  std::vector<Value> values;
  /// Values that backward reads. Repetitions are allowed.
  std::vector<uint32_t> needed;
};

/// The network of which `cutSavings` finds a minimum cut. Linear.
FlowNetwork buildSavingNetwork(const SavingProblem &problem);

struct SavingCut {
  /// Sum of the costs.
  int64_t value = 0;
  /// By value.
  std::vector<bool> isSaved;
};

/// The cheapest values with which backward can run. Fails if a value that is
/// needed can be neither saved nor computed again (see findMinimumCut).
llvm::Expected<SavingCut> cutSavings(const SavingProblem &problem);

/// Whether backward may run an operation again that is no library call and no
/// collective: not if saving what it writes takes much less than what it reads.
inline bool isCheapAgain(bool isView, double writtenBytes, double readBytes) {
  return isView || 4 * writtenBytes >= readBytes;
}

/// What saving `bytes` costs: less where saving is preferred, more where
/// recomputing is.
enum class SavingPreference : uint8_t { None, Save, Recompute };
inline int64_t getSavingCost(int64_t bytes, SavingPreference preference) {
  if (preference == SavingPreference::Save)
    return bytes;
  return (preference == SavingPreference::Recompute ? 4 : 2) * bytes;
}

} // namespace regather

#endif // REGATHER_ANALYSIS_RECOMPUTATION_SAVINGCUT_H
