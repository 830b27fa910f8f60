//===- DoubleTruncation.cpp - f64 to narrow floats with one rounding ------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DoubleTruncation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

// To round to f32 first would round twice: an inexact f32 is moved to its
// neighbour towards zero and made odd, so that it cannot look like a tie.
// Source: Boldo and Melquiond, "Emulation of FMA and correctly rounded sums:
// proved algorithms using rounding to odd", 2008.
Value regather::kernel::truncateDouble(ImplicitLocOpBuilder &b, Value value,
                                       Type type) {
  Value narrow = arith::TruncFOp::create(b, b.getF32Type(), value);
  Value back = arith::ExtFOp::create(b, b.getF64Type(), narrow);
  Value isInexact =
      arith::CmpFOp::create(b, arith::CmpFPredicate::ONE, back, value);
  Value isAbove = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT,
                                        math::AbsFOp::create(b, back),
                                        math::AbsFOp::create(b, value));
  Value one = arith::ConstantIntOp::create(b, 1, 32);
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), narrow);
  Value below = arith::SubIOp::create(b, bits, one);
  Value truncated = arith::SelectOp::create(b, isAbove, below, bits);
  Value odd = arith::OrIOp::create(b, truncated, one);
  Value chosen = arith::SelectOp::create(b, isInexact, odd, bits);
  return arith::TruncFOp::create(
      b, type, arith::BitcastOp::create(b, b.getF32Type(), chosen));
}
