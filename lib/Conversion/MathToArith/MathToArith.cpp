//===- MathToArith.cpp - Elementary functions as plain arithmetic ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions have no branches and no tables, so that loops over them
// vectorise, and every rounding is explicit, multiply-adds included, so that a
// vector and a scalar give the same bits. The polynomials of exp, log and erf
// were published by Norbert Juffa (public domain); that of tanh is from Cephes;
// the others are fits of least error.
//
//===----------------------------------------------------------------------===//

#include "regather/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace regather {
#define GEN_PASS_DEF_CONVERTMATHTOARITHPASS
#include "regather/Conversion/Passes.h.inc"
} // namespace regather

using namespace mlir;

namespace {
/// Builds arithmetic on f32 numbers, or on tensors or vectors of them.
class F32Builder : public ImplicitLocOpBuilder {
public:
  F32Builder(Location loc, OpBuilder &builder, Type type)
      : ImplicitLocOpBuilder(loc, builder), type(type),
        intType(convert(getI32Type())) {}

  /// The type that is like the operands but has this element type.
  Type convert(Type element) {
    auto shaped = dyn_cast<ShapedType>(type);
    return shaped ? Type(shaped.clone(element)) : element;
  }

  Value number(float value) { return constant(type, getF32FloatAttr(value)); }
  Value integer(uint32_t value) {
    return constant(intType, getI32IntegerAttr(static_cast<int32_t>(value)));
  }

  Value add(Value a, Value b) { return arith::AddFOp::create(*this, a, b); }
  Value sub(Value a, Value b) { return arith::SubFOp::create(*this, a, b); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(*this, a, b); }
  Value div(Value a, Value b) { return arith::DivFOp::create(*this, a, b); }
  Value fma(Value a, Value b, Value c) {
    return math::FmaOp::create(*this, a, b, c);
  }
  Value abs(Value a) { return math::AbsFOp::create(*this, a); }
  Value copySign(Value magnitude, Value sign) {
    return math::CopySignOp::create(*this, magnitude, sign);
  }
  Value less(Value a, Value b) {
    return arith::CmpFOp::create(*this, arith::CmpFPredicate::OLT, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(*this, condition, a, b);
  }
  Value asInteger(Value a) {
    return arith::BitcastOp::create(*this, intType, a);
  }
  Value asNumber(Value a) { return arith::BitcastOp::create(*this, type, a); }

  /// Horner's scheme, from the highest coefficient.
  Value polynomial(Value x, ArrayRef<float> coefficients) {
    Value sum = number(coefficients.front());
    for (float coefficient : coefficients.drop_front())
      sum = fma(sum, x, number(coefficient));
    return sum;
  }

  Value exp(Value x);
  Value expm1(Value x);
  Value log(Value x);
  Value log1p(Value x);
  Value erf(Value x);
  Value tanh(Value x);
  Value sin(Value x) { return sineOf(x, /*quarters=*/0); }
  Value cos(Value x) { return sineOf(x, /*quarters=*/1); }

private:
  /// sin(x + quarters * pi/2).
  Value sineOf(Value x, uint32_t quarters);
  /// log(2^n (1 + r)) for r between -1/3 and 1/3.
  Value logOfSum(Value n, Value r);
  /// `value`, or what the logarithm of x is if x is no positive number.
  Value selectLog(Value x, Value value);
  Value constant(Type of, TypedAttr value) {
    if (auto shaped = dyn_cast<ShapedType>(of))
      value = DenseElementsAttr::get(shaped, Attribute(value));
    return arith::ConstantOp::create(*this, value);
  }
  /// 2 to the power of an integer between -126 and 127.
  Value powerOfTwo(Value n) {
    Value biased = arith::AddIOp::create(*this, n, integer(127));
    return asNumber(arith::ShLIOp::create(*this, biased, integer(23)));
  }

  Type type, intType;
};

/// An angle in quarters of a circle, and what is left of it, between -pi/4 and
/// pi/4, which is rounded once.
struct ReducedAngle {
  Value quarters;
  Value rest;
};

/// Builds arithmetic on f64 and i64, for what f32 cannot hold.
class AngleBuilder : public ImplicitLocOpBuilder {
public:
  AngleBuilder(F32Builder &builder)
      : ImplicitLocOpBuilder(builder.getLoc(), builder),
        wide(builder.convert(getF64Type())),
        integers(builder.convert(getI64Type())) {}

  /// For numbers below 2^51: x - n pi/2, with n by rounding.
  ReducedAngle reduceSmall(Value x);
  /// For larger ones: the bits of x / (2 pi) behind the binary point. (M. Payne
  /// and R. Hanek, Radian reduction for trigonometric functions, 1983.)
  ReducedAngle reduceLarge(F32Builder &b, Value x);

private:
  Value constant(Type of, TypedAttr value) {
    if (auto shaped = dyn_cast<ShapedType>(of))
      value = DenseElementsAttr::get(shaped, Attribute(value));
    return arith::ConstantOp::create(*this, value);
  }
  Value number(double value) { return constant(wide, getF64FloatAttr(value)); }
  Value integer(uint64_t value) {
    return constant(integers, getI64IntegerAttr(static_cast<int64_t>(value)));
  }
  Value fma(Value a, Value b, Value c) {
    return math::FmaOp::create(*this, a, b, c);
  }
  Value add(Value a, Value b) { return arith::AddIOp::create(*this, a, b); }
  Value multiply(Value a, Value b) {
    return arith::MulIOp::create(*this, a, b);
  }
  Value left(Value a, Value count) {
    return arith::ShLIOp::create(*this, a, count);
  }
  Value right(Value a, Value count) {
    return arith::ShRUIOp::create(*this, a, count);
  }

  Type wide, integers;
};
} // namespace

ReducedAngle AngleBuilder::reduceSmall(Value x) {
  Value angle = arith::ExtFOp::create(*this, wide, x);
  // Adding 1.5 * 2^52 rounds to an integer, which the lower bits then hold.
  Value magic = number(0x1.8p52);
  Value shifted = fma(angle, number(0x1.45f306dc9c883p-1), magic);
  Value n = arith::SubFOp::create(*this, shifted, magic);
  Value rest = fma(n, number(-0x1.921fb54442d18p0), angle);
  rest = fma(n, number(-0x1.1a62633145c07p-54), rest);
  return {arith::BitcastOp::create(*this, integers, shifted), rest};
}

ReducedAngle AngleBuilder::reduceLarge(F32Builder &b, Value x) {
  // 1/(2 pi) in words of 32 bits, so that the highest two bits of the product
  // below the binary point are quarters.
  constexpr uint64_t words[] = {0x28be60db, 0x9391054a, 0x7f09d5f4, 0x7d4d3770,
                                0x36d8a566, 0x4f10e410, 0x7f9458ea};
  Value bits = arith::ExtUIOp::create(*this, integers, b.asInteger(b.abs(x)));
  // |x| = fraction 2^exponent, with 32 bits of a fraction below one.
  Value exponent =
      arith::SubIOp::create(*this, right(bits, integer(23)), integer(126));
  Value fraction = arith::OrIOp::create(
      *this,
      left(arith::AndIOp::create(*this, bits, integer(0x7fffff)), integer(8)),
      integer(0x80000000));
  Value shift = arith::AndIOp::create(*this, exponent, integer(31));
  Value first = right(exponent, integer(5));
  // The words from `first` - 1 on, which is 1 to 4 for large numbers.
  auto getWord = [&](unsigned place) {
    Value word = integer(words[place]);
    for (uint64_t number : {2, 3, 4}) {
      Value isIt = arith::CmpIOp::create(*this, arith::CmpIPredicate::eq, first,
                                         integer(number));
      word = arith::SelectOp::create(*this, isIt,
                                     integer(words[place + number - 1]), word);
    }
    return word;
  };
  Value high = getWord(0), middle = getWord(1), low = getWord(2);
  Value next = getWord(3);
  auto shiftPair = [&](Value upper, Value lower) {
    Value pair = arith::OrIOp::create(*this, left(upper, integer(32)), lower);
    return right(left(pair, shift), integer(32));
  };
  // The product, in units of 2^-62 quarters, without multiples of a circle.
  Value product = right(multiply(fraction, shiftPair(low, next)), integer(32));
  product = add(product, multiply(fraction, shiftPair(middle, low)));
  product = add(product,
                left(multiply(fraction, shiftPair(high, middle)), integer(32)));
  Value quarters = right(add(product, integer(uint64_t(1) << 61)), integer(62));
  Value part =
      arith::ShRSIOp::create(*this, left(product, integer(2)), integer(2));
  Value rest =
      arith::MulFOp::create(*this, arith::SIToFPOp::create(*this, wide, part),
                            number(0x1.921fb54442d18p-62));
  Value isNegative = b.less(x, b.number(0.0f));
  Value negated = arith::NegFOp::create(*this, rest);
  Value back = arith::SubIOp::create(*this, integer(0), quarters);
  return {arith::SelectOp::create(*this, isNegative, back, quarters),
          arith::SelectOp::create(*this, isNegative, negated, rest)};
}

/// exp(x) = 2^n exp(r), where n is x / log(2) rounded. Error below 0.9 ulp.
Value F32Builder::exp(Value x) {
  // Beyond these bounds the result is zero or infinite. A NaN stays one.
  Value low = number(-104.0f), high = number(89.0f);
  x = select(less(x, low), low, x);
  x = select(less(high, x), high, x);
  // Adding 1.5 * 2^23 rounds to an integer, which the lower bits then hold.
  Value magic = number(12582912.0f);
  Value shifted = fma(x, number(1.44269502f), magic);
  Value n =
      arith::SubIOp::create(*this, asInteger(shifted), integer(0x4b400000));
  Value rounded = sub(shifted, magic);
  // log(2) in two parts.
  Value r = fma(rounded, number(-6.93145752e-1f), x);
  r = fma(rounded, number(-1.42860677e-6f), r);
  Value power = polynomial(r, {1.37805939e-3f, 8.37312452e-3f, 4.16695364e-2f,
                               1.66664720e-1f, 4.99999851e-1f, 1.0f, 1.0f});
  // The result is scaled in two steps, because n may be no exponent of a normal
  // number.
  Value half = arith::ShRSIOp::create(*this, n, integer(1));
  Value rest = arith::SubIOp::create(*this, n, half);
  return mul(mul(power, powerOfTwo(half)), powerOfTwo(rest));
}

Value F32Builder::logOfSum(Value n, Value r) {
  Value square = mul(r, r);
  Value even = polynomial(
      square, {-0.130310059f, -0.121483512f, -0.166846126f, -0.249996200f});
  Value odd = polynomial(square, {0.140869141f, 0.139814854f, 0.200120345f});
  Value sum = fma(odd, r, even);
  sum = fma(sum, r, number(0.333331972f));
  sum = fma(sum, r, number(-0.5f));
  return fma(n, number(0.693147182f), fma(sum, square, r));
}

/// log(x) = n log(2) + log(m), m between 2/3 and 4/3. Error below 0.9 ulp.
Value F32Builder::log(Value x) {
  Value zero = number(0.0f);
  Value isTiny = less(x, number(0x1p-126f));
  Value scaled = select(isTiny, mul(x, number(0x1p23f)), x);
  Value bits = asInteger(scaled);
  Value exponent = arith::AndIOp::create(
      *this, arith::SubIOp::create(*this, bits, integer(0x3f2aaaab)),
      integer(0xff800000));
  Value n = fma(arith::SIToFPOp::create(*this, type, exponent),
                number(0x1p-23f), select(isTiny, number(-23.0f), zero));
  Value m =
      sub(asNumber(arith::SubIOp::create(*this, bits, exponent)), number(1.0f));
  return selectLog(x, logOfSum(n, m));
}

Value F32Builder::selectLog(Value x, Value value) {
  Value zero = number(0.0f);
  // The results for zero, infinity, NaN and negative numbers.
  Value isRegular =
      arith::AndIOp::create(*this, less(zero, x), less(x, number(INFINITY)));
  Value isZero =
      arith::CmpFOp::create(*this, arith::CmpFPredicate::OEQ, x, zero);
  Value special = select(less(x, zero), number(NAN), add(x, x));
  special = select(isZero, number(-INFINITY), special);
  return select(isRegular, value, special);
}

/// log(1 + x) = n log(2) + log(1 + r), where 1 + r = 2^-n (1 + x) without the
/// rounding of the sum. Error below 1.6 ulp.
Value F32Builder::log1p(Value x) {
  Value one = number(1.0f), sum = add(x, one);
  Value exponent = arith::AndIOp::create(
      *this, arith::SubIOp::create(*this, asInteger(sum), integer(0x3f2aaaab)),
      integer(0xff800000));
  Value n =
      mul(arith::SIToFPOp::create(*this, type, exponent), number(0x1p-23f));
  // x is normal where n is not zero.
  Value scaled = asNumber(arith::SubIOp::create(*this, asInteger(x), exponent));
  Value scale =
      asNumber(arith::SubIOp::create(*this, integer(0x3f800000), exponent));
  // No exponent of a number is as low as that of the smallest 2^-n.
  scale = select(less(number(0x1p60f), x), number(0.0f), scale);
  Value result = selectLog(sum, logOfSum(n, add(scaled, sub(scale, one))));
  // Keeps the sign of zero.
  Value isZero =
      arith::CmpFOp::create(*this, arith::CmpFPredicate::OEQ, x, number(0.0f));
  return select(isZero, x, result);
}

/// exp(x) - 1 = 2 (2^(n-1) p + (2^(n-1) - 1/2)), where p = exp(r) - 1 and x =
/// n log(2) + r. Error below 1.4 ulp.
Value F32Builder::expm1(Value x) {
  Value low = number(-20.0f), high = number(89.0f), half = number(0.5f);
  Value bounded = select(less(x, low), low, x);
  bounded = select(less(high, bounded), high, bounded);
  Value magic = number(12582912.0f);
  Value shifted = fma(bounded, number(1.44269502f), magic);
  Value n =
      arith::SubIOp::create(*this, asInteger(shifted), integer(0x4b400000));
  Value rounded = sub(shifted, magic);
  Value r = fma(rounded, number(-6.93145752e-1f), bounded);
  r = fma(rounded, number(-1.42860677e-6f), r);
  Value p = polynomial(r, {1.99126254e-4f, 1.39420992e-3f, 8.33327603e-3f,
                           4.16663401e-2f, 1.66666672e-1f, 0.5f});
  p = fma(mul(r, r), p, r);
  Value power = powerOfTwo(arith::SubIOp::create(*this, n, integer(1)));
  Value sum = fma(p, power, sub(power, half));
  // Keeps subnormal numbers.
  Value isExact = arith::CmpFOp::create(*this, arith::CmpFPredicate::OEQ,
                                        rounded, number(0.0f));
  // And the sign of zero.
  return copySign(select(isExact, p, add(sum, sum)), x);
}

/// x + x P(x^2) near zero, else 1 - exp(Q(|x|)). Error below 1 ulp.
Value F32Builder::erf(Value x) {
  Value magnitude = abs(x), square = mul(x, x), one = number(1.0f);
  Value near =
      polynomial(square, {-5.96761703e-4f, 4.99119423e-3f, -2.67681349e-2f,
                          1.12819925e-1f, -3.76125336e-1f, 1.28379166e-1f});
  near = fma(near, x, x);
  Value q = fma(number(-1.72853470e-5f), magnitude, number(3.83197126e-4f));
  Value rest = fma(number(-3.88396438e-3f), magnitude, number(2.42546219e-2f));
  q = fma(q, square, rest);
  q = fma(q, magnitude, number(-1.06777877e-1f));
  q = fma(q, magnitude, number(-6.34846687e-1f));
  q = fma(q, magnitude, number(-1.28717512e-1f));
  q = fma(q, magnitude, sub(number(-0.0f), magnitude));
  // For large arguments the polynomial is wrong, but the result is one.
  Value far = select(less(number(4.0f), magnitude), one, sub(one, exp(q)));
  return select(less(number(0.927734375f), magnitude), copySign(far, x), near);
}

/// x + x P(x^2) near zero, else 1 - 2 / (exp(2 |x|) + 1). Error below 1.4 ulp.
Value F32Builder::tanh(Value x) {
  Value magnitude = abs(x), square = mul(x, x), one = number(1.0f);
  Value near = polynomial(square, {-5.70498872745e-3f, 2.06390887954e-2f,
                                   -5.37397155531e-2f, 1.33314422036e-1f,
                                   -3.33332819422e-1f});
  near = fma(mul(near, square), x, x);
  Value power = exp(add(magnitude, magnitude));
  Value far = sub(one, div(number(2.0f), add(power, one)));
  // With the sign of zero, too.
  return copySign(select(less(magnitude, number(0.625f)), near, far), x);
}

/// sin(r) = r + r^3 S(r^2) and cos(r) = 1 - r^2/2 + r^4 C(r^2), by the quarter.
/// Error below 1.5 ulp.
Value F32Builder::sineOf(Value x, uint32_t quarters) {
  AngleBuilder angles(*this);
  ReducedAngle small = angles.reduceSmall(x);
  ReducedAngle large = angles.reduceLarge(*this, x);
  Value isSmall = less(abs(x), number(0x1p51f));
  Value quarter = arith::TruncIOp::create(
      *this, intType, select(isSmall, small.quarters, large.quarters));
  quarter = arith::AddIOp::create(*this, quarter, integer(quarters));
  Value rest = arith::TruncFOp::create(*this, type,
                                       select(isSmall, small.rest, large.rest));
  Value square = mul(rest, rest);
  Value sine = polynomial(square, {2.71823524e-6f, -1.98393274e-4f,
                                   8.33332911e-3f, -1.66666672e-1f});
  sine = fma(mul(rest, square), sine, rest);
  Value cosine = polynomial(
      square, {2.44376861e-5f, -1.38873607e-3f, 4.16666456e-2f, -0.5f, 1.0f});
  auto hasBit = [&](uint32_t bit) -> Value {
    Value masked = arith::AndIOp::create(*this, quarter, integer(bit));
    return arith::CmpIOp::create(*this, arith::CmpIPredicate::ne, masked,
                                 integer(0));
  };
  Value result = select(hasBit(1), cosine, sine);
  result = select(hasBit(2), sub(number(-0.0f), result), result);
  // NaN of what is infinite, and zero with its sign.
  result = select(less(abs(x), number(INFINITY)), result, number(NAN));
  if (quarters != 0)
    return result;
  Value isZero =
      arith::CmpFOp::create(*this, arith::CmpFPredicate::OEQ, x, number(0.0f));
  return select(isZero, x, result);
}

namespace {
template <typename Op, Value (F32Builder::*Build)(Value)>
struct ExpandFunction : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType(), element = getElementTypeOrSelf(type);
    if (!isa<Float32Type, BFloat16Type, Float16Type>(element))
      return rewriter.notifyMatchFailure(op, "is not on f32 or less");
    Type f32 = rewriter.getF32Type();
    if (auto shaped = dyn_cast<ShapedType>(type))
      f32 = shaped.clone(f32);
    F32Builder b(op.getLoc(), rewriter, f32);
    Value value = op.getOperand();
    if (f32 != type)
      value = arith::ExtFOp::create(b, f32, value);
    value = (b.*Build)(value);
    if (f32 != type)
      value = arith::TruncFOp::create(b, type, value);
    rewriter.replaceOp(op, value);
    return success();
  }
};

struct ConvertMathToArithPass
    : regather::impl::ConvertMathToArithPassBase<ConvertMathToArithPass> {
  using ConvertMathToArithPassBase::ConvertMathToArithPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandFunction<math::CosOp, &F32Builder::cos>,
                 ExpandFunction<math::ExpOp, &F32Builder::exp>,
                 ExpandFunction<math::ExpM1Op, &F32Builder::expm1>,
                 ExpandFunction<math::LogOp, &F32Builder::log>,
                 ExpandFunction<math::Log1pOp, &F32Builder::log1p>,
                 ExpandFunction<math::SinOp, &F32Builder::sin>,
                 ExpandFunction<math::ErfOp, &F32Builder::erf>,
                 ExpandFunction<math::TanhOp, &F32Builder::tanh>>(
        &getContext());
    // Nothing is folded, so that what runs is exactly what is written here.
    if (failed(
            applyPatternsGreedily(getOperation(), std::move(patterns),
                                  GreedyRewriteConfig().enableFolding(false))))
      signalPassFailure();
  }
};
} // namespace
