//===- Decompose.cpp - Operations that fusion and buffers know ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace regather;

namespace regather::kernel {
#define GEN_PASS_DEF_DECOMPOSEPASS
#include "regather/Kernel/Transforms/Passes.h.inc"
} // namespace regather::kernel

/// The stride of a single element does not matter. With another one than 1,
/// views that drop its dimension crash passes of MLIR 22.
static void simplifyStrides(func::FuncOp func) {
  auto simplify = [](auto op) {
    SmallVector<int64_t> strides(op.getStaticStrides());
    for (auto [size, stride] : llvm::zip(op.getStaticSizes(), strides))
      if (size == 1 && !ShapedType::isDynamic(stride))
        stride = 1;
    op.setStaticStrides(strides);
  };
  func.walk([&](tensor::ExtractSliceOp op) { simplify(op); });
  func.walk([&](tensor::InsertSliceOp op) { simplify(op); });
}

/// MLIR 22 crashes on a softmax of integers, and makes invalid operations of
/// one on buffers.
static bool isDecomposable(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

/// Rewrites what bufferization does not know in terms of what it knows, and
/// returns the number of aggregated operations.
static FailureOr<unsigned> decompose(func::FuncOp func) {
  IRRewriter rewriter(func.getContext());
  SmallVector<linalg::AggregatedOpInterface> aggregated;
  func.walk(
      [&](linalg::AggregatedOpInterface op) { aggregated.push_back(op); });
  for (linalg::AggregatedOpInterface op : aggregated) {
    for (Type type : op->getOperandTypes())
      if (!isDecomposable(type))
        return op->emitOpError()
               << "cannot be decomposed: expects tensors of floats, got "
               << type;
    rewriter.setInsertionPoint(op);
    FailureOr<SmallVector<Value>> values = op.decomposeOperation(rewriter);
    if (failed(values))
      return op->emitOpError() << "cannot be decomposed";
    rewriter.replaceOp(op, *values);
  }
  RewritePatternSet patterns(func.getContext());
  tensor::populateDecomposeTensorConcatPatterns(patterns);
  if (failed(applyPatternsGreedily(func, std::move(patterns))))
    return failure();
  return aggregated.size();
}

/// Gives reductions and what moves elements a body, as fusion expects it, and
/// returns their number.
static unsigned generalizeReductions(func::FuncOp func) {
  unsigned numGeneralized = 0;
  IRRewriter rewriter(func.getContext());
  SmallVector<linalg::LinalgOp> ops;
  func.walk([&](Operation *op) {
    if (isa<linalg::BroadcastOp, linalg::MapOp, linalg::ReduceOp,
            linalg::TransposeOp>(op))
      ops.push_back(cast<linalg::LinalgOp>(op));
  });
  for (linalg::LinalgOp op : ops) {
    rewriter.setInsertionPoint(op);
    if (succeeded(linalg::generalizeNamedOp(rewriter, op)))
      ++numGeneralized;
  }
  return numGeneralized;
}

namespace {
class DecomposePass : public kernel::impl::DecomposePassBase<DecomposePass> {
public:
  using DecomposePassBase::DecomposePassBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    simplifyStrides(func);
    FailureOr<unsigned> decomposed = decompose(func);
    if (failed(decomposed))
      return signalPassFailure();
    numDecomposed += *decomposed;
    numGeneralized += generalizeReductions(func);
  }
};
} // namespace
