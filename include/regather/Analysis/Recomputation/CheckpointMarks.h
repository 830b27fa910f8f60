//===- CheckpointMarks.h - What checkpointed units keep ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans for units of a model, and the operations of forward that they save or
// compute again: the decisions of tg-apply-policy.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_ANALYSIS_RECOMPUTATION_CHECKPOINTMARKS_H
#define REGATHER_ANALYSIS_RECOMPUTATION_CHECKPOINTMARKS_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace regather {

enum class CheckpointPlan : uint8_t {
  /// Marks nothing.
  None,
  /// Computes all of a unit again.
  Full,
  /// Saves what is selected.
  Selective
};

/// An operation of forward.
struct CheckpointNode {
  /// The unit, by number, and the plan for it.
  uint32_t unit = 0;
  CheckpointPlan plan = CheckpointPlan::None;
  /// The selective plan saves it.
  bool isSelected = false;
  /// It comes out the same again.
  bool isRepeatable = true;
  /// It is a result of the step.
  bool isReturned = false;
  /// It gets no mark: something else decides about it.
  bool isExempt = false;
};

/// By node, true for what is to be saved, false for what is to be computed
/// again; nothing for what gets no mark. Values that other units of forward
/// read are saved. `readers` are the nodes of forward that read a node. O(n +
/// e).
std::vector<std::optional<bool>>
markCheckpoints(llvm::ArrayRef<CheckpointNode> nodes,
                llvm::ArrayRef<std::vector<uint32_t>> readers);

} // namespace regather

#endif // REGATHER_ANALYSIS_RECOMPUTATION_CHECKPOINTMARKS_H
