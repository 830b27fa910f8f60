//===- Experts.h - Parameters that are experts ------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_EXPERTS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_EXPERTS_H

#include "mlir/IR/Value.h"

namespace regather::tg {

/// The argument of the step that the matrices of a grouped GEMM are: [experts,
/// ...], as they lie, transposed, or in another type. Null if `op` is none, if
/// it computes the gradient of matrices, or if these are something else.
mlir::BlockArgument findExperts(mlir::Operation *op);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_TRANSFORMS_EXPERTS_H
