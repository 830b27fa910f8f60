//===- BoundsChecks.h - Indices that data decides ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_TRANSFORMS_BOUNDSCHECKS_H
#define REGATHER_KERNEL_TRANSFORMS_BOUNDSCHECKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace regather::kernel {

/// Builds what happens when an index is out of bounds.
using OutsideReport =
    llvm::function_ref<void(mlir::OpBuilder &, mlir::Location)>;

/// Checks the indices of loads, stores and views that are not known: one that
/// is out of bounds is reported, and replaced by 0. A `cf.assert`, which checks
/// an index that nothing is read or written at, becomes a report. Indices of
/// linalg operations, which follow from shapes, are not looked at.
void addBoundsChecks(mlir::func::FuncOp func, OutsideReport report);

} // namespace regather::kernel

#endif // REGATHER_KERNEL_TRANSFORMS_BOUNDSCHECKS_H
