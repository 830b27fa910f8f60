//===- KnownAlignment.cpp - What is known of addresses --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KnownAlignment.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;
using namespace regather;

/// How deep sums and products are followed.
static constexpr unsigned kMaxDepth = 8;

/// A number that divides an index; 0 if the index is 0.
static int64_t getKnownDivisor(Value index, unsigned depth = 0) {
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  if (depth == kMaxDepth)
    return 1;
  auto divide = [&](Value operand) {
    return getKnownDivisor(operand, depth + 1);
  };
  if (auto mul = index.getDefiningOp<arith::MulIOp>())
    return divide(mul.getLhs()) * divide(mul.getRhs());
  if (auto add = index.getDefiningOp<arith::AddIOp>())
    return std::gcd(divide(add.getLhs()), divide(add.getRhs()));
  return 1;
}

/// A number that divides the distance, in elements, of a view from its source.
static int64_t getKnownDistance(memref::SubViewOp op) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(op.getSourceType().getStridesAndOffset(strides, offset)))
    return 1;
  int64_t divisor = 0;
  for (auto [start, stride] : llvm::zip_equal(op.getMixedOffsets(), strides)) {
    if (ShapedType::isDynamic(stride))
      return 1;
    auto value = dyn_cast<Value>(start);
    int64_t steps = value ? getKnownDivisor(value)
                          : cast<IntegerAttr>(cast<Attribute>(start)).getInt();
    divisor = std::gcd(divisor, steps * stride);
  }
  return divisor;
}

int64_t nvptx::getKnownAlignment(Value buffer) {
  int64_t alignment = kBufferAlignment;
  while (Operation *def = buffer.getDefiningOp()) {
    auto type = cast<MemRefType>(buffer.getType());
    int64_t bytes = type.getElementType().isIntOrFloat()
                        ? llvm::divideCeil(type.getElementTypeBitWidth(), 8)
                        : 1;
    if (auto view = dyn_cast<memref::ViewOp>(def)) {
      alignment = std::gcd(alignment, getKnownDivisor(view.getByteShift()));
      buffer = view.getSource();
    } else if (auto view = dyn_cast<memref::SubViewOp>(def)) {
      alignment = std::gcd(alignment, getKnownDistance(view) * bytes);
      buffer = view.getSource();
    } else if (auto cast = dyn_cast<memref::ReinterpretCastOp>(def);
               cast && cast.getStaticOffsets() == ArrayRef<int64_t>{0}) {
      buffer = cast.getSource();
    } else if (isa<memref::CastOp, memref::CollapseShapeOp,
                   memref::ExpandShapeOp, memref::MemorySpaceCastOp>(def)) {
      buffer = def->getOperand(0);
    } else {
      return bytes;
    }
  }
  return alignment;
}
