//===- ElementInlining.h - Compute elements where they are read -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_TRANSFORMS_ELEMENTINLINING_H
#define REGATHER_KERNEL_TRANSFORMS_ELEMENTINLINING_H

#include "mlir/IR/Operation.h"

namespace regather::kernel {

/// True if an element of the value takes a few additions, multiplications and
/// comparisons, which costs less than to keep it. False for results of the
/// kernel: they are in memory anyway, and may have overwritten what they are
/// computed from.
bool isCheapToRepeat(mlir::Value value);

/// Replaces each `tensor.extract` in the regions of `op` from what is computed
/// element by element in the same block, or is a view, by the computation of
/// that element, if nothing else needs the tensor or the element is cheap. What
/// elementwise fusion does for operands, for places that are computed. Returns
/// how many it has replaced.
unsigned inlineElements(mlir::Operation *op);

} // namespace regather::kernel

#endif // REGATHER_KERNEL_TRANSFORMS_ELEMENTINLINING_H
