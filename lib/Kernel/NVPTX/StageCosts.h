//===- StageCosts.h - How much the operations of a stage do -----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_NVPTX_STAGECOSTS_H
#define REGATHER_LIB_KERNEL_NVPTX_STAGECOSTS_H

#include "regather/Kernel/Transforms/TilePlan.h"

namespace regather::nvptx {

/// The points of an operation's loops, each as often as the loops in its body
/// run, as far as that is known; of others, the elements of the largest tensor.
int64_t countSteps(mlir::Operation *op);

/// The limits of blocks for operations that do more than to read and to write
/// elements once: so much smaller that blocks have as much to do.
kernel::TileLimits scaleLimits(llvm::ArrayRef<mlir::Operation *> group,
                               kernel::TileLimits limits);

} // namespace regather::nvptx

#endif // REGATHER_LIB_KERNEL_NVPTX_STAGECOSTS_H
