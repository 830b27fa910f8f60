//===- SquareSums.h - Sums of squares of gradients ------------ -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_TRANSFORMS_SQUARESUMS_H
#define REGATHER_LIB_DIALECT_TG_TRANSFORMS_SQUARESUMS_H

#include "GradientNorm.h"
#include "ValidSizes.h"

namespace regather::tg {

/// Zeros of f64, for sums.
mlir::Value buildZeros(mlir::ImplicitLocOpBuilder &b,
                       llvm::ArrayRef<int64_t> shape);

/// Adds the squares of the elements that are not padding to `sum`, those of
/// rows first (`RowSums.h`).
mlir::Value buildSumOfSquares(mlir::ImplicitLocOpBuilder &b,
                              const LocalGradient &gradient,
                              llvm::ArrayRef<ValidSize> sizes, mlir::Value sum);

/// The sum of squares of each row of a gradient.
mlir::Value buildRowSums(mlir::ImplicitLocOpBuilder &b,
                         const LocalGradient &gradient,
                         llvm::ArrayRef<ValidSize> sizes);

/// Sums `local` over the ranks of a group, in their order.
mlir::Value buildAllReduce(mlir::ImplicitLocOpBuilder &b, mlir::Value local,
                           mlir::FlatSymbolRefAttr mesh, AxesAttr axes);

/// A scalar computation on tensors of rank 0.
mlir::Value
buildScalar(mlir::ImplicitLocOpBuilder &b, mlir::ValueRange inputs,
            mlir::Type type,
            llvm::function_ref<mlir::Value(mlir::ImplicitLocOpBuilder &,
                                           mlir::ValueRange)>
                fn);

/// The sum of two scalars; the second if there is no first one yet.
mlir::Value addScalars(mlir::ImplicitLocOpBuilder &b, mlir::Value total,
                       mlir::Value term);

} // namespace regather::tg

#endif // REGATHER_LIB_DIALECT_TG_TRANSFORMS_SQUARESUMS_H
