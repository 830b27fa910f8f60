//===- MatrixBlocks.h - Parts of batches of matrices ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What factorizations and triangular systems are built of. A batch of matrices
// is a tensor [count, rows, columns] here.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_CONVERSION_TGNODESTOLINALG_MATRIXBLOCKS_H
#define REGATHER_LIB_CONVERSION_TGNODESTOLINALG_MATRIXBLOCKS_H

#include "NodeBuilder.h"
#include "StructuredOps.h"

namespace regather::nodes {

/// `matrices[:, row : row + rows, column : column + columns]`.
Tensor readBlock(B &b, Tensor matrices, mlir::OpFoldResult row, int64_t rows,
                 mlir::OpFoldResult column, int64_t columns);

/// `into` with `block` where `readBlock` would read it.
mlir::Value writeBlock(B &b, Tensor block, mlir::Value into,
                       mlir::OpFoldResult row, mlir::OpFoldResult column);

/// Swaps the last two dimensions of any tensor.
Tensor swapLastDims(B &b, Tensor tensor);

/// A tensor [..., rows, columns] as a batch, after it was broadcast to the
/// leading dimensions `batch`.
Tensor flattenBatch(B &b, Tensor tensor, llvm::ArrayRef<int64_t> batch);

/// What `step` makes of the values that are carried, once for each number from
/// 0 to `count - 1`.
llvm::SmallVector<Tensor> repeat(
    B &b, int64_t count, llvm::ArrayRef<Tensor> first,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(B &, mlir::Value,
                                                      llvm::ArrayRef<Tensor>)>
        step);

/// Reads "A" or "self": matrices of f32 or f64, or a diagnostic.
mlir::FailureOr<Tensor> readMatrices(NodeArguments &args, llvm::StringRef name,
                                     bool areSquare);

} // namespace regather::nodes

#endif // REGATHER_LIB_CONVERSION_TGNODESTOLINALG_MATRIXBLOCKS_H
