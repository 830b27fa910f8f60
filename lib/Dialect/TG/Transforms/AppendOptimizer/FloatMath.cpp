//===- FloatMath.cpp - Arithmetic on numbers of an update -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FloatMath.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::update;

Value regather::tg::convertFloat(ImplicitLocOpBuilder &b, Value value,
                                 Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (from < to)
    return arith::ExtFOp::create(b, type, value);
  if (from > to)
    return arith::TruncFOp::create(b, type, value);
  return value;
}

Value regather::tg::makeFloat(ImplicitLocOpBuilder &b, Type type,
                              double number) {
  return arith::ConstantOp::create(b, b.getFloatAttr(type, number));
}

Value FloatBuilder::lerp(Value from, Value to, double weight) {
  Value difference = sub(to, from);
  if (weight < 0.5)
    return add(from, mul(constant(weight), difference));
  return sub(to, mul(difference, constant(1 - weight)));
}

Value FloatBuilder::averageSquare(Value old, double weight, Value value) {
  Value kept = mul(old, constant(weight));
  Value scaled = mul(constant(1 - weight), value);
  return add(kept, mul(scaled, value));
}

Value FloatBuilder::getBiasCorrection(double beta, Value step) {
  Value one = constant(1);
  return sub(one, pow(constant(beta), step));
}
