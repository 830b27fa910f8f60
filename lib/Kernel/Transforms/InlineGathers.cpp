//===- InlineGathers.cpp - Compute elements where a gather reads them -----===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/Transforms/ElementInlining.h"
#include "regather/Kernel/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather;

namespace regather::kernel {
#define GEN_PASS_DEF_INLINEGATHERSPASS
#include "regather/Kernel/Transforms/Passes.h.inc"
} // namespace regather::kernel

/// True if an operation reads no element of a tensor more than once, on
/// average.
static bool readsOnce(linalg::LinalgOp op) {
  if (op.hasDynamicShape())
    return false;
  int64_t points = 1;
  for (int64_t size : op.getStaticLoopRanges())
    points *= size;
  WalkResult result = op->walk([&](tensor::ExtractOp extract) {
    auto type = extract.getTensor().getType();
    return type.hasStaticShape() && points <= type.getNumElements()
               ? WalkResult::advance()
               : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

namespace {
class InlineGathersPass
    : public kernel::impl::InlineGathersPassBase<InlineGathersPass> {
public:
  using InlineGathersPassBase::InlineGathersPassBase;

  void runOnOperation() override {
    SmallVector<Block *> blocks;
    getOperation()->walk([&](Block *block) {
      if (!isa<linalg::LinalgOp>(block->getParentOp()))
        blocks.push_back(block);
    });
    // From reader to producer: what is read may read in turn, and goes with its
    // last reader.
    for (Block *block : blocks)
      for (Operation *op = block->empty() ? nullptr : &block->back(); op;
           op = op->getPrevNode())
        if (auto reader = dyn_cast<linalg::LinalgOp>(op);
            reader && readsOnce(reader))
          numInlined += kernel::inlineElements(op);
  }
};
} // namespace
