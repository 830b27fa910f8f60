//===- RankParts.h - The part of a tensor that a rank has ----- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_RANKPARTS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_RANKPARTS_H

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/IR/Builders.h"

namespace regather::tg {

/// The position of this rank along `axes` times `size`: where its part of a
/// tensor begins that is cut into parts of `size` elements. The operations
/// belong to the forward pass; the last of them makes the result.
mlir::Operation *createPartOffset(mlir::OpBuilder &builder, mlir::Location loc,
                                  mlir::FlatSymbolRefAttr mesh, AxesAttr axes,
                                  int64_t size);

/// `whole` with zeros behind its end along `dim`, `size` elements in all.
mlir::Operation *createPadding(mlir::OpBuilder &builder, mlir::Location loc,
                               mlir::Value whole, int64_t dim, int64_t size);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_TRANSFORMS_RANKPARTS_H
