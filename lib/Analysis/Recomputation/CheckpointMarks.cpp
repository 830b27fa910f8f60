//===- CheckpointMarks.cpp - What checkpointed units keep -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Recomputation/CheckpointMarks.h"

#include "llvm/ADT/STLExtras.h"

using namespace regather;

/// True if forward reads the value outside of its unit: it goes on to the next
/// one.
static bool leavesUnit(llvm::ArrayRef<CheckpointNode> nodes,
                       const CheckpointNode &node,
                       llvm::ArrayRef<uint32_t> readers) {
  return node.isReturned || llvm::any_of(readers, [&](uint32_t reader) {
           return nodes[reader].plan == CheckpointPlan::None ||
                  nodes[reader].unit != node.unit;
         });
}

std::vector<std::optional<bool>>
regather::markCheckpoints(llvm::ArrayRef<CheckpointNode> nodes,
                          llvm::ArrayRef<std::vector<uint32_t>> readers) {
  std::vector<std::optional<bool>> marks(nodes.size());
  for (auto [number, node] : llvm::enumerate(nodes)) {
    if (node.plan == CheckpointPlan::None || node.isExempt)
      continue;
    bool isSelected = node.plan == CheckpointPlan::Selective && node.isSelected;
    marks[number] = isSelected || !node.isRepeatable ||
                    leavesUnit(nodes, node, readers[number]);
  }
  return marks;
}
