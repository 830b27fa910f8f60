//===- GradientSums.h - Gradients of several batches ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_TRANSFORMS_GRADIENTSUMS_H
#define REGATHER_LIB_DIALECT_TG_TRANSFORMS_GRADIENTSUMS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace regather::tg {

/// The mean of `gradient` and of those that `sum` is the sum of, in the type of
/// the gradient, computed in the update type. `batches`, f32 of rank 0, counts
/// all of them.
mlir::linalg::GenericOp buildMeanGradient(mlir::ImplicitLocOpBuilder &b,
                                          mlir::Value gradient, mlir::Value sum,
                                          mlir::Value batches);

} // namespace regather::tg

#endif // REGATHER_LIB_DIALECT_TG_TRANSFORMS_GRADIENTSUMS_H
