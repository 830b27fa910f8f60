//===- SortedScatters.h - Scatters as sums of sorted rows -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_NVPTX_SORTEDSCATTERS_H
#define REGATHER_LIB_KERNEL_NVPTX_SORTEDSCATTERS_H

#include "regather/Dialect/TG/IR/TG.h"

namespace regather::nvptx {

/// On operations that find where the keys of each row are, which is better done
/// for all rows at once than when a block comes to a row.
inline constexpr llvm::StringLiteral kBoundsAttrName = "sorted_bounds";

/// True if a scatter of the kernel, whose nodes are lowered, writes so many
/// rows that one block of threads should not write them one after the other.
bool hasLongScatters(tg::KernelOp kernel);

/// Rewrites these scatters such that every row of the result is computed on its
/// own: the places that are written are sorted, and each row combines what
/// comes to it, in the order of the scatter. Gives the number of scatters.
unsigned sortScatters(tg::KernelOp kernel);

} // namespace regather::nvptx

#endif // REGATHER_LIB_KERNEL_NVPTX_SORTEDSCATTERS_H
