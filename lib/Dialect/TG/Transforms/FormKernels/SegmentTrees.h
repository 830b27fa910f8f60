//===- SegmentTrees.h - Additions over GEMMs of segments --------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds what may be one GEMM of segments: additions as a balanced tree over
// GEMMs, of which nothing else reads a result. Whether their operands are
// slices that follow each other is for `matchGemm` to say.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_FORMKERNELS_SEGMENTTREES_H
#define REGATHER_DIALECT_TG_TRANSFORMS_FORMKERNELS_SEGMENTTREES_H

#include "regather/Dialect/TG/IR/TG.h"

#include <vector>

namespace regather::tg::kernels {

class SegmentTrees {
public:
  /// Reads `block` in linear time. `mayJoin(x, y)` says whether `y`, which
  /// reads what `x` gives, may be a part of the same kernel.
  using MayJoin =
      llvm::function_ref<bool(mlir::Operation *, mlir::Operation *)>;
  SegmentTrees(mlir::Block &block, MayJoin mayJoin);

  /// Calls `take` for the largest trees, in program order of their last
  /// addition, with their operations and the views of slices that they read, in
  /// program order; for the two parts of a tree that it does not take, and so
  /// on.
  void
  visit(llvm::function_ref<bool(llvm::ArrayRef<mlir::Operation *>)> take) const;

private:
  /// A GEMM with a rounding and a conversion, or an addition of two trees.
  struct Tree {
    llvm::SmallVector<mlir::Operation *, 1> ops;
    int64_t numSegments;
    int64_t low, high;
  };

  /// The number of the tree that gives `value`, which nothing else reads.
  std::optional<int64_t> find(mlir::Value value) const;
  void addSum(mlir::Operation *op, MayJoin mayJoin);

  std::vector<Tree> trees;
  llvm::DenseMap<mlir::Value, int64_t> byValue;
  /// Trees that are no part of another one.
  llvm::SetVector<int64_t> roots;
};

} // namespace regather::tg::kernels

#endif // REGATHER_DIALECT_TG_TRANSFORMS_FORMKERNELS_SEGMENTTREES_H
