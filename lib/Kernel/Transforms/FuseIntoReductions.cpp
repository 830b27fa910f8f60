//===- FuseIntoReductions.cpp - What reductions read, computed there ------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementFusion.h"

#include "regather/Kernel/Transforms/ElementInlining.h"
#include "regather/Kernel/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace regather;

namespace regather::kernel {
#define GEN_PASS_DEF_FUSEINTOREDUCTIONSPASS
#include "regather/Kernel/Transforms/Passes.h.inc"
} // namespace regather::kernel

/// True if an operand has an element for each point of the loops.
static bool hasOperandOfAllLoops(linalg::GenericOp op) {
  return llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
    return op.getMatchingIndexingMap(operand).isPermutation();
  });
}

/// The operand that is computed from nothing of its size; null if there is
/// none. Of several, the one whose producer comes last: all that reads it has
/// become part of the operation.
static OpOperand *findUncovered(linalg::GenericOp op) {
  OpOperand *last = nullptr;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
    if (producer && producer.getNumLoops() == producer.getNumParallelLoops() &&
        op.getMatchingIndexingMap(operand).isPermutation() &&
        kernel::isCheapToRepeat(operand->get()) &&
        (!last || last->get().getDefiningOp()->isBeforeInBlock(producer)))
      last = operand;
  }
  return last;
}

/// True if no value that the operand is computed from by cheap operations has
/// as many elements as the operand.
static bool isUncovered(OpOperand &operand) {
  llvm::SmallSetVector<Value, 8> values;
  values.insert(operand.get());
  for (size_t next = 0; next != values.size(); ++next) {
    Value value = values[next];
    auto producer = value.getDefiningOp<linalg::GenericOp>();
    if (!producer || !kernel::isCheapToRepeat(value))
      return false;
    if (hasOperandOfAllLoops(producer))
      for (OpOperand *input : producer.getDpsInputOperands())
        if (producer.getMatchingIndexingMap(input).isPermutation())
          values.insert(input->get());
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

/// Adds an operand for the loops of a reduction that has none, and fuses what
/// is spread over them. Returns the number of producers fused.
static unsigned fuseProducers(RewriterBase &rewriter,
                              linalg::GenericOp reduction) {
  linalg::GenericOp op = kernel::mergeOperands(rewriter, reduction);
  OpOperand *operand = findUncovered(op);
  Value cover =
      operand && isUncovered(*operand) ? findCover(operand->get()) : Value();
  if (!cover)
    return 0;
  unsigned numFused = 0;
  op = addOperand(rewriter, op, cover, op.getMatchingIndexingMap(operand));
  while (op && (operand = findUncovered(op)) &&
         linalg::areElementwiseOpsFusable(operand)) {
    op = kernel::fuseProducer(rewriter, *operand);
    ++numFused;
  }
  return numFused;
}

namespace {
class FuseIntoReductionsPass
    : public kernel::impl::FuseIntoReductionsPassBase<FuseIntoReductionsPass> {
public:
  using FuseIntoReductionsPassBase::FuseIntoReductionsPassBase;

  void runOnOperation() override {
    SmallVector<linalg::GenericOp> reductions;
    getOperation().walk([&](linalg::GenericOp op) {
      if (op.getNumReductionLoops() != 0 && op.hasPureTensorSemantics())
        reductions.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (linalg::GenericOp reduction : reductions)
      numFused += fuseProducers(rewriter, reduction);
  }
};
} // namespace
