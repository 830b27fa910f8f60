//===- ExpandIntegerConversions.cpp - Integers to 16-bit floats -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DoubleTruncation.h"
#include "ReplacementCounter.h"

#include "regather/Kernel/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace regather;

namespace regather::kernel {
#define GEN_PASS_DEF_EXPANDINTEGERCONVERSIONSPASS
#include "regather/Kernel/Transforms/Passes.h.inc"
} // namespace regather::kernel

namespace {
/// Integers to 16-bit floats over f64 instead of f32, which would round twice.
/// What f64 cannot hold is too long by at most 11 bits: of large numbers the
/// last 12 are replaced by one that says whether any was set.
template <typename ConvertOp>
struct ExpandIntegerToHalf : OpRewritePattern<ConvertOp> {
  using OpRewritePattern<ConvertOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(ConvertOp op,
                                PatternRewriter &rewriter) const override {
    Value value = op.getIn();
    Type type = op.getType();
    unsigned width = value.getType().getIntOrFloatBitWidth();
    if (!isa<BFloat16Type, Float16Type>(type) || width < 32)
      return rewriter.notifyMatchFailure(op, "is exact in f32");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    if (width == 64)
      value = shorten(b, value);
    Value wide = ConvertOp::create(b, b.getF64Type(), value);
    // Canonicalization would take a plain truncation of a conversion for one
    // conversion again.
    rewriter.replaceOp(op, kernel::truncateDouble(b, wide, type));
    return success();
  }

  static Value shorten(ImplicitLocOpBuilder &b, Value value) {
    auto number = [&](int64_t n) -> Value {
      return arith::ConstantIntOp::create(b, n, 64);
    };
    Value low = arith::AndIOp::create(b, value, number(0xfff));
    Value isAnySet =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne, low, number(0));
    Value shortened = arith::OrIOp::create(
        b, arith::SubIOp::create(b, value, low),
        arith::SelectOp::create(b, isAnySet, number(0x800), number(0)));
    int64_t limit = int64_t(1) << 53;
    Value isLarge;
    if (std::is_same_v<ConvertOp, arith::SIToFPOp>)
      isLarge = arith::CmpIOp::create(
          b, arith::CmpIPredicate::ugt,
          arith::AddIOp::create(b, value, number(limit)), number(2 * limit));
    else
      isLarge = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, value,
                                      number(limit));
    return arith::SelectOp::create(b, isLarge, shortened, value);
  }
};
} // namespace

namespace {
class ExpandIntegerConversionsPass
    : public kernel::impl::ExpandIntegerConversionsPassBase<
          ExpandIntegerConversionsPass> {
public:
  using ExpandIntegerConversionsPassBase::ExpandIntegerConversionsPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandIntegerToHalf<arith::SIToFPOp>,
                 ExpandIntegerToHalf<arith::UIToFPOp>>(&getContext());
    kernel::ReplacementCounter counter;
    if (failed(applyPatternsGreedily(
            getOperation(), std::move(patterns),
            GreedyRewriteConfig().enableFolding(false).setListener(&counter))))
      signalPassFailure();
    numExpanded += counter.count;
  }
};
} // namespace
