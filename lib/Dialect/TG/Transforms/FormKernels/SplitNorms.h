//===- SplitNorms.h - Gradients of a norm as two nodes ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_TRANSFORMS_FORMKERNELS_SPLITNORMS_H
#define REGATHER_LIB_DIALECT_TG_TRANSFORMS_FORMKERNELS_SPLITNORMS_H

#include "mlir/IR/Block.h"

namespace regather::tg::kernels {

/// Replaces each node of `block` that computes all gradients of a layer norm or
/// RMS norm by one for the input, which is independent row by row and joins its
/// neighbours, and one for weight and bias, whose columns are. All values stay
/// the same to the bit. Returns the number of nodes that were split.
unsigned splitNormGradients(mlir::Block &block);

} // namespace regather::tg::kernels

#endif // REGATHER_LIB_DIALECT_TG_TRANSFORMS_FORMKERNELS_SPLITNORMS_H
