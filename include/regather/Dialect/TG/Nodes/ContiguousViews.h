//===- ContiguousViews.h - Views that move no bytes -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_NODES_CONTIGUOUSVIEWS_H
#define REGATHER_DIALECT_TG_NODES_CONTIGUOUSVIEWS_H

#include "regather/Dialect/TG/IR/TG.h"

namespace regather::tg {

/// If the result of `op` is, in row-major order, a contiguous part of operand
/// 0 in row-major order, the element of the operand at which it begins. Knows
/// reshapes, permutations that move dimensions of size 1 only, and slices, of
/// `tensor` and as nodes.
std::optional<int64_t> getContiguousViewOffset(mlir::Operation *op);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_NODES_CONTIGUOUSVIEWS_H
