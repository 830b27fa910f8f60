//===- ElementFusion.h - Elements computed where they are read --*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_TRANSFORMS_ELEMENTFUSION_H
#define REGATHER_LIB_KERNEL_TRANSFORMS_ELEMENTFUSION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace regather::kernel {

/// The operation with each input once: what it reads in two operands in the
/// same way it reads in one.
mlir::linalg::GenericOp mergeOperands(mlir::RewriterBase &rewriter,
                                      mlir::linalg::GenericOp op);

/// The operation that computes what `operand` reads itself, in place of the one
/// that reads it; null if the two cannot become one. Its operands are merged. A
/// producer that nothing else reads is erased.
mlir::linalg::GenericOp fuseProducer(mlir::RewriterBase &rewriter,
                                     mlir::OpOperand &operand);

} // namespace regather::kernel

#endif // REGATHER_LIB_KERNEL_TRANSFORMS_ELEMENTFUSION_H
