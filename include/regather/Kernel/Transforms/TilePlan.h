//===- TilePlan.h - How a kernel is tiled -----------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_TRANSFORMS_TILEPLAN_H
#define REGATHER_KERNEL_TRANSFORMS_TILEPLAN_H

#include "regather/Kernel/Transforms/RowTiling.h"

namespace regather::kernel {

/// One dimension along which a kernel is tiled.
struct TileLevel {
  /// The tiling of what the levels before leave.
  RowTiling tiling;
  /// Rows of a tile.
  int64_t size = 1;

  int64_t getNumTiles() const { return llvm::divideCeil(tiling.rows, size); }
};

/// A kernel as equal computations on tiles of its tensors, which may run in any
/// order.
struct TilePlan {
  /// From the outermost; none if the kernel is one tile. Levels but the last
  /// have tiles of one row.
  llvm::SmallVector<TileLevel, 2> levels;
  /// What computes a tile, and the smaller last one of the last level. The
  /// second may be null.
  mlir::OwningOpRef<tg::KernelOp> tile, lastTile;

  int64_t getNumTiles() const;
};

/// How large tiles are to be.
struct TileLimits {
  /// About how many bytes a tile touches.
  int64_t bytes = 64 * 1024;
  /// Of a tensor that is tiled along an inner dimension, a tile lies in as many
  /// pieces as there are outer elements. Shorter ones waste bandwidth.
  int64_t minPieceBytes = 512;
  /// Enough for a tensor that is small beside another one, and for single
  /// elements where other tensors lie the other way round, as in a
  /// transposition: whatever it is tiled along, some are cut into short pieces.
  int64_t minCrossPieceBytes = minPieceBytes;
};

/// Tiles `kernel`, whose constants are separated here. What a tile computes
/// does not depend on its size.
TilePlan planTiles(tg::KernelOp kernel, const TileLimits &limits);

} // namespace regather::kernel

#endif // REGATHER_KERNEL_TRANSFORMS_TILEPLAN_H
