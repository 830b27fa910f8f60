//===- Gradients.h - Gradients of a step and when they are ready -*- C++
//-*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_GRADIENTS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_GRADIENTS_H

#include "Units.h"

namespace regather::tg::spmd {

/// A value that is to be reduced over the ranks because it is the gradient of
/// a parameter: a result of the step, or what the optimizer of the step reads.
struct Gradient {
  mlir::Value value;
  unsigned parameter;
  /// Each rank needs its shard only.
  bool sharded;
  /// Backward reads the value that the batch of this rank alone gives.
  bool hasLocalReaders = false;
};

/// The gradient of a parameter that lies in a flat buffer.
struct FlatGradient {
  /// The value that is reduced.
  mlir::Value value;
  /// The casts that make the result of the step from it, in order. They round,
  /// so a sum must be complete before.
  llvm::SmallVector<mlir::Operation *> casts;
};

/// What the signature and the optimizer of a step say about its values.
struct GradientPlan {
  /// The gradients of each unit, in registration order.
  std::vector<llvm::SmallVector<Gradient>> ofUnit;
  /// By parameter, those that lie in flat buffers.
  llvm::DenseMap<unsigned, FlatGradient> flat;
  /// The units whose last gradient each operation computes.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<unsigned, 1>> readyAfter;
  /// What the optimizer and the end of the step see when it is reduced.
  llvm::DenseSet<mlir::Value> reduced;
  /// Arguments that are cut like the parameter that they belong to, and its
  /// number.
  llvm::SmallVector<std::pair<unsigned, unsigned>> shardedStates;
};

/// The value to reduce so that `gradient`, one of a flat buffer, can be
/// computed from its shards: the operand of casts that round, which are added
/// to `casts` in their order. Only casts are left out: what is done to an
/// element of a flat buffer may not depend on where it lies, nor change the
/// zeros between parameters.
mlir::Value skipCasts(mlir::Value gradient,
                      llvm::SmallVectorImpl<mlir::Operation *> &casts);

/// Values of the optimizer belong to the parameter with which they are combined
/// elementwise, through any number of operations.
GradientPlan planGradients(const Step &step, llvm::ArrayRef<Unit> units);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_GRADIENTS_H
