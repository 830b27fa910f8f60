//===- BoundsChecks.h - Indices that data decides ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_EXECUTION_NATIVE_BOUNDSCHECKS_H
#define REGATHER_LIB_EXECUTION_NATIVE_BOUNDSCHECKS_H

#include "mlir/IR/BuiltinOps.h"

namespace regather::native {

/// The function that compiled code calls when an index is out of bounds.
inline constexpr llvm::StringLiteral kReportOutOfBounds =
    "regather_report_out_of_bounds";

/// Guards loads, stores and views of buffers whose indices are computed: an
/// index out of bounds is reported and replaced by 0, so that no memory outside
/// of the buffer is touched. Runs when structured operations are not loops yet,
/// whose indices are in bounds by construction.
void addBoundsChecks(mlir::ModuleOp module);

/// What `kReportOutOfBounds` does: notes it for the calling thread.
void reportOutOfBounds();

/// True if this thread reported an index since it last asked.
bool takeOutOfBounds();

} // namespace regather::native

#endif // REGATHER_LIB_EXECUTION_NATIVE_BOUNDSCHECKS_H
