//===- BoundsChecks.h - Indices that data decides ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_TARGET_CPU_BOUNDSCHECKS_H
#define REGATHER_LIB_TARGET_CPU_BOUNDSCHECKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace regather::cpu {

/// Guards loads, stores and views of buffers whose indices are computed: an
/// index out of bounds is replaced by 0, so that no memory outside of the
/// buffer is touched. The function, which returns nothing, returns 1 if there
/// was one and else 0. Runs when structured operations are not loops yet, whose
/// indices are in bounds by construction.
void addBoundsChecks(mlir::func::FuncOp func);

} // namespace regather::cpu

#endif // REGATHER_LIB_TARGET_CPU_BOUNDSCHECKS_H
