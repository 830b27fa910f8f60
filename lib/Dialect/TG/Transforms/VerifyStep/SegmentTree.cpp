//===- SegmentTree.cpp - Sums over segments and what adds them ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SegmentTree.h"

#include "../ShardParameters/Segments.h"

#include "regather/Dialect/TG/Targets/NodeTargets.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather::tg;

bool regather::tg::areSiblings(SegmentRange low, SegmentRange high,
                               int64_t segments) {
  int64_t count = low.count + high.count;
  if (high.first != low.first + low.count || low.count != count / 2)
    return false;
  // The node of so many segments that begins with or before the first one.
  SegmentRange node = {0, segments};
  while (node.count > count) {
    int64_t half = node.count / 2;
    if (low.first < node.first + half)
      node.count = half;
    else
      node = {node.first + half, node.count - half};
  }
  return node.first == low.first && node.count == count;
}

bool regather::tg::isAddition(Operation *op) {
  if (auto node = dyn_cast<NodeOp>(op))
    return node.getTarget() == getName(NodeTarget::AtenAddTensor) &&
           node.getNumOperands() == 2 && !node.getKwargsAttr();
  return isa<linalg::AddOp, arith::AddFOp, arith::AddIOp>(op);
}

/// True if the body yields an element of an input as it is.
static bool copies(linalg::GenericOp generic) {
  if (generic.getNumReductionLoops() != 0)
    return false;
  return llvm::all_of(
      generic.getBody()->getTerminator()->getOperands(), [&](Value value) {
        auto argument = dyn_cast<BlockArgument>(value);
        return argument && argument.getOwner() == generic.getBody() &&
               argument.getArgNumber() < generic.getNumDpsInputs();
      });
}

bool regather::tg::movesSums(Operation *op) {
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return copies(generic);
  return spmd::movesElements(op) ||
         isa<FlattenOp, UnflattenOp, tensor::PadOp, linalg::TransposeOp,
             linalg::CopyOp, linalg::BroadcastOp>(op);
}
