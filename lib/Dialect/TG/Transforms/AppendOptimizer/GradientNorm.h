//===- GradientNorm.h - Clip gradients by their norm ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_TRANSFORMS_GRADIENTNORM_H
#define REGATHER_LIB_DIALECT_TG_TRANSFORMS_GRADIENTNORM_H

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace regather::tg {

/// A gradient as every rank holds it.
struct LocalGradient {
  mlir::Value value;
  /// Null if the gradient is replicated. Has no partial axes.
  PlacementAttr placement;
  /// Null if unknown.
  mlir::StringAttr module;
};

/// The squared norm of all gradients together, a `tensor<f64>` that is equal on
/// all ranks. Squares are added in the order of `gradients`; the sums of each
/// set of axes over which gradients are sharded are all-reduced at once, so
/// that copies on other axes count once. `from` is the step; if it is elastic,
/// sums are trees over its segments, or, of gradients that these do not divide,
/// over all their rows, in one order. Null, with an error, if a gradient is cut
/// along another dimension.
mlir::Value buildSquaredNorm(mlir::ImplicitLocOpBuilder &b,
                             mlir::Operation *from,
                             llvm::ArrayRef<LocalGradient> gradients);

/// What to multiply gradients by so that their norm is at most `maxNorm`, as
/// torch.nn.utils.clip_grad_norm_: a tensor of rank 0 of `type`.
mlir::Value buildClipCoefficient(mlir::ImplicitLocOpBuilder &b,
                                 mlir::Value squaredNorm, double maxNorm,
                                 mlir::Type type);

} // namespace regather::tg

#endif // REGATHER_LIB_DIALECT_TG_TRANSFORMS_GRADIENTNORM_H
