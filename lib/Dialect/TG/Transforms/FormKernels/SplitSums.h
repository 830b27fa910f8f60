//===- SplitSums.h - Sums to one number as two nodes ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_TRANSFORMS_FORMKERNELS_SPLITSUMS_H
#define REGATHER_LIB_DIALECT_TG_TRANSFORMS_FORMKERNELS_SPLITSUMS_H

#include "mlir/IR/Block.h"

namespace regather::tg::kernels {

/// Replaces each node of `block` that sums up all elements of a tensor, or
/// takes their mean, by one that sums up rows, which joins what makes them, and
/// one that adds these sums, where the order of the sum is that anyway
/// (`RowSums.h`). All values stay the same to the bit. Returns the number of
/// nodes that were split.
unsigned splitWholeSums(mlir::Block &block);

} // namespace regather::tg::kernels

#endif // REGATHER_LIB_DIALECT_TG_TRANSFORMS_FORMKERNELS_SPLITSUMS_H
