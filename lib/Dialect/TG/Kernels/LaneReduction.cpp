//===- LaneReduction.cpp - The order of a reduction -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Kernels/LaneReduction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace regather;

std::optional<tg::LaneReduction> tg::matchLaneReduction(linalg::LinalgOp op) {
  Block *body = op.getBlock();
  if (op.getNumDpsInits() != 1 || !body ||
      body->getNumArguments() != op->getNumOperands() ||
      !isa<Float32Type, Float64Type>(body->getArguments().back().getType()))
    return std::nullopt;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  int64_t loop = static_cast<int64_t>(sizes.size()) - 1;
  while (loop >= 0 && sizes[loop] == 1)
    --loop;
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (loop < 0 || sizes[loop] < kMinLaneSteps ||
      op.getIteratorTypesArray()[loop] != utils::IteratorType::reduction ||
      map.isFunctionOfDim(loop))
    return std::nullopt;
  // Nothing else may see what was there.
  BlockArgument previous = body->getArguments().back();
  Operation *combiner = body->getTerminator()->getOperand(0).getDefiningOp();
  if (!previous.hasOneUse() || *previous.getUsers().begin() != combiner ||
      !combiner->hasOneUse() ||
      !isa<arith::AddFOp, arith::MaximumFOp, arith::MinimumFOp>(combiner))
    return std::nullopt;
  unsigned term = combiner->getOperand(0) == previous ? 1 : 0;
  return LaneReduction{static_cast<unsigned>(loop), combiner, term};
}
