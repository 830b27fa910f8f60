//===- ExpertMatrices.h - Matrices that ranks have parts of -----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where ranks multiply their own rows by the matrices of all experts, these are
// gathered, and the sums of their gradients scattered:
//
//   w = view(all_gather(part))           a GEMM reads w
//   part' = reduce_scatter(view(g))      g is the gradient of w
//
// Views and casts in between leave experts the outermost dimension, so that
// they can be carried out on parts as well.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_EXPERTMATRICES_H
#define REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_EXPERTMATRICES_H

#include "regather/Dialect/TG/IR/TG.h"

namespace regather::tg::spmd {

/// Matrices that are gathered along the experts, or the gradient of such.
struct ExpertMatrices {
  AxesAttr axes;
  mlir::FlatSymbolRefAttr mesh;
  /// The rank's part; of a gradient, what the reduction leaves to it.
  mlir::Value part;
  /// Views and casts, in the order in which they are carried out.
  llvm::SmallVector<mlir::Operation *> chain;
};

/// What is gathered to give `matrices`: [experts, ...]; nothing if it is not
/// made so.
std::optional<ExpertMatrices> findGathered(mlir::Value matrices);

/// What becomes of `gradient`: [experts, ...]; nothing if anything but a sum
/// that is scattered does.
std::optional<ExpertMatrices> findScattered(mlir::Value gradient);

/// Carries out `chain` on a part of `own` experts.
mlir::Value buildChain(mlir::OpBuilder &builder, mlir::Value part,
                       llvm::ArrayRef<mlir::Operation *> chain, int64_t own);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_DISPATCHROWS_EXPERTMATRICES_H
