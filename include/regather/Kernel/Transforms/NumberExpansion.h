//===- NumberExpansion.h - Arithmetic in other arithmetic -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// What upstream lowers to something that rounds differently, depends on the CPU
// or calls a function that is not there.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_TRANSFORMS_NUMBEREXPANSION_H
#define REGATHER_KERNEL_TRANSFORMS_NUMBEREXPANSION_H

#include "mlir/IR/BuiltinOps.h"

namespace regather::kernel {

/// Writes the classes of numbers that have no lowering to LLVM (isinf,
/// isnormal) as comparisons.
void expandClasses(mlir::ModuleOp module);

/// Removes fast-math flags: they permit results that depend on the shape of a
/// loop, and every engine must give the same bits.
void removeFastMath(mlir::ModuleOp module);

/// Writes conversions of integers to 16-bit floats so that they round once.
/// Runs on scalars, before 16-bit floats become f32.
mlir::LogicalResult expandIntegerConversions(mlir::ModuleOp module);

/// Expands divisions that round up or down, and conversions of floats that
/// would round twice. Without `hasBFloat16Conversions` also those to and from
/// bf16, as integer arithmetic: the instructions of some CPUs flush subnormals,
/// and the compiler's helper is not in every libgcc.
mlir::LogicalResult expandFloatConversions(mlir::ModuleOp module,
                                           bool hasBFloat16Conversions = false);

} // namespace regather::kernel

#endif // REGATHER_KERNEL_TRANSFORMS_NUMBEREXPANSION_H
