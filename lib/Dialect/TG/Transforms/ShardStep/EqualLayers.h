//===- EqualLayers.h - One layer for many equal ones ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_EQUALLAYERS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_EQUALLAYERS_H

#include "../ShardParameters/Step.h"

#include "mlir/IR/OwningOpRef.h"

namespace regather::tg::spmd {

/// A copy of a step without most of its equal layers. What a layer that is left
/// costs counts for those that are not.
struct FoldedStep {
  /// In no module.
  mlir::OwningOpRef<mlir::func::FuncOp> func;
  /// The module of the layer that stands for several, such as `layers.1`; empty
  /// if there is none.
  std::string layer;
  int64_t numLayers = 1;
  /// What the layer reads of a neighbour, and what it gives to the other one in
  /// that place: in the step, the latter is what the next layer gets.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>, 2> crossings;

  /// How often the step has what belongs to a module.
  double countModule(llvm::StringRef module) const;
  double countOperation(mlir::Operation *op) const;
  double countArgument(unsigned argument) const;
};

/// Leaves out the layers that are equal to the second one: modules such as
/// `layers.7` with the same operations in the same order, of which each reads
/// the same of its own layer, the one before, and what lies outside. The second
/// layer is joined to the last one, which stays. A copy of the whole step if
/// fewer than three layers are equal. Linear in the operations.
FoldedStep foldEqualLayers(const Step &step);

/// A copy with all layers.
FoldedStep copyStep(const Step &step);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_EQUALLAYERS_H
