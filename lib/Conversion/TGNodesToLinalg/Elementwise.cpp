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

/// An integer equals itself, so that none is NaN.
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
  // The ratio means nothing if the longer side is zero or infinite. What is
  // infinite stays so beside a NaN.
  Value infinity =
      makeConstant(b, large.getType(), std::numeric_limits<double>::infinity());
  Value isInfinite =
      arith::OrIOp::create(b, compare(b, Relation::Eq, x, infinity),
                           compare(b, Relation::Eq, y, infinity));
  Value length = arith::SelectOp::create(
      b, compare(b, Relation::Eq, small, zero), large, mul(b, large, root));
  return arith::SelectOp::create(b, isInfinite, infinity, length);
}

/// If one operand is NaN, the other one is the result.
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
  // A number is rounded to the common type first.
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

/// A shift by at least the number of bits gives what shifting bit by bit would;
/// one by a negative amount gives zero or the sign.
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

/// x to the power of integers, modulo 2 to the power of their width. What a
/// negative one gives is cut to an integer: 0, but of 1 and -1 a power.
static Value emitIntegerPower(B &b, Value x, Value n) {
  Type type = x.getType();
  Value zero = makeConstant(b, type, 0.0);
  Value one = makeConstant(b, type, 1.0);
  auto equals = [&](Value lhs, Value rhs) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lhs, rhs);
  };
  // Of a negative power by its lowest bit: for 1 and -1 the others change
  // nothing, and of all other numbers it is not taken.
  Value result = one, square = x;
  for (unsigned i = 0, width = type.getIntOrFloatBitWidth(); i + 1 < width;
       ++i) {
    Value bit = makeConstant(b, type, static_cast<double>(uint64_t(1) << i));
    Value isSet = arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                                        arith::AndIOp::create(b, n, bit), zero);
    result = arith::SelectOp::create(b, isSet, mul(b, result, square), result);
    square = mul(b, square, square);
  }
  Value isUnit = arith::OrIOp::create(b, equals(x, one),
                                      equals(x, makeConstant(b, type, -1.0)));
  Value isNegative =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, n, zero);
  Value isZero = arith::AndIOp::create(
      b, isNegative,
      arith::XOrIOp::create(b, isUnit, makeConstant(b, isUnit.getType(), 1.0)));
  return arith::SelectOp::create(b, isZero, zero, result);
}

static LogicalResult buildPow(NodeArguments &args, NodeBuilder &b) {
  ElementOperands operands = getOperands(args, {"self", "exponent"});
  if (args.hasFailed())
    return failure();
  Type compute = getComputeType(b.getElement());
  if (compute.isInteger(1))
    return args.fail("exponent", "expects numbers, not truth values");
  return finishPointwise(args, b, operands, compute,
                         [](B &b, ValueRange v) -> Value {
                           if (isa<IntegerType>(v[0].getType()))
                             return emitIntegerPower(b, v[0], v[1]);
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

void regather::nodes::addElementwiseBuilders(BuilderTable &table) {
  table.add(Operator::AtenAbs, buildUnary<emitAbs, true>);
  table.add(Operator::AtenAcos, buildUnary<emit<math::AcosOp>>);
  table.add(Operator::AtenAcosh, buildUnary<emit<math::AcoshOp>>);
  table.add(Operator::AtenAdd, buildScaled<add>);
  table.add({Operator::AtenAlias, Operator::AtenClone, Operator::AtenDetach,
             Operator::AtenLiftFreshCopy, Operator::AtenTo,
             Operator::AtenToCopy, Operator::PrimsConvertElementType},
            buildConversion);
  table.add(Operator::AtenAsin, buildUnary<emit<math::AsinOp>>);
  table.add(Operator::AtenAsinh, buildUnary<emit<math::AsinhOp>>);
  table.add(Operator::AtenAtan, buildUnary<emit<math::AtanOp>>);
  table.add(Operator::AtenAtan2, buildFloatBinary<math::Atan2Op>);
  table.add(Operator::AtenAtanh, buildUnary<emit<math::AtanhOp>>);
  table.add(Operator::AtenBitwiseAnd, buildBitwise<arith::AndIOp>);
  table.add({Operator::AtenBitwiseLeftShift, Operator::AtenLshiftMethod},
            buildShift<arith::ShLIOp, false>);
  table.add(Operator::AtenBitwiseNot, buildIntegerUnary<emitBitwiseNot>);
  table.add(Operator::AtenBitwiseOr, buildBitwise<arith::OrIOp>);
  table.add({Operator::AtenBitwiseRightShift, Operator::AtenRshiftMethod},
            buildShift<arith::ShRSIOp, true>);
  table.add(Operator::AtenBitwiseXor, buildBitwise<arith::XOrIOp>);
  table.add(Operator::AtenClamp, buildClamp);
  table.add({Target::AtenClampMaxDefault, Target::AtenClampMinDefault},
            buildClamp);
  table.add(Operator::AtenCopysign, buildFloatBinary<math::CopySignOp>);
  table.add(Operator::AtenCos, buildUnary<emit<math::CosOp>>);
  table.add(Operator::AtenCosh, buildUnary<emit<math::CoshOp>>);
  table.add({Target::AtenDivScalar, Target::AtenDivTensor}, buildBinary<div>);
  table.add(Operator::AtenEq, buildComparison<Relation::Eq>);
  table.add(Operator::AtenErf, buildUnary<emit<math::ErfOp>>);
  table.add(Operator::AtenErfc, buildUnary<emit<math::ErfcOp>>);
  table.add(Operator::AtenExp, buildUnary<emit<math::ExpOp>>);
  table.add(Operator::AtenExp2, buildUnary<emit<math::Exp2Op>>);
  table.add(Operator::AtenExpm1, buildUnary<emit<math::ExpM1Op>>);
  table.add(Operator::AtenFmax,
            buildBinary<emitNumber<arith::MaxNumFOp, maximum>>);
  table.add(Operator::AtenFmin,
            buildBinary<emitNumber<arith::MinNumFOp, minimum>>);
  table.add(Operator::AtenGe, buildComparison<Relation::Ge>);
  table.add(Operator::AtenGt, buildComparison<Relation::Gt>);
  table.add(Operator::AtenHypot, buildHypot);
  table.add(Operator::AtenIsinf, buildPredicate<emitIsInf>);
  table.add(Operator::AtenIsnan, buildPredicate<emitIsNaN>);
  table.add(Operator::AtenLe, buildComparison<Relation::Le>);
  table.add(Operator::AtenLog, buildUnary<emit<math::LogOp>>);
  table.add(Operator::AtenLog10, buildUnary<emit<math::Log10Op>>);
  table.add(Operator::AtenLog1p, buildUnary<emit<math::Log1pOp>>);
  table.add(Operator::AtenLog2, buildUnary<emit<math::Log2Op>>);
  table.add(Operator::AtenLogicalAnd, buildLogical<arith::AndIOp>);
  table.add(Operator::AtenLogicalNot, buildPredicate<emitLogicalNot>);
  table.add(Operator::AtenLogicalOr, buildLogical<arith::OrIOp>);
  table.add(Operator::AtenLogicalXor, buildLogical<arith::XOrIOp>);
  table.add(Operator::AtenLt, buildComparison<Relation::Lt>);
  table.add(Operator::AtenMaskedFill, buildMaskedFill);
  table.add(Operator::AtenMaximum, buildBinary<maximum>);
  table.add(Operator::AtenMinimum, buildBinary<minimum>);
  table.add(Operator::AtenMul, buildBinary<mul>);
  table.add(Operator::AtenNe, buildComparison<Relation::Ne>);
  table.add(Operator::AtenNeg, buildUnary<neg, true>);
  table.add({Target::AtenPowScalar, Target::AtenPowTensorTensor}, buildPow);
  table.add(Target::AtenPowTensorScalar, buildPowScalar);
  table.add(Operator::AtenReciprocal, buildUnary<emitReciprocal>);
  table.add(Operator::AtenRsqrt, buildUnary<emit<math::RsqrtOp>>);
  table.add(Operator::AtenRsub, buildScaled<emitReverseSub, true>);
  table.add(Operator::AtenSigmoid, buildUnary<sigmoid>);
  table.add(Operator::AtenSign, buildUnary<emitSign, true>);
  table.add(Operator::AtenSin, buildUnary<emit<math::SinOp>>);
  table.add(Operator::AtenSinh, buildUnary<emit<math::SinhOp>>);
  table.add(Operator::AtenSqrt, buildUnary<emit<math::SqrtOp>>);
  table.add(Operator::AtenSub, buildScaled<sub>);
  table.add(Operator::AtenTan, buildUnary<emit<math::TanOp>>);
  table.add(Operator::AtenTanh, buildUnary<emit<math::TanhOp>>);
  table.add(Operator::AtenWhere, buildWhere);
}
