//===- RowSplit.h - Operations on blocks of rows ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_ROWSPLIT_H
#define REGATHER_DIALECT_TG_TRANSFORMS_ROWSPLIT_H

#include "regather/Dialect/TG/IR/TG.h"

namespace regather::tg::kernels {

/// How an operation is carried out row by row: row i of each result is computed
/// from row i of the operands that have rows, and from all of the others.
struct RowSplit {
  /// Number of rows; 0 if the operation is carried out as a whole.
  int64_t rows = 0;
  /// The dimension of each operand and result that holds the rows.
  llvm::SmallVector<std::optional<int64_t>, 4> operands, results;
};

/// The split along the outermost dimension of the results that allows one.
RowSplit splitRows(mlir::Operation *op);

/// The split into `rows` parts in which `operand` has them in dimension `dim`.
std::optional<RowSplit> splitRowsOfOperand(mlir::Operation *op,
                                           unsigned operand, int64_t dim,
                                           int64_t rows);

/// The split into `rows` parts in which `result` has them in dimension `dim`.
std::optional<RowSplit> splitRowsOfResult(mlir::Operation *op, unsigned result,
                                          int64_t dim, int64_t rows);

/// True if a row can be divided further, or becomes one number: some dimension
/// besides the rows is parallel or reduced, and no reduced one lies outside of
/// a parallel one.
bool canDivideRows(mlir::Operation *op, const RowSplit &split);

} // namespace regather::tg::kernels

#endif // REGATHER_DIALECT_TG_TRANSFORMS_ROWSPLIT_H
