//===- OwnBatches.h - Steps on a batch for each rank ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With batch=per-rank, a rank carries the captured step out on a batch of its
// own. What depends on the batch then differs from rank to rank, until it is
// reduced.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_OWNBATCHES_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_OWNBATCHES_H

#include "Gradients.h"

namespace regather::tg::spmd {

/// The values that depend on the batch, directly or through others; none if
/// the ranks share one batch. What the optimizer computes does not, since it
/// reads reduced gradients.
class BatchDependence {
public:
  explicit BatchDependence(const Step &step);

  bool contains(mlir::Value value) const { return values.contains(value); }

private:
  llvm::DenseSet<mlir::Value> values;
};

/// What becomes of a result, other than a gradient, that depends on the batch.
enum class ResultForm {
  /// The mean of those of all ranks.
  Mean,
  /// Those of all ranks behind each other: dimension 0 is the batch.
  Rows,
  /// Neither can be.
  None
};
ResultForm getResultForm(const Step &step, unsigned result);

/// Emits an error where a step cannot have a batch for each rank: a result has
/// no mean, or the optimizer reads what is no gradient.
mlir::LogicalResult verifyOwnBatches(const Step &step,
                                     const GradientPlan &plan);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_OWNBATCHES_H
