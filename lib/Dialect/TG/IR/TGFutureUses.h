//===- TGFutureUses.h - Futures are linear ----------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_IR_TGFUTUREUSES_H
#define REGATHER_LIB_DIALECT_TG_IR_TGFUTUREUSES_H

#include "regather/Dialect/TG/IR/TG.h"

namespace regather::tg {

/// Checks that the future of `op` has no use, or one wait in the same block.
llvm::LogicalResult verifyFutureUses(mlir::Operation *op,
                                     mlir::TypedValue<FutureType> future);

} // namespace regather::tg

#endif // REGATHER_LIB_DIALECT_TG_IR_TGFUTUREUSES_H
