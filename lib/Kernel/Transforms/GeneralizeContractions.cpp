//===- GeneralizeContractions.cpp - Bodies of narrow contractions ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"

using namespace mlir;
using namespace regather;

namespace regather::kernel {
#define GEN_PASS_DEF_GENERALIZECONTRACTIONSPASS
#include "regather/Kernel/Transforms/Passes.h.inc"
} // namespace regather::kernel

static bool isNarrow(Type type) {
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  return element && element.getWidth() < 32;
}

namespace {
class GeneralizeContractionsPass
    : public kernel::impl::GeneralizeContractionsPassBase<
          GeneralizeContractionsPass> {
public:
  using GeneralizeContractionsPassBase::GeneralizeContractionsPassBase;

  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::ContractionOpInterface op) {
      if (!isa<linalg::GenericOp>(op) &&
          llvm::any_of(op->getOperandTypes(), isNarrow))
        ops.push_back(cast<linalg::LinalgOp>(op.getOperation()));
    });
    IRRewriter rewriter(&getContext());
    for (linalg::LinalgOp op : ops) {
      rewriter.setInsertionPoint(op);
      if (succeeded(linalg::generalizeNamedOp(rewriter, op)))
        ++numGeneralized;
    }
  }
};
} // namespace
