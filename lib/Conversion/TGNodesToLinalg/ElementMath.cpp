//===- ElementMath.cpp - Arithmetic on single elements --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementMath.h"

using namespace mlir;
using namespace regather::nodes;

Type regather::nodes::getComputeType(Type element) {
  return element.isF16() || element.isBF16()
             ? Float32Type::get(element.getContext())
             : element;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

TypedAttr regather::nodes::makeNumber(Type type, double number) {
  if (isa<FloatType>(type))
    return FloatAttr::get(type, number);
  if (type.isInteger(1))
    return IntegerAttr::get(type, number != 0);
  // The result for a float that is no integer of the type is undefined; zero is
  // as good as any.
  if (!(std::abs(number) < 0x1p63))
    number = 0;
  return makeNumber(type, static_cast<int64_t>(number));
}

TypedAttr regather::nodes::makeNumber(Type type, int64_t number) {
  if (isa<FloatType>(type))
    return FloatAttr::get(type, static_cast<double>(number));
  if (type.isInteger(1))
    return IntegerAttr::get(type, number != 0);
  return IntegerAttr::get(type, APInt(type.getIntOrFloatBitWidth(), number,
                                      /*isSigned=*/true,
                                      /*implicitTrunc=*/true));
}

TypedAttr regather::nodes::makeNumber(Type type, TypedAttr number) {
  if (auto value = dyn_cast<FloatAttr>(number))
    return makeNumber(type, value.getValueAsDouble());
  auto integer = cast<IntegerAttr>(number);
  int64_t value = integer.getType().isInteger(1)
                      ? static_cast<int64_t>(integer.getValue().getZExtValue())
                      : integer.getValue().getSExtValue();
  return makeNumber(type, value);
}

TypedAttr regather::nodes::makeLowest(Type type) {
  if (isa<FloatType>(type))
    return makeNumber(type, -std::numeric_limits<double>::infinity());
  if (type.isInteger(1))
    return IntegerAttr::get(type, 0);
  return IntegerAttr::get(
      type, APInt::getSignedMinValue(type.getIntOrFloatBitWidth()));
}

TypedAttr regather::nodes::makeHighest(Type type) {
  if (isa<FloatType>(type))
    return makeNumber(type, std::numeric_limits<double>::infinity());
  if (type.isInteger(1))
    return IntegerAttr::get(type, 1);
  return IntegerAttr::get(
      type, APInt::getSignedMaxValue(type.getIntOrFloatBitWidth()));
}

Value regather::nodes::makeConstant(B &b, Type type, double number) {
  return arith::ConstantOp::create(b, makeNumber(type, number));
}

Value regather::nodes::makeConstant(B &b, Type type, TypedAttr number) {
  return arith::ConstantOp::create(b, makeNumber(type, number));
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

static Value convertFloat(B &b, Value value, Type type) {
  Type from = value.getType();
  unsigned width = from.getIntOrFloatBitWidth();
  if (type.isInteger(1))
    return arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, value,
                                 makeConstant(b, from, 0.0));
  if (type.isInteger())
    return arith::FPToSIOp::create(b, type, value);
  if (width < type.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(b, type, value);
  // Neither of the two 16-bit floats contains the other, but both are exact in
  // f32.
  if (width == type.getIntOrFloatBitWidth())
    value = arith::ExtFOp::create(b, b.getF32Type(), value);
  return arith::TruncFOp::create(b, type, value);
}

static Value convertInteger(B &b, Value value, Type type) {
  Type from = value.getType();
  bool isLogical = from.isInteger(1);
  if (isa<FloatType>(type))
    return isLogical ? arith::UIToFPOp::create(b, type, value).getResult()
                     : arith::SIToFPOp::create(b, type, value).getResult();
  if (type.isInteger(1))
    return arith::CmpIOp::create(
        b, arith::CmpIPredicate::ne, value,
        arith::ConstantOp::create(b, b.getIntegerAttr(from, 0)));
  if (isLogical)
    return arith::ExtUIOp::create(b, type, value);
  if (from.getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth())
    return arith::ExtSIOp::create(b, type, value);
  return arith::TruncIOp::create(b, type, value);
}

Value regather::nodes::convertElement(B &b, Value value, Type type) {
  if (value.getType() == type)
    return value;
  return isa<FloatType>(value.getType()) ? convertFloat(b, value, type)
                                         : convertInteger(b, value, type);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// The float, integer or logical form of an operation.
template <typename FloatOp, typename IntOp, typename LogicalOp = IntOp>
static Value choose(B &b, Value lhs, Value rhs) {
  if (isa<FloatType>(lhs.getType()))
    return FloatOp::create(b, lhs, rhs);
  if (lhs.getType().isInteger(1))
    return LogicalOp::create(b, lhs, rhs);
  return IntOp::create(b, lhs, rhs);
}

Value regather::nodes::add(B &b, Value lhs, Value rhs) {
  return choose<arith::AddFOp, arith::AddIOp, arith::OrIOp>(b, lhs, rhs);
}
Value regather::nodes::sub(B &b, Value lhs, Value rhs) {
  return choose<arith::SubFOp, arith::SubIOp, arith::XOrIOp>(b, lhs, rhs);
}
Value regather::nodes::mul(B &b, Value lhs, Value rhs) {
  return choose<arith::MulFOp, arith::MulIOp, arith::AndIOp>(b, lhs, rhs);
}
Value regather::nodes::div(B &b, Value lhs, Value rhs) {
  return choose<arith::DivFOp, arith::DivSIOp>(b, lhs, rhs);
}
Value regather::nodes::maximum(B &b, Value lhs, Value rhs) {
  return choose<arith::MaximumFOp, arith::MaxSIOp, arith::OrIOp>(b, lhs, rhs);
}
Value regather::nodes::minimum(B &b, Value lhs, Value rhs) {
  return choose<arith::MinimumFOp, arith::MinSIOp, arith::AndIOp>(b, lhs, rhs);
}

Value regather::nodes::neg(B &b, Value value) {
  if (isa<FloatType>(value.getType()))
    return arith::NegFOp::create(b, value);
  return arith::SubIOp::create(b, makeConstant(b, value.getType(), 0.0), value);
}

Value regather::nodes::compare(B &b, Relation relation, Value lhs, Value rhs) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static constexpr F floats[] = {F::OEQ, F::UNE, F::OLT,
                                 F::OLE, F::OGT, F::OGE};
  static constexpr I signedInts[] = {I::eq,  I::ne,  I::slt,
                                     I::sle, I::sgt, I::sge};
  static constexpr I logical[] = {I::eq, I::ne, I::ult, I::ule, I::ugt, I::uge};
  auto index = static_cast<unsigned>(relation);
  if (isa<FloatType>(lhs.getType()))
    return arith::CmpFOp::create(b, floats[index], lhs, rhs);
  bool isLogical = lhs.getType().isInteger(1);
  return arith::CmpIOp::create(
      b, isLogical ? logical[index] : signedInts[index], lhs, rhs);
}

Value regather::nodes::sigmoid(B &b, Value x) {
  Value one = makeConstant(b, x.getType(), 1.0);
  return div(b, one, add(b, one, math::ExpOp::create(b, neg(b, x))));
}
