//===- GradientChains.h - Which reductions make gradients -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_CHAINS_GRADIENTCHAINS_H
#define REGATHER_DIALECT_TG_CHAINS_GRADIENTCHAINS_H

#include "regather/Dialect/TG/Steps/StepGraph.h"

namespace regather::tg {

/// The reductions over ranks that gradients of parameters go through: a
/// reduce-scatter, an all-reduce, or one behind the other. They are found from
/// the end: from the gradient among the results, or from the update of the
/// parameter through the optimizer, back through operations that read one
/// tensor only, such as casts and views, and through sums of what was reduced.
/// Reductions of activations, such as those of tensor parallelism, are in no
/// chain.
///
/// Linear in the number of operands.
class GradientChains {
public:
  /// `func` is the function that `graph` describes.
  GradientChains(mlir::FunctionOpInterface func, const StepGraph &graph);

  /// The parameter whose gradient `value`, the result of a wait, is, perhaps
  /// over some of the ranks; null if it is none.
  mlir::BlockArgument getParameter(mlir::Value value) const {
    return parameters.lookup(value);
  }
  /// The parameters of the members of a reduction; null for other members.
  llvm::SmallVector<mlir::BlockArgument>
  getParameters(CollectiveOpInterface op) const;

private:
  void follow(mlir::Value value, mlir::BlockArgument parameter);

  mlir::Block &block;
  llvm::DenseMap<mlir::Value, mlir::BlockArgument> parameters;
  llvm::DenseSet<mlir::Value> seen;
};

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_CHAINS_GRADIENTCHAINS_H
