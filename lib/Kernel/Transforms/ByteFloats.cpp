//===- ByteFloats.cpp - Conversions of floats of one byte -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ByteFloats.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace regather;

namespace {
/// What sets a format apart. Exponents are those of f32.
struct ByteFormat {
  /// Bits of the fraction.
  int64_t fraction;
  int64_t bias;
  /// The least f32, as bits, that is beyond the largest number: of those that
  /// round there, the format's own rounding takes care.
  uint32_t overflow;
  /// What numbers beyond become, and what NaN becomes.
  int64_t infinity, nan;
};

/// Builds numbers of 32 bits.
class BitBuilder {
public:
  BitBuilder(Location loc, OpBuilder &builder) : b(loc, builder) {}

  Value number(int64_t value) {
    return arith::ConstantOp::create(
        b, b.getIntegerAttr(b.getI32Type(), static_cast<int32_t>(value)));
  }
  Value toBits(Value value) {
    return arith::BitcastOp::create(b, b.getI32Type(), value);
  }
  Value toFloat(Value bits) {
    return arith::BitcastOp::create(b, b.getF32Type(), bits);
  }
  Value select(arith::CmpIPredicate predicate, Value value, Value limit,
               Value then, Value otherwise) {
    Value holds = arith::CmpIOp::create(b, predicate, value, limit);
    return arith::SelectOp::create(b, holds, then, otherwise);
  }

  ImplicitLocOpBuilder b;
};
} // namespace

static constexpr int64_t kSign = int64_t(1) << 31;
static constexpr int64_t kF32Fraction = 23;
static constexpr int64_t kF32Bias = 127;
static constexpr int64_t kF32Infinity = int64_t(255) << kF32Fraction;
static constexpr int64_t kF32NaN = 0x7fc00000;

static ByteFormat getFormat(Type type) {
  if (isa<Float8E5M2Type>(type))
    return {2, 15, uint32_t(143) << kF32Fraction, 0x7c, 0x7e};
  // 480, which would be the next number.
  return {3, 7, 0x43f00000, 0x7f, 0x7f};
}

bool kernel::isByteFloat(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(type);
}

/// The byte, in the lowest bits, that is nearest to an f32.
static Value narrow(BitBuilder &bits, Value value, const ByteFormat &format) {
  ImplicitLocOpBuilder &b = bits.b;
  int64_t dropped = kF32Fraction - format.fraction;
  Value all = bits.toBits(value);
  Value sign = arith::AndIOp::create(b, all, bits.number(kSign));
  Value magnitude = arith::XOrIOp::create(b, all, sign);
  // With another exponent, half of the last place and a little less; the last
  // bit that stays decides a tie.
  Value last = arith::AndIOp::create(
      b, arith::ShRUIOp::create(b, magnitude, bits.number(dropped)),
      bits.number(1));
  int64_t offset = ((format.bias - kF32Bias) << kF32Fraction) +
                   (int64_t(1) << (dropped - 1)) - 1;
  Value rounded = arith::AddIOp::create(
      b, arith::AddIOp::create(b, magnitude, bits.number(offset)), last);
  Value normal = arith::ShRUIOp::create(b, rounded, bits.number(dropped));
  // Adding a number whose last place is that of the subnormals rounds to it.
  int64_t anchor = (kF32Bias - format.bias + dropped + 1) << kF32Fraction;
  Value sum = arith::AddFOp::create(b, bits.toFloat(magnitude),
                                    bits.toFloat(bits.number(anchor)));
  Value subnormal =
      arith::SubIOp::create(b, bits.toBits(sum), bits.number(anchor));
  int64_t least = (kF32Bias - format.bias + 1) << kF32Fraction;
  Value byte = bits.select(arith::CmpIPredicate::ult, magnitude,
                           bits.number(least), subnormal, normal);
  byte = bits.select(arith::CmpIPredicate::uge, magnitude,
                     bits.number(format.overflow), bits.number(format.infinity),
                     byte);
  byte = bits.select(arith::CmpIPredicate::ugt, magnitude,
                     bits.number(kF32Infinity), bits.number(format.nan), byte);
  return arith::OrIOp::create(b, byte,
                              arith::ShRUIOp::create(b, sign, bits.number(24)));
}

/// The f32 that a byte, in the lowest bits, is.
static Value widen(BitBuilder &bits, Value byte, const ByteFormat &format) {
  ImplicitLocOpBuilder &b = bits.b;
  Value sign = arith::AndIOp::create(
      b, arith::ShLIOp::create(b, byte, bits.number(24)), bits.number(kSign));
  Value magnitude = arith::AndIOp::create(b, byte, bits.number(0x7f));
  // A number of the wrong exponent, perhaps a subnormal one; the product is
  // exact.
  Value scaled = bits.toFloat(arith::ShLIOp::create(
      b, magnitude, bits.number(kF32Fraction - format.fraction)));
  int64_t factor = (2 * kF32Bias - format.bias) << kF32Fraction;
  Value value = bits.toBits(
      arith::MulFOp::create(b, scaled, bits.toFloat(bits.number(factor))));
  bool hasInfinity = format.infinity != format.nan;
  if (hasInfinity)
    value = bits.select(arith::CmpIPredicate::eq, magnitude,
                        bits.number(format.infinity), bits.number(kF32Infinity),
                        value);
  value = bits.select(
      hasInfinity ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::uge,
      magnitude, bits.number(format.infinity), bits.number(kF32NaN), value);
  return bits.toFloat(arith::OrIOp::create(b, value, sign));
}

namespace {
struct ExpandTruncation : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    Value value = op.getIn();
    if (!kernel::isByteFloat(op.getType()) || value.getType().isF64())
      return rewriter.notifyMatchFailure(op, "is not to one byte");
    BitBuilder bits(op.getLoc(), rewriter);
    if (!value.getType().isF32())
      value = arith::ExtFOp::create(bits.b, bits.b.getF32Type(), value);
    Value byte = narrow(bits, value, getFormat(op.getType()));
    byte = arith::TruncIOp::create(bits.b, bits.b.getI8Type(), byte);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), byte);
    return success();
  }
};

struct ExpandExtension : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    Type from = op.getIn().getType(), to = op.getType();
    if (!kernel::isByteFloat(from) || !isa<FloatType>(to))
      return rewriter.notifyMatchFailure(op, "is not from one byte");
    BitBuilder bits(op.getLoc(), rewriter);
    Value byte =
        arith::BitcastOp::create(bits.b, bits.b.getI8Type(), op.getIn());
    byte = arith::ExtUIOp::create(bits.b, bits.b.getI32Type(), byte);
    Value value = widen(bits, byte, getFormat(from));
    if (to.isF64())
      value = arith::ExtFOp::create(bits.b, to, value);
    else if (!to.isF32())
      value = arith::TruncFOp::create(bits.b, to, value);
    rewriter.replaceOp(op, value);
    return success();
  }
};
} // namespace

void kernel::populateByteFloatPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandExtension, ExpandTruncation>(patterns.getContext());
}
