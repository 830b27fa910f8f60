//===- ExpandFloatConversions.cpp - Floats that are rounded once ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ByteFloats.h"
#include "DoubleTruncation.h"
#include "ReplacementCounter.h"

#include "regather/Kernel/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace regather;

namespace regather::kernel {
#define GEN_PASS_DEF_EXPANDFLOATCONVERSIONSPASS
#include "regather/Kernel/Transforms/Passes.h.inc"
} // namespace regather::kernel

namespace {
struct ExpandDoubleTruncation : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!op.getIn().getType().isF64() ||
        !(type.isBF16() || kernel::isByteFloat(type)))
      return rewriter.notifyMatchFailure(op, "is not f64 to bf16 or one byte");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, kernel::truncateDouble(b, op.getIn(), op.getType()));
    return success();
  }
};
/// bf16 to f64 over f32, which is exact.
struct ExpandDoubleExtension : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getIn().getType().isBF16() || !op.getType().isF64())
      return rewriter.notifyMatchFailure(op, "is not bf16 to f64");
    Value single = arith::ExtFOp::create(rewriter, op.getLoc(),
                                         rewriter.getF32Type(), op.getIn());
    rewriter.replaceOpWithNewOp<arith::ExtFOp>(op, op.getType(), single);
    return success();
  }
};
} // namespace

namespace {
class ExpandFloatConversionsPass
    : public kernel::impl::ExpandFloatConversionsPassBase<
          ExpandFloatConversionsPass> {
public:
  using ExpandFloatConversionsPassBase::ExpandFloatConversionsPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandDoubleTruncation>(&getContext());
    kernel::populateByteFloatPatterns(patterns);
    if (!nativeBFloat16) {
      patterns.add<ExpandDoubleExtension>(&getContext());
      arith::populateExpandBFloat16Patterns(patterns);
    }
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    kernel::ReplacementCounter counter;
    if (failed(applyPatternsGreedily(
            getOperation(), std::move(patterns),
            GreedyRewriteConfig().enableFolding(false).setListener(&counter))))
      signalPassFailure();
    numExpanded += counter.count;
  }
};
} // namespace
