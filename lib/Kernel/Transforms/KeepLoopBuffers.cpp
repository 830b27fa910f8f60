//===- KeepLoopBuffers.cpp - One buffer for what a loop carries -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather;

namespace regather::kernel {
#define GEN_PASS_DEF_KEEPLOOPBUFFERSPASS
#include "regather/Kernel/Transforms/Passes.h.inc"
} // namespace regather::kernel

/// True if `value` is `argument` with some elements replaced.
static bool isUpdateOf(Value value, Value argument) {
  while (value != argument) {
    if (auto insert = value.getDefiningOp<tensor::InsertSliceOp>())
      value = insert.getDest();
    else if (auto insert = value.getDefiningOp<tensor::InsertOp>())
      value = insert.getDest();
    else if (auto op = value.getDefiningOp<linalg::LinalgOp>())
      value = op.getTiedOpOperand(cast<OpResult>(value))->get();
    else
      return false;
  }
  return true;
}

/// True if the value may lie in the buffer of something that the loop carries.
static bool mayLieInArgument(Value value, scf::ForOp loop) {
  for (;;) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return argument.getOwner() == loop.getBody();
    Operation *def = value.getDefiningOp();
    if (!loop->isProperAncestor(def))
      return false;
    if (auto op = dyn_cast<linalg::LinalgOp>(def))
      value = op.getTiedOpOperand(cast<OpResult>(value))->get();
    else if (def->getNumRegions() > 0 || isa<arith::SelectOp>(def))
      return true;
    else if (auto insert = dyn_cast<tensor::InsertSliceOp>(def))
      value = insert.getDest();
    else if (auto insert = dyn_cast<tensor::InsertOp>(def))
      value = insert.getDest();
    else if (isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp,
                 tensor::ExtractSliceOp, tensor::ReshapeOp>(def))
      value = def->getOperand(0);
    else
      return false;
  }
}

/// A copy of the value, made before anything is written over it.
static Value keepValue(Value value, scf::ForOp loop) {
  OpBuilder b(loop.getContext());
  b.setInsertionPointAfterValue(value);
  auto type = cast<RankedTensorType>(value.getType());
  Value empty = tensor::EmptyOp::create(b, loop.getLoc(), type.getShape(),
                                        type.getElementType());
  return linalg::CopyOp::create(b, loop.getLoc(), value, empty).getResult(0);
}

/// Makes every tensor that the loop yields an update of the one that it
/// carries. Returns the number of copies.
static unsigned keepBuffers(scf::ForOp loop) {
  Operation *yield = loop.getBody()->getTerminator();
  OpBuilder b(yield);
  unsigned numCopies = 0;
  for (auto [operand, argument] :
       llvm::zip_equal(yield->getOpOperands(), loop.getRegionIterArgs())) {
    Value value = operand.get();
    if (!isa<RankedTensorType>(value.getType()) || isUpdateOf(value, argument))
      continue;
    if (mayLieInArgument(value, loop)) {
      value = keepValue(value, loop);
      ++numCopies;
    }
    operand.set(
        linalg::CopyOp::create(b, loop.getLoc(), value, argument).getResult(0));
    ++numCopies;
  }
  return numCopies;
}

namespace {
class KeepLoopBuffersPass
    : public kernel::impl::KeepLoopBuffersPassBase<KeepLoopBuffersPass> {
public:
  using KeepLoopBuffersPassBase::KeepLoopBuffersPassBase;

  void runOnOperation() override {
    getOperation().walk(
        [&](scf::ForOp loop) { numCopies += keepBuffers(loop); });
  }
};
} // namespace
