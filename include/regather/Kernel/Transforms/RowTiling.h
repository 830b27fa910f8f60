//===- RowTiling.h - Kernels on blocks of rows ------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_TRANSFORMS_ROWTILING_H
#define REGATHER_KERNEL_TRANSFORMS_ROWTILING_H

#include "regather/Dialect/TG/Transforms/RowSplit.h"

#include "mlir/IR/OwningOpRef.h"

namespace regather::kernel {

/// How a kernel is carried out row by row: row i of each result is computed
/// from row i of the arguments that have rows, and from all of the others.
struct RowTiling {
  int64_t rows = 0;
  /// The dimension of each argument and result that holds the rows. Every
  /// result has one.
  llvm::SmallVector<std::optional<int64_t>> arguments, results;
  /// Of the operations that have rows.
  llvm::DenseMap<mlir::Operation *, tg::kernels::RowSplit> splits;
};

/// Repeats each constant for every use, so that one use may read a part of it
/// and another one all of it.
void separateConstants(tg::KernelOp kernel);

/// The tiling that `tg.rows` describes; without the attribute, one along the
/// outermost dimension of the first result that allows it. Nothing if there is
/// none. Constants must have been separated.
std::optional<RowTiling> findRowTiling(tg::KernelOp kernel);

/// A kernel, in no module, that computes `size` rows.
mlir::OwningOpRef<tg::KernelOp>
buildRowTile(tg::KernelOp kernel, const RowTiling &tiling, int64_t size);

} // namespace regather::kernel

#endif // REGATHER_KERNEL_TRANSFORMS_ROWTILING_H
