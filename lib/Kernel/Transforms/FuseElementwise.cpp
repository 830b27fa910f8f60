//===- FuseElementwise.cpp - Elements computed where they are read --------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's patterns fuse one pair at a time in an order of their own. With
// cheap producers that several read, that doubles the work at each step of
//
//   b = x + x;  c = b + b;  d = c + c
//
// since both operands of d bring a copy of c, each of which brings two of b.
// Here:
//
//   for each operation, the last first:
//     while an operand can be computed in it:
//       take the one whose producer comes last, and fuse it
//       merge operands that are equal
//
// All readers of a producer come behind it. So once it is the last one, all of
// them that belong to the operation are in it, and read it in one operand.
//
//===----------------------------------------------------------------------===//

#include "ElementFusion.h"

#include "regather/Kernel/Transforms/ElementInlining.h"
#include "regather/Kernel/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace regather;

namespace regather::kernel {
#define GEN_PASS_DEF_FUSEELEMENTWISEPASS
#include "regather/Kernel/Transforms/Passes.h.inc"
} // namespace regather::kernel

/// Most operations that a reader repeats to compute an element that others
/// read, too. Longer chains of cheap operations are not fused whole: each of
/// many readers would repeat all of a long chain.
static constexpr size_t kMaxRepeatedOps = 16;

namespace {
class BlockFusion {
public:
  BlockFusion(Block *block, RewriterBase &rewriter);

  /// Returns the number of producers fused.
  unsigned run();

private:
  size_t countRepeatedOps(linalg::GenericOp op) const;
  bool isFused(OpOperand *operand) const;
  OpOperand *findLastFused(linalg::GenericOp op) const;

  Block *block;
  RewriterBase &rewriter;
  /// Of each operation that is not fused yet, its place in the block.
  llvm::DenseMap<Operation *, size_t> places;
  /// Of each cheap one, the operations that an element of it takes.
  llvm::DenseMap<Operation *, size_t> repeatedOps;
};
} // namespace

BlockFusion::BlockFusion(Block *block, RewriterBase &rewriter)
    : block(block), rewriter(rewriter) {
  for (Operation &op : llvm::make_early_inc_range(*block))
    if (auto generic = dyn_cast<linalg::GenericOp>(op);
        generic && generic.hasPureTensorSemantics())
      kernel::mergeOperands(rewriter, generic);
  for (Operation &op : *block) {
    places.try_emplace(&op, places.size());
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (generic && generic.getNumResults() == 1 &&
        kernel::isCheapToRepeat(generic.getResult(0)))
      repeatedOps.try_emplace(generic, countRepeatedOps(generic));
  }
}

/// The operations that an element takes with those of what it is computed from,
/// as far as that is cheap.
size_t BlockFusion::countRepeatedOps(linalg::GenericOp op) const {
  size_t count = op.getBlock()->getOperations().size() - 1;
  for (OpOperand *operand : op.getDpsInputOperands())
    if (Operation *producer = operand->get().getDefiningOp())
      count += repeatedOps.lookup(producer);
  return std::min(count, kMaxRepeatedOps + 1);
}

/// True if each element that the operand reads is to be computed there: it is
/// read once, or cheap.
bool BlockFusion::isFused(OpOperand *operand) const {
  auto reader = cast<linalg::GenericOp>(operand->getOwner());
  Operation *producer = operand->get().getDefiningOp();
  if (!producer || !places.contains(producer) ||
      !reader.getMatchingIndexingMap(operand).isPermutation() ||
      !linalg::areElementwiseOpsFusable(operand))
    return false;
  if (operand->get().hasOneUse())
    return true;
  auto known = repeatedOps.find(producer);
  return known != repeatedOps.end() && known->second <= kMaxRepeatedOps;
}

/// Of the operands that are to be fused, one whose producer comes last; null if
/// there is none.
OpOperand *BlockFusion::findLastFused(linalg::GenericOp op) const {
  OpOperand *last = nullptr;
  for (OpOperand *operand : op.getDpsInputOperands())
    if (isFused(operand) &&
        (!last || places.lookup(operand->get().getDefiningOp()) >
                      places.lookup(last->get().getDefiningOp())))
      last = operand;
  return last;
}

unsigned BlockFusion::run() {
  unsigned numFused = 0;
  for (Operation *op = block->empty() ? nullptr : &block->back(); op;) {
    auto reader = dyn_cast<linalg::GenericOp>(op);
    while (reader && reader.hasPureTensorSemantics()) {
      OpOperand *operand = findLastFused(reader);
      if (!operand)
        break;
      linalg::GenericOp fused = kernel::fuseProducer(rewriter, *operand);
      if (!fused)
        break;
      op = reader = fused;
      ++numFused;
    }
    op = op->getPrevNode();
  }
  return numFused;
}

/// Folds constants into operations, and removes operands that nothing uses.
static LogicalResult simplifyOperations(func::FuncOp func) {
  RewritePatternSet patterns(func.getContext());
  linalg::populateElementwiseOpsFusionPatterns(
      patterns, [](OpOperand *) { return false; });
  return applyPatternsGreedily(func, std::move(patterns));
}

namespace {
class FuseElementwisePass
    : public kernel::impl::FuseElementwisePassBase<FuseElementwisePass> {
public:
  using FuseElementwisePassBase::FuseElementwisePassBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (failed(simplifyOperations(func)))
      return signalPassFailure();
    SmallVector<Block *> blocks;
    func->walk([&](Block *block) {
      if (!isa<linalg::LinalgOp>(block->getParentOp()))
        blocks.push_back(block);
    });
    IRRewriter rewriter(&getContext());
    for (Block *block : blocks)
      numFused += BlockFusion(block, rewriter).run();
    if (failed(simplifyOperations(func)))
      signalPassFailure();
  }
};
} // namespace
