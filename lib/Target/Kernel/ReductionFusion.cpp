//===- ReductionFusion.cpp - What reductions read, computed there ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReductionFusion.h"

#include "regather/Target/Kernel/ElementInlining.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace regather;

/// True if an operand has an element for each point of the loops.
static bool hasOperandOfAllLoops(linalg::GenericOp op) {
  return llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
    return op.getMatchingIndexingMap(operand).isPermutation();
  });
}

/// The operand that is computed from nothing of its size; null if there is
/// none.
static OpOperand *findUncovered(linalg::GenericOp op) {
  for (OpOperand *operand : op.getDpsInputOperands()) {
    auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
    if (producer && producer.getNumLoops() == producer.getNumParallelLoops() &&
        op.getMatchingIndexingMap(operand).isPermutation() &&
        kernel::isCheapToRepeat(operand->get()))
      return operand;
  }
  return nullptr;
}

/// True if what the operand is computed from, as far as it is cheap, has
/// nowhere as many elements.
static bool isUncovered(OpOperand &operand) {
  SmallVector<Value> pending = {operand.get()};
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    auto producer = value.getDefiningOp<linalg::GenericOp>();
    if (!producer || !kernel::isCheapToRepeat(value))
      return false;
    if (hasOperandOfAllLoops(producer))
      for (OpOperand *input : producer.getDpsInputOperands())
        if (producer.getMatchingIndexingMap(input).isPermutation())
          pending.push_back(input->get());
  }
  return true;
}

/// An argument of the kernel with the shape of `value`, which lies before it.
static Value findCover(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  Operation *def = value.getDefiningOp();
  for (auto argument : def->getBlock()->getOps<bufferization::ToTensorOp>())
    if (cast<RankedTensorType>(argument.getType()).getShape() ==
            type.getShape() &&
        argument->isBeforeInBlock(def))
      return argument;
  return nullptr;
}

/// The reduction with another operand first, which nothing uses.
static linalg::GenericOp addOperand(RewriterBase &rewriter,
                                    linalg::GenericOp op, Value operand,
                                    AffineMap map) {
  rewriter.setInsertionPoint(op);
  SmallVector<Value> inputs = {operand};
  llvm::append_range(inputs, op.getDpsInputs());
  SmallVector<AffineMap> maps = {map};
  llvm::append_range(maps, op.getIndexingMapsArray());
  auto made = linalg::GenericOp::create(
      rewriter, op.getLoc(), op.getResultTypes(), inputs, op.getDpsInits(),
      maps, op.getIteratorTypesArray());
  rewriter.inlineRegionBefore(op.getRegion(), made.getRegion(),
                              made.getRegion().begin());
  made.getBlock()->insertArgument(
      0u, cast<RankedTensorType>(operand.getType()).getElementType(),
      op.getLoc());
  rewriter.replaceOp(op, made);
  return made;
}

static linalg::GenericOp fuse(RewriterBase &rewriter, linalg::GenericOp op,
                              OpOperand &operand) {
  // What others read stays out of the loops of this one.
  rewriter.setInsertionPoint(op);
  Operation *producer = rewriter.clone(*operand.get().getDefiningOp());
  operand.set(producer->getResult(0));
  FailureOr<linalg::ElementwiseOpFusionResult> fused =
      linalg::fuseElementwiseOps(rewriter, &operand);
  if (failed(fused))
    return nullptr;
  for (auto [from, to] : fused->replacements)
    if (from.getDefiningOp() == op)
      rewriter.replaceAllUsesWith(from, to);
  rewriter.eraseOp(op);
  rewriter.eraseOp(producer);
  return cast<linalg::GenericOp>(fused->fusedOp);
}

void kernel::fuseIntoReductions(ModuleOp module) {
  SmallVector<linalg::GenericOp> reductions;
  module.walk([&](linalg::GenericOp op) {
    if (op.getNumReductionLoops() != 0 && op.hasPureTensorSemantics())
      reductions.push_back(op);
  });
  IRRewriter rewriter(module.getContext());
  for (linalg::GenericOp op : reductions) {
    OpOperand *operand = findUncovered(op);
    Value cover =
        operand && isUncovered(*operand) ? findCover(operand->get()) : Value();
    if (!cover)
      continue;
    op = addOperand(rewriter, op, cover, op.getMatchingIndexingMap(operand));
    while (op && (operand = findUncovered(op)) &&
           linalg::areElementwiseOpsFusable(operand))
      op = fuse(rewriter, op, *operand);
  }
}
