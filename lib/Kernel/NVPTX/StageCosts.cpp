//===- StageCosts.cpp - How much the operations of a stage do -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StageCosts.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace regather;

/// What a block touches at least, however much it computes.
static constexpr int64_t kMinBlockBytes = 4 * 1024;

/// Iterations of the loops in the body of an operation, as far as they are
/// known.
static int64_t countIterations(Operation *op) {
  int64_t most = 1;
  op->walk([&](scf::ForOp loop) {
    int64_t count = 1;
    for (Operation *outer = loop; outer != op; outer = outer->getParentOp())
      if (auto around = dyn_cast<scf::ForOp>(outer))
        if (std::optional<APInt> trips = around.getStaticTripCount())
          count *= trips->getSExtValue();
    most = std::max(most, count);
  });
  return most;
}

int64_t nvptx::countSteps(Operation *op) {
  int64_t points = 1;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (linalgOp && !linalgOp.hasDynamicShape()) {
    for (int64_t size : linalgOp.getStaticLoopRanges())
      points *= size;
    return points * countIterations(op);
  }
  auto add = [&](Type type) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      points = std::max(points, tensor.getNumElements());
  };
  llvm::for_each(op->getOperandTypes(), add);
  llvm::for_each(op->getResultTypes(), add);
  return points;
}

kernel::TileLimits nvptx::scaleLimits(ArrayRef<Operation *> group,
                                      kernel::TileLimits limits) {
  int64_t points = 0, elements = 0;
  for (Operation *op : group) {
    points += countSteps(op);
    for (TypeRange types :
         {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
      for (Type type : types)
        if (auto tensor = dyn_cast<RankedTensorType>(type))
          elements += tensor.getNumElements();
  }
  if (points > elements && elements != 0)
    limits.bytes = std::max(limits.bytes / (points / elements),
                            std::min(limits.bytes, kMinBlockBytes));
  return limits;
}
