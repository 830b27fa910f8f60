//===- RowShare.h - Rows that are expected to be computed -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_IR_ROWSHARE_H
#define REGATHER_DIALECT_TG_IR_ROWSHARE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace regather::tg {

/// On a grouped GEMM of a rank that has some of the experts: which part of the
/// rows is expected to go to these, above 0 and at most 1. The others lie
/// behind the last end and are not multiplied. It decides costs alone.
inline constexpr llvm::StringLiteral kRowShareAttrName = "tg.row_share";

/// 1 if nothing is said.
inline double getRowShare(mlir::Operation *op) {
  auto share = op->getAttrOfType<mlir::FloatAttr>(kRowShareAttrName);
  return share ? share.getValueAsDouble() : 1;
}

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_IR_ROWSHARE_H
