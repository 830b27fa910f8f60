//===- NumberExpansion.cpp - Arithmetic in terms of other arithmetic ------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/Transforms/NumberExpansion.h"

#include "ByteFloats.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace regather::kernel;

/// A number in the type of `like`, which may be a tensor.
static Value makeNumber(OpBuilder &builder, Location loc, Value like,
                        const llvm::APFloat &number) {
  Type type = like.getType();
  TypedAttr value =
      FloatAttr::get(cast<FloatType>(getElementTypeOrSelf(type)), number);
  if (auto shaped = dyn_cast<ShapedType>(type))
    value = DenseElementsAttr::get(shaped, number);
  return arith::ConstantOp::create(builder, loc, value);
}

void regather::kernel::expandClasses(ModuleOp module) {
  IRRewriter rewriter(module.getContext());
  module.walk([&](Operation *op) {
    if (!isa<math::IsInfOp, math::IsNormalOp>(op))
      return;
    rewriter.setInsertionPoint(op);
    Location loc = op->getLoc();
    Value value = op->getOperand(0);
    const llvm::fltSemantics &semantics =
        cast<FloatType>(getElementTypeOrSelf(value)).getFloatSemantics();
    auto compare = [&](arith::CmpFPredicate predicate,
                       const llvm::APFloat &number) -> Value {
      Value magnitude = math::AbsFOp::create(rewriter, loc, value);
      return arith::CmpFOp::create(rewriter, loc, predicate, magnitude,
                                   makeNumber(rewriter, loc, value, number));
    };
    llvm::APFloat infinity = llvm::APFloat::getInf(semantics);
    if (isa<math::IsInfOp>(op)) {
      rewriter.replaceOp(op, compare(arith::CmpFPredicate::OEQ, infinity));
      return;
    }
    Value isFinite = compare(arith::CmpFPredicate::OLT, infinity);
    Value isLarge = compare(arith::CmpFPredicate::OGE,
                            llvm::APFloat::getSmallestNormalized(semantics));
    rewriter.replaceOpWithNewOp<arith::AndIOp>(op, isFinite, isLarge);
  });
}

void regather::kernel::removeFastMath(ModuleOp module) {
  module.walk([](arith::ArithFastMathInterface op) {
    op->setAttr(op.getFastMathAttrName(),
                arith::FastMathFlagsAttr::get(op->getContext(),
                                              arith::FastMathFlags::none));
  });
}

/// f64 to a narrower float over f32, which would round twice: an inexact f32 is
/// moved to its neighbour towards zero and made odd, so that it cannot look
/// like a tie. Source: Boldo and Melquiond, "Emulation of FMA and correctly
/// rounded sums: proved algorithms using rounding to odd", 2008.
static Value truncateDouble(ImplicitLocOpBuilder &b, Value value, Type type) {
  Value narrow = arith::TruncFOp::create(b, b.getF32Type(), value);
  Value back = arith::ExtFOp::create(b, b.getF64Type(), narrow);
  Value isInexact =
      arith::CmpFOp::create(b, arith::CmpFPredicate::ONE, back, value);
  Value isAbove = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT,
                                        math::AbsFOp::create(b, back),
                                        math::AbsFOp::create(b, value));
  Value one = arith::ConstantIntOp::create(b, 1, 32);
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), narrow);
  Value below = arith::SubIOp::create(b, bits, one);
  Value truncated = arith::SelectOp::create(b, isAbove, below, bits);
  Value odd = arith::OrIOp::create(b, truncated, one);
  Value chosen = arith::SelectOp::create(b, isInexact, odd, bits);
  return arith::TruncFOp::create(
      b, type, arith::BitcastOp::create(b, b.getF32Type(), chosen));
}

namespace {
struct ExpandDoubleTruncation : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!op.getIn().getType().isF64() || !(type.isBF16() || isByteFloat(type)))
      return rewriter.notifyMatchFailure(op, "is not f64 to bf16 or one byte");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, truncateDouble(b, op.getIn(), op.getType()));
    return success();
  }
};
} // namespace

namespace {
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
    rewriter.replaceOp(op, truncateDouble(b, wide, type));
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

LogicalResult regather::kernel::expandIntegerConversions(ModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  patterns.add<ExpandIntegerToHalf<arith::SIToFPOp>,
               ExpandIntegerToHalf<arith::UIToFPOp>>(module.getContext());
  return applyPatternsGreedily(module, std::move(patterns),
                               GreedyRewriteConfig().enableFolding(false));
}

LogicalResult
regather::kernel::expandFloatConversions(ModuleOp module,
                                         bool hasBFloat16Conversions) {
  RewritePatternSet patterns(module.getContext());
  patterns.add<ExpandDoubleTruncation>(module.getContext());
  populateByteFloatPatterns(patterns);
  if (!hasBFloat16Conversions) {
    patterns.add<ExpandDoubleExtension>(module.getContext());
    arith::populateExpandBFloat16Patterns(patterns);
  }
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  return applyPatternsGreedily(module, std::move(patterns),
                               GreedyRewriteConfig().enableFolding(false));
}
