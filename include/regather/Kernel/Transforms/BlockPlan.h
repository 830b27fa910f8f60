//===- BlockPlan.h - How a kernel is cut into blocks ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_TRANSFORMS_BLOCKPLAN_H
#define REGATHER_KERNEL_TRANSFORMS_BLOCKPLAN_H

#include "regather/Kernel/Transforms/RowCut.h"

namespace regather::kernel {

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

/// How large blocks are to be.
struct BlockLimits {
  /// About how many bytes a block touches.
  int64_t bytes = 64 * 1024;
  /// Of a tensor that is cut along an inner dimension, blocks lie in as many
  /// pieces as there are outer elements. Shorter ones waste bandwidth.
  int64_t minPieceBytes = 2048;
};

/// Cuts `kernel`, whose constants are separated here, into blocks. The numbers
/// that a block gives do not depend on its size.
BlockPlan planBlocks(tg::KernelOp kernel, const BlockLimits &limits);

} // namespace regather::kernel

#endif // REGATHER_KERNEL_TRANSFORMS_BLOCKPLAN_H
