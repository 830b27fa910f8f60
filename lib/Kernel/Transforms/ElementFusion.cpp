//===- ElementFusion.cpp - Fuse one producer into one reader --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementFusion.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"

using namespace mlir;

linalg::GenericOp regather::kernel::mergeOperands(RewriterBase &rewriter,
                                                  linalg::GenericOp op) {
  using Input = std::pair<Value, AffineMap>;
  llvm::SmallMapVector<Input, BlockArgument, 8> inputs;
  Block *body = op.getBlock();
  for (OpOperand *operand : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(operand);
    auto [known, isNew] = inputs.try_emplace(
        Input(operand->get(), op.getMatchingIndexingMap(operand)), argument);
    if (!isNew)
      rewriter.replaceAllUsesWith(argument, known->second);
  }
  if (inputs.size() == static_cast<size_t>(op.getNumDpsInputs()))
    return op;
  SmallVector<Value> values;
  SmallVector<AffineMap> maps;
  llvm::BitVector dropped(body->getNumArguments(), true);
  for (const auto &[input, argument] : inputs) {
    values.push_back(input.first);
    maps.push_back(input.second);
    dropped.reset(argument.getArgNumber());
  }
  for (OpOperand &init : op.getDpsInitsMutable()) {
    maps.push_back(op.getMatchingIndexingMap(&init));
    dropped.reset(op.getMatchingBlockArgument(&init).getArgNumber());
  }
  rewriter.setInsertionPoint(op);
  auto made = linalg::GenericOp::create(
      rewriter, op.getLoc(), op.getResultTypes(), values, op.getDpsInits(),
      maps, op.getIteratorTypesArray());
  rewriter.inlineRegionBefore(op.getRegion(), made.getRegion(),
                              made.getRegion().begin());
  made.getBlock()->eraseArguments(dropped);
  rewriter.replaceOp(op, made);
  return made;
}

linalg::GenericOp regather::kernel::fuseProducer(RewriterBase &rewriter,
                                                 OpOperand &operand) {
  auto reader = cast<linalg::GenericOp>(operand.getOwner());
  rewriter.setInsertionPoint(reader);
  Operation *producer = operand.get().getDefiningOp();
  if (!operand.get().hasOneUse()) {
    // What others read stays out of the loops of this one.
    unsigned number = cast<OpResult>(operand.get()).getResultNumber();
    producer = rewriter.clone(*producer);
    operand.set(producer->getResult(number));
  }
  FailureOr<linalg::ElementwiseOpFusionResult> fused =
      linalg::fuseElementwiseOps(rewriter, &operand);
  if (failed(fused))
    return nullptr;
  for (auto [from, to] : fused->replacements)
    if (from.getDefiningOp() == reader)
      rewriter.replaceAllUsesWith(from, to);
  rewriter.eraseOp(reader);
  if (producer->use_empty())
    rewriter.eraseOp(producer);
  return mergeOperands(rewriter, cast<linalg::GenericOp>(fused->fusedOp));
}
