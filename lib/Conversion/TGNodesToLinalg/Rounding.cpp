//===- Rounding.cpp - Expansions that round to whole numbers --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementOperands.h"

using namespace mlir;
using namespace regather::nodes;

//===----------------------------------------------------------------------===//
// Rounding
//===----------------------------------------------------------------------===//

/// Integers are whole already.
template <typename OpTy>
static LogicalResult buildRounding(NodeArguments &args, NodeBuilder &b) {
  ElementOperands operands = {{args.getTensor("self"), {}}};
  if (args.hasFailed())
    return failure();
  return finishPointwise(args, b, operands, getComputeType(b.getElement()),
                         [](B &b, ValueRange v) -> Value {
                           if (!isa<FloatType>(v[0].getType()))
                             return v[0];
                           return OpTy::create(b, v[0]);
                         });
}

//===----------------------------------------------------------------------===//
// Quotients
//===----------------------------------------------------------------------===//

/// True where the signs of two numbers differ, with zero counting as positive.
static Value haveOtherSigns(B &b, Value lhs, Value rhs) {
  Value zero = makeConstant(b, lhs.getType(), 0.0);
  return arith::XOrIOp::create(b, compare(b, Relation::Lt, lhs, zero),
                               compare(b, Relation::Lt, rhs, zero));
}

/// Integers that processors refuse to divide by become 1: zero, and -1, which
/// overflows for the lowest number.
static Value makeSafe(B &b, Value divisor) {
  Type type = divisor.getType();
  Value isRefused = arith::OrIOp::create(
      b, compare(b, Relation::Eq, divisor, makeConstant(b, type, 0.0)),
      compare(b, Relation::Eq, divisor, makeConstant(b, type, -1.0)));
  return arith::SelectOp::create(b, isRefused, makeConstant(b, type, 1.0),
                                 divisor);
}

static Value makeRemainder(B &b, Value lhs, Value rhs) {
  if (isa<FloatType>(lhs.getType()))
    return arith::RemFOp::create(b, lhs, rhs);
  return arith::RemSIOp::create(b, lhs, makeSafe(b, rhs));
}

/// Rounded towards zero. PyTorch raises an error where an integer is divided by
/// zero; here the result is that integer.
static Value divideIntegers(B &b, Value lhs, Value rhs) {
  Value quotient = div(b, lhs, makeSafe(b, rhs));
  Value isNegated =
      compare(b, Relation::Eq, rhs, makeConstant(b, rhs.getType(), -1.0));
  return arith::SelectOp::create(b, isNegated, neg(b, lhs), quotient);
}

/// The remainder of a quotient rounded towards zero: it has the sign of `lhs`.
static Value emitFmod(B &b, Value lhs, Value rhs) {
  return makeRemainder(b, lhs, rhs);
}

/// The remainder of a quotient rounded down: it has the sign of `rhs`.
static Value emitRemainder(B &b, Value lhs, Value rhs) {
  Value rest = makeRemainder(b, lhs, rhs);
  Value zero = makeConstant(b, lhs.getType(), 0.0);
  Value isOff = arith::AndIOp::create(b, compare(b, Relation::Ne, rest, zero),
                                      haveOtherSigns(b, rest, rhs));
  return arith::SelectOp::create(b, isOff, add(b, rest, rhs), rest);
}

static Value emitTruncatedQuotient(B &b, Value lhs, Value rhs) {
  if (!isa<FloatType>(lhs.getType()))
    return divideIntegers(b, lhs, rhs);
  return math::TruncOp::create(b, div(b, lhs, rhs));
}

/// Floats use the exact remainder, because the rounded quotient may be the next
/// whole number.
static Value emitFloorQuotient(B &b, Value lhs, Value rhs) {
  Type type = lhs.getType();
  Value one = makeConstant(b, type, 1.0), zero = makeConstant(b, type, 0.0);
  Value rest = makeRemainder(b, lhs, rhs);
  Value isOff = arith::AndIOp::create(b, compare(b, Relation::Ne, rest, zero),
                                      haveOtherSigns(b, rest, rhs));
  if (!isa<FloatType>(type)) {
    Value quotient = divideIntegers(b, lhs, rhs);
    return arith::SelectOp::create(b, isOff, sub(b, quotient, one), quotient);
  }
  Value quotient = div(b, sub(b, lhs, rest), rhs);
  quotient = arith::SelectOp::create(b, isOff, sub(b, quotient, one), quotient);
  Value floor = math::FloorOp::create(b, quotient);
  Value isHigher = compare(b, Relation::Gt, sub(b, quotient, floor),
                           makeConstant(b, type, 0.5));
  floor = arith::SelectOp::create(b, isHigher, add(b, floor, one), floor);
  // A division by zero gives an infinity or NaN.
  Value isByZero = compare(b, Relation::Eq, rhs, zero);
  return arith::SelectOp::create(b, isByZero, div(b, lhs, rhs), floor);
}

template <Value (*Emit)(B &, Value, Value)>
static LogicalResult finishQuotient(NodeArguments &args, NodeBuilder &b) {
  ElementOperands operands = getOperands(args, {"self", "other"});
  if (args.hasFailed())
    return failure();
  if (b.getElement().isInteger(1))
    return args.fail("expects a result that is a number");
  return finishPointwise(
      args, b, operands, getComputeType(b.getElement()),
      [](B &b, ValueRange v) { return Emit(b, v[0], v[1]); });
}

static LogicalResult buildQuotient(NodeArguments &args, NodeBuilder &b) {
  StringRef mode = args.getString("rounding_mode", "none");
  if (mode == "floor")
    return finishQuotient<emitFloorQuotient>(args, b);
  if (mode == "trunc")
    return finishQuotient<emitTruncatedQuotient>(args, b);
  if (mode != "none")
    return args.fail("rounding_mode",
                     "must be \"floor\" or \"trunc\", got \"" + mode + "\"");
  return finishQuotient<div>(args, b);
}

void regather::nodes::addRoundingBuilders(BuilderTable &table) {
  table.add(Operator::AtenCeil, buildRounding<math::CeilOp>);
  table.add({Target::AtenDivScalarMode, Target::AtenDivTensorMode},
            buildQuotient);
  table.add(Operator::AtenFloor, buildRounding<math::FloorOp>);
  table.add(Operator::AtenFloorDivide, finishQuotient<emitFloorQuotient>);
  table.add(Operator::AtenFmod, finishQuotient<emitFmod>);
  table.add(Operator::AtenRemainder, finishQuotient<emitRemainder>);
  table.add(Operator::AtenRound, buildRounding<math::RoundEvenOp>);
  table.add(Operator::AtenTrunc, buildRounding<math::TruncOp>);
}
