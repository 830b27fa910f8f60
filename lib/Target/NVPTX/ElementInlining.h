//===- ElementInlining.h - Compute elements where they are read -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_TARGET_NVPTX_ELEMENTINLINING_H
#define REGATHER_LIB_TARGET_NVPTX_ELEMENTINLINING_H

#include "mlir/IR/Operation.h"

namespace regather::nvptx {

/// Replaces each `tensor.extract` in the regions of `op` from what is computed
/// element by element, or is a view, by the computation of that element, as far
/// as nothing else needs the tensor. What elementwise fusion does for operands,
/// for places that are computed.
void inlineElements(mlir::Operation *op);

} // namespace regather::nvptx

#endif // REGATHER_LIB_TARGET_NVPTX_ELEMENTINLINING_H
