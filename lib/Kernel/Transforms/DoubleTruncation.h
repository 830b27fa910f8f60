//===- DoubleTruncation.h - f64 to narrow floats with one rounding -*- C++
//-*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_TRANSFORMS_DOUBLETRUNCATION_H
#define REGATHER_LIB_KERNEL_TRANSFORMS_DOUBLETRUNCATION_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace regather::kernel {

/// Builds the conversion of an f64 to a narrower float by way of f32, rounded
/// once.
mlir::Value truncateDouble(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                           mlir::Type type);

} // namespace regather::kernel

#endif // REGATHER_LIB_KERNEL_TRANSFORMS_DOUBLETRUNCATION_H
