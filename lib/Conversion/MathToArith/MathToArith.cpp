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
// were published by Norbert Juffa (public domain); that of tanh is from Cephes.
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
  Value log(Value x);
  Value erf(Value x);
  Value tanh(Value x);

private:
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
} // namespace

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

/// log(x) = n log(2) + log(m), m between 2/3 and 4/3. Error below 0.9 ulp.
Value F32Builder::log(Value x) {
  Value zero = number(0.0f), infinity = number(INFINITY);
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
  Value square = mul(m, m);
  Value even = polynomial(
      square, {-0.130310059f, -0.121483512f, -0.166846126f, -0.249996200f});
  Value odd = polynomial(square, {0.140869141f, 0.139814854f, 0.200120345f});
  Value sum = fma(odd, m, even);
  sum = fma(sum, m, number(0.333331972f));
  sum = fma(sum, m, number(-0.5f));
  sum = fma(n, number(0.693147182f), fma(sum, square, m));
  // The results for zero, infinity, NaN and negative numbers.
  Value isRegular =
      arith::AndIOp::create(*this, less(zero, x), less(x, infinity));
  Value isZero =
      arith::CmpFOp::create(*this, arith::CmpFPredicate::OEQ, x, zero);
  Value special = select(less(x, zero), number(NAN), add(x, x));
  special = select(isZero, number(-INFINITY), special);
  return select(isRegular, sum, special);
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
  return select(less(magnitude, number(0.625f)), near, copySign(far, x));
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
    patterns.add<ExpandFunction<math::ExpOp, &F32Builder::exp>,
                 ExpandFunction<math::LogOp, &F32Builder::log>,
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
