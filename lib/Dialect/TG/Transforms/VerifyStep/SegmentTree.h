//===- SegmentTree.h - Sums over segments and what adds them ----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_VERIFYSTEP_SEGMENTTREE_H
#define REGATHER_DIALECT_TG_TRANSFORMS_VERIFYSTEP_SEGMENTTREE_H

#include "mlir/IR/Operation.h"

namespace regather::tg {

/// A node of the tree: `count` segments from `first` on.
struct SegmentRange {
  int64_t first;
  int64_t count;
};

/// True if the tree over `segments` segments adds these two, of which `low`
/// comes first. Logarithmic in `segments`.
bool areSiblings(SegmentRange low, SegmentRange high, int64_t segments);

/// True if `op` adds its first two operands, element by element, and does
/// nothing else.
bool isAddition(mlir::Operation *op);

/// True if the results of `op` have the elements of its operands, elsewhere,
/// and zeros: what it does to two sums it does to the sum of both.
bool movesSums(mlir::Operation *op);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_TRANSFORMS_VERIFYSTEP_SEGMENTTREE_H
