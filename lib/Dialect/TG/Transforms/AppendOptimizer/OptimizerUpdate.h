//===- OptimizerUpdate.h - Update one parameter -----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_TRANSFORMS_OPTIMIZERUPDATE_H
#define REGATHER_LIB_DIALECT_TG_TRANSFORMS_OPTIMIZERUPDATE_H

#include "FloatMath.h"
#include "UpdateRule.h"
#include "ValidSizes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace regather::tg {

/// The type in which a parameter of floating-point type `element` is updated:
/// f32, and f64 for f64.
mlir::Type getUpdateType(mlir::Type element);

/// Marks `op` as a part of the optimizer, and of `module` unless it is null.
void markOptimizer(mlir::Operation *op, mlir::StringAttr module = nullptr);

/// Computes, in f64 and once a step, what does not depend on the element, and
/// rounds it to `type`: tensors of rank 0 in the order that `buildUpdate`
/// expects. `step` is null unless the rule needs it.
llvm::SmallVector<mlir::Value>
buildStepScalars(mlir::ImplicitLocOpBuilder &b, const UpdateRule &rule,
                 mlir::Value learningRate, mlir::Value step, mlir::Type type);

/// Whether a loss of one element is a finite number, and no rows are missing:
/// i1 of rank 0. Either may be null, but not both.
mlir::linalg::GenericOp buildIsWanted(mlir::ImplicitLocOpBuilder &b,
                                      mlir::Value loss, mlir::Value overflow);

/// What one update reads.
struct UpdateOperands {
  mlir::Value parameter;
  mlir::Value gradient;
  llvm::SmallVector<mlir::Value, 2> states;
  /// Of rank 0, in the update type; null without clipping.
  mlir::Value clipCoefficient;
  llvm::SmallVector<mlir::Value> scalars;
  /// i1 of rank 0: whether anything is updated; null if it is in any case.
  mlir::Value isWanted;
  /// Where the parameter has padding that the rule does not keep zero.
  llvm::SmallVector<ValidSize> validSizes;
};

/// One operation that gives the new values of the parameter and its states, in
/// this order. Each is computed in the update type and rounded once. Padding
/// that is zero in all operands stays so.
mlir::linalg::GenericOp buildUpdate(mlir::ImplicitLocOpBuilder &b,
                                    const UpdateRule &rule,
                                    const UpdateOperands &operands);

} // namespace regather::tg

#endif // REGATHER_LIB_DIALECT_TG_TRANSFORMS_OPTIMIZERUPDATE_H
