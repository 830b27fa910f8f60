//===- RuleParts.h - What rules are put together from -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_SHARDING_RULEPARTS_H
#define REGATHER_LIB_DIALECT_TG_SHARDING_RULEPARTS_H

#include "regather/Dialect/TG/IR/TG.h"

namespace regather::tg::sharding {

/// A new factor for a dimension, or none for size 1.
DimFactors addDim(ShardingRule &rule, int64_t size,
                  FactorKind kind = FactorKind::Parallel);

/// New factors for the dimensions of a tensor.
TensorFactors addDims(ShardingRule &rule, llvm::ArrayRef<int64_t> shape,
                      FactorKind kind = FactorKind::Parallel);

/// The factors of a tensor of shape `own` that is broadcast to `shape`, which
/// has `factors`. Dimensions that do not fit get factors of kind Whole.
TensorFactors getBroadcast(ShardingRule &rule, const TensorFactors &factors,
                           llvm::ArrayRef<int64_t> shape,
                           llvm::ArrayRef<int64_t> own);

/// The factors that both shapes of a view have in common.
struct ViewFactors {
  TensorFactors from, to;
};

/// Cuts two shapes with the same number of elements into common factors, from
/// the outermost to the innermost: [6, 4] and [3, 8] into (3, 2), (4) and
/// (3), (2, 4). Where there is none, as between [3, 2] and [2, 3], the
/// dimensions are whole. Linear in the ranks.
ViewFactors addView(ShardingRule &rule, llvm::ArrayRef<int64_t> from,
                    llvm::ArrayRef<int64_t> to);

/// `rule` in its final form: factors that all results have are parallel, those
/// that cannot be reduced over are whole, and sets of operands in which the
/// operation rounds are not linear. The whole rule if `rule` is inconsistent,
/// as that of a malformed operation is.
ShardingRule finishRule(ShardingRule rule, mlir::Operation *op);

/// True if an operand or result has a dimension of unknown size.
bool hasDynamicShape(mlir::Operation *op);

/// Calls `fn` on the operations of a loaded dialect.
void forEachOperation(
    mlir::MLIRContext *context, llvm::StringRef dialect,
    llvm::function_ref<void(mlir::RegisteredOperationName)> fn);

/// Attaches external models to the nodes of tg, the structured operations of
/// linalg, collectives and flat tensors, the operations of tensor that shape,
/// and constants and elementwise operations of arith and math.
void registerNodeModels(mlir::DialectRegistry &registry);
void registerLinalgModels(mlir::DialectRegistry &registry);
void registerCollectiveModels(mlir::DialectRegistry &registry);
void registerFlatModels(mlir::DialectRegistry &registry);
void registerTensorModels(mlir::DialectRegistry &registry);
void registerArithModels(mlir::DialectRegistry &registry);

} // namespace regather::tg::sharding

#endif // REGATHER_LIB_DIALECT_TG_SHARDING_RULEPARTS_H
