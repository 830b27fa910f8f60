//===- ElementMath.h - Arithmetic on single elements ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations on scalars that choose between their float and integer form. The
// operands of one operation have the same type, i1 being logical.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_CONVERSION_TGNODESTOLINALG_ELEMENTMATH_H
#define REGATHER_LIB_CONVERSION_TGNODESTOLINALG_ELEMENTMATH_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace regather::nodes {

using B = mlir::ImplicitLocOpBuilder;

/// The type that pointwise arithmetic on `element` is carried out in.
mlir::Type getComputeType(mlir::Type element);

/// `number` as an element of type `type`; a float given for an integer type is
/// truncated, one given for i1 compared with zero.
mlir::TypedAttr makeNumber(mlir::Type type, double number);
mlir::TypedAttr makeNumber(mlir::Type type, int64_t number);
mlir::TypedAttr makeNumber(mlir::Type type, mlir::TypedAttr number);

/// The smallest (for a float, -inf) and largest value of a type.
mlir::TypedAttr makeLowest(mlir::Type type);
mlir::TypedAttr makeHighest(mlir::Type type);

mlir::Value makeConstant(B &b, mlir::Type type, double number);
mlir::Value makeConstant(B &b, mlir::Type type, mlir::TypedAttr number);

/// Converts as the framework's casts do: to i1 by comparison with zero, from
/// float to integer by truncation.
mlir::Value convertElement(B &b, mlir::Value value, mlir::Type type);

mlir::Value add(B &b, mlir::Value lhs, mlir::Value rhs);
mlir::Value sub(B &b, mlir::Value lhs, mlir::Value rhs);
mlir::Value mul(B &b, mlir::Value lhs, mlir::Value rhs);
/// Of integers, rounds towards zero.
mlir::Value div(B &b, mlir::Value lhs, mlir::Value rhs);
mlir::Value neg(B &b, mlir::Value value);
/// A NaN operand is the result.
mlir::Value maximum(B &b, mlir::Value lhs, mlir::Value rhs);
mlir::Value minimum(B &b, mlir::Value lhs, mlir::Value rhs);

enum class Relation { Eq, Ne, Lt, Le, Gt, Ge };
/// Ordered, except that NaN is not equal to anything.
mlir::Value compare(B &b, Relation relation, mlir::Value lhs, mlir::Value rhs);

/// 1 / (1 + exp(-x)).
mlir::Value sigmoid(B &b, mlir::Value x);

} // namespace regather::nodes

#endif // REGATHER_LIB_CONVERSION_TGNODESTOLINALG_ELEMENTMATH_H
