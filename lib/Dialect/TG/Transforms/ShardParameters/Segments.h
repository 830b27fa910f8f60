//===- Segments.h - Operations on one segment of the batch ------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_SEGMENTS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_SEGMENTS_H

#include "Communication.h"
#include "FactorSplit.h"

namespace regather::tg::spmd {

/// True if the operation sums, or may.
bool mayReduce(mlir::Operation *op);

/// True if the bits of a row depend on how many rows the operation has: a
/// product of bf16, for which a library chooses the order by the sizes, and a
/// reduction of which the batch is not the outermost dimension, because what is
/// summed in lanes is the innermost dimension of more than one element.
bool dependsOnRows(mlir::Operation *op, const FactorSplit &split);

/// True if `op` is a linear operation that moves elements, and rounds none: it
/// may be done before a sum or behind it.
bool movesElements(mlir::Operation *op);

/// True if `op` casts its operand to the type in which `sum`, its sum so far,
/// has been kept: then there is nothing to do.
bool widensSum(mlir::Operation *op, mlir::Value sum);

/// Carries out `op` on this rank's part of the batch, in an elastic step: once
/// for each segment if it reduces the batch or depends on the number of rows.
/// `types` are those of the results on all of the part. Results that are cut
/// are put together; others are combined as a tree, means being divided by the
/// number of all segments so that the sum over the ranks is the mean. Sums have
/// the type `getSumType` until they are whole.
llvm::SmallVector<mlir::Value>
buildOnSegments(mlir::Operation *op, const ShardingRule &rule,
                const FactorSplit &split, mlir::ValueRange operands,
                mlir::TypeRange types, const DataMesh &mesh,
                Communication &communication);

/// Check that ranks hold subtrees, and that segments divide the rows of the
/// batch. Emit an error with the choices that would do.
mlir::LogicalResult verifySegmentRanks(mlir::func::FuncOp func,
                                       const DataMesh &mesh);
mlir::LogicalResult verifySegmentRows(mlir::func::FuncOp func,
                                      const DataMesh &mesh, int64_t batch);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_SEGMENTS_H
