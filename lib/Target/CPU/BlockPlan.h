//===- BlockPlan.h - How a kernel is cut into blocks ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_TARGET_CPU_BLOCKPLAN_H
#define REGATHER_LIB_TARGET_CPU_BLOCKPLAN_H

#include "RowCut.h"

namespace regather::cpu {

/// One dimension along which a kernel is cut.
struct BlockLevel {
  /// The cut of what the levels before leave.
  RowCut cut;
  /// Rows of a block.
  int64_t size = 1;

  int64_t getNumBlocks() const { return llvm::divideCeil(cut.rows, size); }
  /// Rows of the last block if it is smaller than the others, else 0.
  int64_t getRemainder() const { return cut.rows % size; }
};

/// A kernel as equal computations on blocks of its tensors, which may run in
/// any order.
struct BlockPlan {
  /// From the outermost; none if the kernel is one block. Levels but the last
  /// have blocks of one row.
  llvm::SmallVector<BlockLevel, 2> levels;
  /// What computes a block, and the smaller last one of the last level. The
  /// second may be null.
  mlir::OwningOpRef<tg::KernelOp> block, lastBlock;

  int64_t getNumBlocks() const;
};

/// Cuts `kernel`, whose constants are separated here, into blocks that touch
/// about `blockBytes` bytes. The numbers that a block gives do not depend on
/// its size.
BlockPlan planBlocks(tg::KernelOp kernel, int64_t blockBytes);

} // namespace regather::cpu

#endif // REGATHER_LIB_TARGET_CPU_BLOCKPLAN_H
