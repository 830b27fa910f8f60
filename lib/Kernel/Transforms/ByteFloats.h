//===- ByteFloats.h - Conversions of floats of one byte ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_TRANSFORMS_BYTEFLOATS_H
#define REGATHER_LIB_KERNEL_TRANSFORMS_BYTEFLOATS_H

#include "mlir/IR/PatternMatch.h"

namespace regather::kernel {

/// Whether conversions of the type are expanded: f8E4M3FN and f8E5M2.
bool isByteFloat(mlir::Type type);

/// Adds the expansion of conversions between floats of one byte and others of
/// at most four to arithmetic, the same on all targets. They round once, to
/// nearest even; what is too large becomes infinity, or NaN where there is
/// none.
void populateByteFloatPatterns(mlir::RewritePatternSet &patterns);

} // namespace regather::kernel

#endif // REGATHER_LIB_KERNEL_TRANSFORMS_BYTEFLOATS_H
