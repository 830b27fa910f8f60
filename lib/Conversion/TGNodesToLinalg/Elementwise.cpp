//===- Elementwise.cpp - Expansions that work element by element ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementOperands.h"
#include "StructuredOps.h"

using namespace mlir;
using namespace regather::nodes;

//===----------------------------------------------------------------------===//
// Functions of one element
//===----------------------------------------------------------------------===//

template <typename OpTy> static Value emit(B &b, Value x) {
  return OpTy::create(b, x);
}

static Value emitAbs(B &b, Value x) {
  if (isa<FloatType>(x.getType()))
    return math::AbsFOp::create(b, x);
  return math::AbsIOp::create(b, x);
}

static Value emitReciprocal(B &b, Value x) {
  return div(b, makeConstant(b, x.getType(), 1.0), x);
}

/// 1, 0 or -1; a NaN has no sign.
static Value emitSign(B &b, Value x) {
  Value zero = makeConstant(b, x.getType(), 0.0);
  Value isPositive = compare(b, Relation::Gt, x, zero);
  if (x.getType().isInteger(1))
    return isPositive;
  Value isNegative = compare(b, Relation::Lt, x, zero);
  return sub(b, convertElement(b, isPositive, x.getType()),
             convertElement(b, isNegative, x.getType()));
}

/// Of integers, none is.
static Value emitIsNaN(B &b, Value x) { return compare(b, Relation::Ne, x, x); }

static Value emitIsInf(B &b, Value x) {
  if (!isa<FloatType>(x.getType()))
    return makeConstant(b, b.getI1Type(), 0.0);
  return math::IsInfOp::create(b, x);
}

static Value emitLogicalNot(B &b, Value x) {
  return compare(b, Relation::Eq, x, makeConstant(b, x.getType(), 0.0));
}

static Value emitBitwiseNot(B &b, Value x) {
  Value ones = arith::ConstantOp::create(b, b.getIntegerAttr(x.getType(), -1));
  return arith::XOrIOp::create(b, x, ones);
}

template <Value (*Emit)(B &, Value), bool TakesIntegers = false>
static LogicalResult buildUnary(NodeArguments &args, NodeBuilder &b) {
  ElementOperands operands = {{args.getTensor("self"), {}}};
  Type compute = getComputeType(b.getElement());
  if (args.hasFailed())
    return failure();
  if (!TakesIntegers && !isa<FloatType>(compute))
    return args.fail("expects a result that is a float");
  return finishPointwise(args, b, operands, compute,
                         [](B &b, ValueRange v) { return Emit(b, v[0]); });
}

/// Functions whose result has another type than what they compute with.
template <Value (*Emit)(B &, Value)>
static LogicalResult buildPredicate(NodeArguments &args, NodeBuilder &b) {
  ElementOperands operands = {{args.getTensor("self"), {}}};
  if (args.hasFailed())
    return failure();
  Type compute = getComputeType(getPromotedType(operands));
  return finishPointwise(args, b, operands, compute,
                         [](B &b, ValueRange v) { return Emit(b, v[0]); });
}

template <Value (*Emit)(B &, Value)>
static LogicalResult buildIntegerUnary(NodeArguments &args, NodeBuilder &b) {
  if (!b.getElement().isInteger())
    return args.fail("expects integers or booleans");
  return buildUnary<Emit, /*TakesIntegers=*/true>(args, b);
}

//===----------------------------------------------------------------------===//
// Functions of two elements
//===----------------------------------------------------------------------===//

template <Value (*Emit)(B &, Value, Value)>
static LogicalResult buildBinary(NodeArguments &args, NodeBuilder &b) {
  ElementOperands operands = getOperands(args, {"self", "other"});
  if (args.hasFailed())
    return failure();
  return finishPointwise(
      args, b, operands, getComputeType(b.getElement()),
      [](B &b, ValueRange v) { return Emit(b, v[0], v[1]); });
}

static Value emitReverseSub(B &b, Value lhs, Value rhs) {
  return sub(b, rhs, lhs);
}

template <typename OpTy> static Value emitOp(B &b, Value lhs, Value rhs) {
  return OpTy::create(b, lhs, rhs);
}

/// Functions of two floats.
template <typename OpTy>
static LogicalResult buildFloatBinary(NodeArguments &args, NodeBuilder &b) {
  if (!isa<FloatType>(b.getElement()))
    return args.fail("expects a result that is a float");
  return buildBinary<emitOp<OpTy>>(args, b);
}

/// sqrt(x * x + y * y), scaled so that the squares neither overflow nor vanish.
static Value emitHypot(B &b, Value lhs, Value rhs) {
  Value x = math::AbsFOp::create(b, lhs), y = math::AbsFOp::create(b, rhs);
  Value large = maximum(b, x, y), small = minimum(b, x, y);
  Value zero = makeConstant(b, large.getType(), 0.0);
  Value ratio = div(b, small, large);
  Value one = makeConstant(b, large.getType(), 1.0);
  Value root = math::SqrtOp::create(b, add(b, one, mul(b, ratio, ratio)));
  // Zero or infinite sides make the ratio one that says nothing.
  Value isSimple =
      add(b, compare(b, Relation::Eq, small, zero),
          compare(b, Relation::Eq, large,
                  makeConstant(b, large.getType(),
                               std::numeric_limits<double>::infinity())));
  return arith::SelectOp::create(b, isSimple, large, mul(b, large, root));
}

/// A NaN stands back behind a number.
template <typename OpTy, Value (*Emit)(B &, Value, Value)>
static Value emitNumber(B &b, Value lhs, Value rhs) {
  if (!isa<FloatType>(lhs.getType()))
    return Emit(b, lhs, rhs);
  return OpTy::create(b, lhs, rhs);
}

static LogicalResult buildHypot(NodeArguments &args, NodeBuilder &b) {
  if (!isa<FloatType>(b.getElement()))
    return args.fail("expects a result that is a float");
  return buildBinary<emitHypot>(args, b);
}

/// Emit(self, alpha * other); for a reversed subtraction, alpha scales self.
template <Value (*Emit)(B &, Value, Value), bool IsReversed = false>
static LogicalResult buildScaled(NodeArguments &args, NodeBuilder &b) {
  ElementOperands operands = getOperands(args, {"self", "other"});
  TypedAttr alpha = args.getNumber("alpha", 1);
  if (args.hasFailed())
    return failure();
  Type compute = getComputeType(b.getElement());
  bool isScaled = makeNumber(compute, alpha) != makeNumber(compute, 1.0);
  return finishPointwise(
      args, b, operands, compute, [&](B &b, ValueRange v) -> Value {
        SmallVector<Value, 2> values(v);
        Value &scaled = values[IsReversed ? 0 : 1];
        if (isScaled)
          scaled = mul(b, makeConstant(b, compute, alpha), scaled);
        return Emit(b, values[0], values[1]);
      });
}

template <Relation R>
static LogicalResult buildComparison(NodeArguments &args, NodeBuilder &b) {
  ElementOperands operands = getOperands(args, {"self", "other"});
  if (args.hasFailed())
    return failure();
  // A number takes part as it is rounded to the common type.
  Type common = getPromotedType(operands);
  for (ElementOperand &operand : operands)
    if (!operand.tensor)
      operand.number = makeNumber(common, operand.number);
  return finishPointwise(
      args, b, operands, getComputeType(common),
      [](B &b, ValueRange v) { return compare(b, R, v[0], v[1]); });
}

template <typename OpTy>
static LogicalResult buildLogical(NodeArguments &args, NodeBuilder &b) {
  ElementOperands operands = getOperands(args, {"self", "other"});
  if (args.hasFailed())
    return failure();
  return finishPointwise(
      args, b, operands, b.getI1Type(),
      [](B &b, ValueRange v) -> Value { return OpTy::create(b, v[0], v[1]); });
}

template <typename OpTy>
static LogicalResult buildBitwise(NodeArguments &args, NodeBuilder &b) {
  if (!b.getElement().isInteger())
    return args.fail("expects integers or booleans");
  ElementOperands operands = getOperands(args, {"self", "other"});
  if (args.hasFailed())
    return failure();
  return finishPointwise(
      args, b, operands, b.getElement(),
      [](B &b, ValueRange v) -> Value { return OpTy::create(b, v[0], v[1]); });
}

/// Shifts by the number of bits or more give what shifting bit by bit would;
/// those by a negative amount, zero or the sign.
template <typename OpTy, bool FillsWithSign>
static Value emitShift(B &b, Value lhs, Value rhs) {
  Type type = lhs.getType();
  auto width = static_cast<double>(type.getIntOrFloatBitWidth());
  Value last = makeConstant(b, type, width - 1);
  // Unsigned: a negative amount is a large one.
  Value fits = arith::CmpIOp::create(b, arith::CmpIPredicate::ule, rhs, last);
  Value safe = arith::SelectOp::create(b, fits, rhs, last);
  Value shifted = OpTy::create(b, lhs, safe);
  if (FillsWithSign)
    return shifted;
  return arith::SelectOp::create(b, fits, shifted, makeConstant(b, type, 0.0));
}

template <typename OpTy, bool FillsWithSign>
static LogicalResult buildShift(NodeArguments &args, NodeBuilder &b) {
  if (!b.getElement().isInteger() || b.getElement().isInteger(1))
    return args.fail("expects integers");
  return buildBinary<emitShift<OpTy, FillsWithSign>>(args, b);
}

/// x to the power of a small n >= 0 by repeated squaring.
static Value emitIntegerPower(B &b, Value x, uint64_t n) {
  Value result;
  for (Value square = x; n; n >>= 1, square = n ? mul(b, square, square) : x)
    if (n & 1)
      result = result ? mul(b, result, square) : square;
  return result ? result : makeConstant(b, x.getType(), 1.0);
}

static LogicalResult buildPowScalar(NodeArguments &args, NodeBuilder &b) {
  ElementOperands operands = {{args.getTensor("self"), {}}};
  double exponent = args.getFloat("exponent");
  if (args.hasFailed())
    return failure();
  Type compute = getComputeType(b.getElement());
  bool isFloat = isa<FloatType>(compute);
  double magnitude = std::abs(exponent);
  bool isSmall = magnitude <= 16 && magnitude == std::floor(magnitude);
  if (!isFloat && (!isSmall || exponent < 0))
    return args.fail("exponent", "of integers must be from 0 to 16");
  return finishPointwise(
      args, b, operands, compute, [&](B &b, ValueRange v) -> Value {
        Value x = v[0];
        if (isSmall) {
          Value power =
              emitIntegerPower(b, x, static_cast<uint64_t>(magnitude));
          return exponent < 0 ? emitReciprocal(b, power) : power;
        }
        if (exponent == 0.5)
          return math::SqrtOp::create(b, x);
        if (exponent == -0.5)
          return emitReciprocal(b, math::SqrtOp::create(b, x));
        return math::PowFOp::create(b, x, makeConstant(b, compute, exponent));
      });
}

static LogicalResult buildPow(NodeArguments &args, NodeBuilder &b) {
  ElementOperands operands = getOperands(args, {"self", "exponent"});
  if (args.hasFailed())
    return failure();
  Type compute = getComputeType(b.getElement());
  if (!isa<FloatType>(compute))
    return args.fail("exponent", "must be a float, or a number");
  return finishPointwise(args, b, operands, compute,
                         [](B &b, ValueRange v) -> Value {
                           return math::PowFOp::create(b, v[0], v[1]);
                         });
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

static LogicalResult buildClamp(NodeArguments &args, NodeBuilder &b) {
  SmallVector<StringRef, 3> names = {"self"};
  bool hasMin = args.has("min"), hasMax = args.has("max");
  if (hasMin)
    names.push_back("min");
  if (hasMax)
    names.push_back("max");
  ElementOperands operands = getOperands(args, names);
  if (args.hasFailed())
    return failure();
  return finishPointwise(args, b, operands, getComputeType(b.getElement()),
                         [&](B &b, ValueRange v) {
                           Value x = v[0];
                           if (hasMin)
                             x = maximum(b, x, v[1]);
                           if (hasMax)
                             x = minimum(b, x, v.back());
                           return x;
                         });
}

/// condition ? first : second, where `first` and `second` name arguments.
static LogicalResult finishChoice(NodeArguments &args, NodeBuilder &b,
                                  StringRef condition, StringRef first,
                                  StringRef second) {
  Tensor mask = args.getTensor(condition);
  ElementOperands operands = getOperands(args, {first, second});
  if (args.hasFailed())
    return failure();
  SmallVector<Tensor> tensors = {mask};
  for (const ElementOperand &operand : operands)
    if (operand.tensor)
      tensors.push_back(operand.tensor);
  if (failed(args.expectBroadcast(tensors, b.getShape())))
    return failure();
  Type element = b.getElement();
  auto body = [&](B &inner, ValueRange elements) -> Value {
    SmallVector<Value, 2> values;
    size_t next = 1;
    for (const ElementOperand &operand : operands)
      values.push_back(operand.tensor
                           ? convertElement(inner, elements[next++], element)
                           : makeConstant(inner, element, operand.number));
    Value holds = convertElement(inner, elements[0], inner.getI1Type());
    return arith::SelectOp::create(inner, holds, values[0], values[1]);
  };
  return b.finish(pointwise(b, b.getShape(), element, tensors, body));
}

static LogicalResult buildWhere(NodeArguments &args, NodeBuilder &b) {
  return finishChoice(args, b, "condition", "self", "other");
}

static LogicalResult buildMaskedFill(NodeArguments &args, NodeBuilder &b) {
  return finishChoice(args, b, "mask", "value", "self");
}

//===----------------------------------------------------------------------===//
// Conversions and copies
//===----------------------------------------------------------------------===//

static LogicalResult buildConversion(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  if (args.hasFailed())
    return failure();
  return b.finish(convertTensor(b, self, b.getElement()));
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

void regather::nodes::addElementwiseRules(RuleTable &table) {
  table["aten.abs.default"] = {"self", buildUnary<emitAbs, true>};
  table["aten.neg.default"] = {"self", buildUnary<neg, true>};
  table["aten.exp.default"] = {"self", buildUnary<emit<math::ExpOp>>};
  table["aten.expm1.default"] = {"self", buildUnary<emit<math::ExpM1Op>>};
  table["aten.log.default"] = {"self", buildUnary<emit<math::LogOp>>};
  table["aten.log1p.default"] = {"self", buildUnary<emit<math::Log1pOp>>};
  table["aten.sqrt.default"] = {"self", buildUnary<emit<math::SqrtOp>>};
  table["aten.rsqrt.default"] = {"self", buildUnary<emit<math::RsqrtOp>>};
  table["aten.reciprocal.default"] = {"self", buildUnary<emitReciprocal>};
  table["aten.sigmoid.default"] = {"self", buildUnary<sigmoid>};
  table["aten.tanh.default"] = {"self", buildUnary<emit<math::TanhOp>>};
  table["aten.erf.default"] = {"self", buildUnary<emit<math::ErfOp>>};
  table["aten.sin.default"] = {"self", buildUnary<emit<math::SinOp>>};
  table["aten.cos.default"] = {"self", buildUnary<emit<math::CosOp>>};
  table["aten.tan.default"] = {"self", buildUnary<emit<math::TanOp>>};
  table["aten.asin.default"] = {"self", buildUnary<emit<math::AsinOp>>};
  table["aten.acos.default"] = {"self", buildUnary<emit<math::AcosOp>>};
  table["aten.atan.default"] = {"self", buildUnary<emit<math::AtanOp>>};
  table["aten.sinh.default"] = {"self", buildUnary<emit<math::SinhOp>>};
  table["aten.cosh.default"] = {"self", buildUnary<emit<math::CoshOp>>};
  table["aten.asinh.default"] = {"self", buildUnary<emit<math::AsinhOp>>};
  table["aten.acosh.default"] = {"self", buildUnary<emit<math::AcoshOp>>};
  table["aten.atanh.default"] = {"self", buildUnary<emit<math::AtanhOp>>};
  table["aten.erfc.default"] = {"self", buildUnary<emit<math::ErfcOp>>};
  table["aten.exp2.default"] = {"self", buildUnary<emit<math::Exp2Op>>};
  table["aten.log2.default"] = {"self", buildUnary<emit<math::Log2Op>>};
  table["aten.log10.default"] = {"self", buildUnary<emit<math::Log10Op>>};
  table["aten.sign.default"] = {"self", buildUnary<emitSign, true>};
  table["aten.isnan.default"] = {"self", buildPredicate<emitIsNaN>};
  table["aten.isinf.default"] = {"self", buildPredicate<emitIsInf>};
  table["aten.logical_not.default"] = {"self", buildPredicate<emitLogicalNot>};
  table["aten.bitwise_not.default"] = {"self",
                                       buildIntegerUnary<emitBitwiseNot>};

  for (const char *overload : {"Tensor", "Scalar"}) {
    auto rule = [&](StringRef name) -> NodeRule & {
      return table[("aten." + name + "." + overload).str()];
    };
    rule("add") = {"self other alpha", buildScaled<add>};
    rule("sub") = {"self other alpha", buildScaled<sub>};
    rule("rsub") = {"self other alpha", buildScaled<emitReverseSub, true>};
    rule("mul") = {"self other", buildBinary<mul>};
    rule("div") = {"self other", buildBinary<div>};
    rule("eq") = {"self other", buildComparison<Relation::Eq>};
    rule("ne") = {"self other", buildComparison<Relation::Ne>};
    rule("lt") = {"self other", buildComparison<Relation::Lt>};
    rule("le") = {"self other", buildComparison<Relation::Le>};
    rule("gt") = {"self other", buildComparison<Relation::Gt>};
    rule("ge") = {"self other", buildComparison<Relation::Ge>};
    for (const char *name : {"__lshift__", "bitwise_left_shift"})
      rule(name) = {"self other", buildShift<arith::ShLIOp, false>};
    for (const char *name : {"__rshift__", "bitwise_right_shift"})
      rule(name) = {"self other", buildShift<arith::ShRSIOp, true>};
    rule("bitwise_and") = {"self other", buildBitwise<arith::AndIOp>};
    rule("bitwise_or") = {"self other", buildBitwise<arith::OrIOp>};
    rule("bitwise_xor") = {"self other", buildBitwise<arith::XOrIOp>};
  }
  table["aten.maximum.default"] = {"self other", buildBinary<maximum>};
  table["aten.minimum.default"] = {"self other", buildBinary<minimum>};
  table["aten.atan2.default"] = {"self other", buildFloatBinary<math::Atan2Op>};
  table["aten.fmax.default"] = {
      "self other", buildBinary<emitNumber<arith::MaxNumFOp, maximum>>};
  table["aten.fmin.default"] = {
      "self other", buildBinary<emitNumber<arith::MinNumFOp, minimum>>};
  table["aten.hypot.default"] = {"self other", buildHypot};
  table["aten.logical_and.default"] = {"self other",
                                       buildLogical<arith::AndIOp>};
  table["aten.logical_or.default"] = {"self other", buildLogical<arith::OrIOp>};
  table["aten.logical_xor.default"] = {"self other",
                                       buildLogical<arith::XOrIOp>};
  table["aten.pow.Tensor_Scalar"] = {"self exponent", buildPowScalar};
  table["aten.pow.Tensor_Tensor"] = {"self exponent", buildPow};
  table["aten.pow.Scalar"] = {"self exponent", buildPow};

  table["aten.clamp.default"] = {"self min max", buildClamp};
  table["aten.clamp.Tensor"] = {"self min max", buildClamp};
  table["aten.clamp_min.default"] = {"self min", buildClamp};
  table["aten.clamp_max.default"] = {"self max", buildClamp};
  for (const char *overload : {"self", "ScalarSelf", "ScalarOther", "Scalar"})
    table[("aten.where." + StringRef(overload)).str()] = {
        "condition self other", buildWhere};
  table["aten.masked_fill.Scalar"] = {"self mask value", buildMaskedFill};
  table["aten.masked_fill.Tensor"] = {"self mask value", buildMaskedFill};

  table["aten._to_copy.default"] = {"self", buildConversion};
  table["aten.to.dtype"] = {"self dtype non_blocking copy memory_format",
                            buildConversion};
  table["prims.convert_element_type.default"] = {"self dtype", buildConversion};
  table["aten.clone.default"] = {"self", buildConversion};
  table["aten.detach.default"] = {"self", buildConversion};
  table["aten.alias.default"] = {"self", buildConversion};
  table["aten.lift_fresh_copy.default"] = {"self", buildConversion};
}
