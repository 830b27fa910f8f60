//===- ReductionSplit.h - Reductions in two stages --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_NVPTX_REDUCTIONSPLIT_H
#define REGATHER_LIB_KERNEL_NVPTX_REDUCTIONSPLIT_H

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace regather::nvptx {

/// On operations that reduce parts, and on those that combine what parts have
/// become.
inline constexpr llvm::StringLiteral kPartialAttrName = "partial_reduction";
inline constexpr llvm::StringLiteral kCombineAttrName = "combined_reduction";

/// Splits the reductions of a kernel, whose nodes are linalg operations, that
/// have too few results for the blocks of a GPU: one operation reduces parts of
/// the operands, and another one combines its results. How a reduction is split
/// depends on its shape alone; with `isElastic`, on the sizes that it reduces
/// alone, and not on how many results there are. Gives the number of reductions
/// that were split.
llvm::FailureOr<unsigned> splitReductions(tg::KernelOp kernel, bool isElastic);

/// True if `splitReductions` would split a reduction of an elastic step.
bool hasLongReductions(tg::KernelOp kernel);

} // namespace regather::nvptx

#endif // REGATHER_LIB_KERNEL_NVPTX_REDUCTIONSPLIT_H
