//===- ValidSizes.h - Which elements of a part are not padding --*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_TRANSFORMS_VALIDSIZES_H
#define REGATHER_LIB_DIALECT_TG_TRANSFORMS_VALIDSIZES_H

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace regather::tg {

/// How many elements of this rank's part along `dim`, from the first on, are
/// not padding. May be negative, or more than there are.
struct ValidSize {
  int64_t dim;
  mlir::Value size;
};

/// The dimensions along which some rank has padding; `placement` may be null.
llvm::SmallVector<ValidSize> buildValidSizes(mlir::ImplicitLocOpBuilder &b,
                                             PlacementAttr placement,
                                             mlir::RankedTensorType local,
                                             MeshOp mesh);

/// In the region of an operation of linalg that has the dimensions of the part:
/// `element` where it is no padding, and zero elsewhere.
mlir::Value selectValid(mlir::ImplicitLocOpBuilder &b,
                        llvm::ArrayRef<ValidSize> sizes, mlir::Value element);

} // namespace regather::tg

#endif // REGATHER_LIB_DIALECT_TG_TRANSFORMS_VALIDSIZES_H
