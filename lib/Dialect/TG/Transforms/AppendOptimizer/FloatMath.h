//===- FloatMath.h - Arithmetic on numbers of an update ------- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_TRANSFORMS_FLOATMATH_H
#define REGATHER_LIB_DIALECT_TG_TRANSFORMS_FLOATMATH_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace regather::tg {

/// Rounds or extends a floating-point number to `type`.
mlir::Value convertFloat(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                         mlir::Type type);

/// A constant of floating-point type `type`.
mlir::Value makeFloat(mlir::ImplicitLocOpBuilder &b, mlir::Type type,
                      double number);

namespace update {

/// Builds arithmetic on numbers of one floating-point type.
class FloatBuilder {
public:
  using Value = mlir::Value;

  FloatBuilder(mlir::ImplicitLocOpBuilder &b, mlir::Type type)
      : b(b), type(type) {}

  Value constant(double number) { return makeFloat(b, type, number); }
  Value add(Value lhs, Value rhs) {
    return mlir::arith::AddFOp::create(b, lhs, rhs);
  }
  Value sub(Value lhs, Value rhs) {
    return mlir::arith::SubFOp::create(b, lhs, rhs);
  }
  Value mul(Value lhs, Value rhs) {
    return mlir::arith::MulFOp::create(b, lhs, rhs);
  }
  Value div(Value lhs, Value rhs) {
    return mlir::arith::DivFOp::create(b, lhs, rhs);
  }
  Value max(Value lhs, Value rhs) {
    return mlir::arith::MaximumFOp::create(b, lhs, rhs);
  }
  Value neg(Value value) { return mlir::arith::NegFOp::create(b, value); }
  Value abs(Value value) { return mlir::math::AbsFOp::create(b, value); }
  Value sqrt(Value value) { return mlir::math::SqrtOp::create(b, value); }
  Value pow(Value base, Value exponent) {
    return mlir::math::PowFOp::create(b, base, exponent);
  }
  Value select(Value condition, Value yes, Value no) {
    return mlir::arith::SelectOp::create(b, condition, yes, no);
  }
  Value compare(mlir::arith::CmpFPredicate predicate, Value lhs, Value rhs) {
    return mlir::arith::CmpFOp::create(b, predicate, lhs, rhs);
  }

  /// `parameter + weight * direction`.
  Value addScaled(Value parameter, Value weight, Value direction) {
    return add(parameter, mul(weight, direction));
  }
  /// As `addcdiv`: `parameter + weight * numerator / denominator`.
  Value addDivided(Value parameter, Value weight, Value numerator,
                   Value denominator) {
    return add(parameter, div(mul(weight, numerator), denominator));
  }
  /// As `lerp`: from the end that is nearer, so that a weight of 1 gives `to`.
  Value lerp(Value from, Value to, double weight);
  /// `old * weight + (1 - weight) * value * value`.
  Value averageSquare(Value old, double weight, Value value);
  /// `1 - beta^step`.
  Value getBiasCorrection(double beta, Value step);

private:
  mlir::ImplicitLocOpBuilder &b;
  mlir::Type type;
};

} // namespace update
} // namespace regather::tg

#endif // REGATHER_LIB_DIALECT_TG_TRANSFORMS_FLOATMATH_H
