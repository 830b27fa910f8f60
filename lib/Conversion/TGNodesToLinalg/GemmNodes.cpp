//===- GemmNodes.cpp - Expansions of GEMMs --------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeBuilder.h"
#include "StructuredOps.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace regather::nodes;

/// The GEMM in the accumulation type; null after an error. Both operands
/// have `rank` dimensions, the first of three being the batch.
static Tensor multiply(NodeArguments &args, NodeBuilder &b, StringRef lhsName,
                       StringRef rhsName, int64_t rank) {
  Tensor lhs = args.getTensor(lhsName), rhs = args.getTensor(rhsName);
  if (failed(args.expectRank(lhsName, lhs, rank)) ||
      failed(args.expectRank(rhsName, rhs, rank)))
    return nullptr;
  ArrayRef<int64_t> left = lhs.getType().getShape();
  SmallVector<int64_t> right(rhs.getType().getShape()), shape(left);
  shape.back() = right.back();
  right[rank - 2] = left.back();
  if (rank == 3)
    right[0] = left[0];
  if (failed(args.expectShape(rhsName, rhs, right)))
    return nullptr;
  Type element = lhs.getType().getElementType();
  if (rhs.getType().getElementType() != element || element.isInteger(1)) {
    (void)args.fail("expects two matrices with the same type of numbers");
    return nullptr;
  }
  Value zero = fill(b, shape, makeNumber(getComputeType(element), 0.0));
  Value inputs[] = {lhs, rhs};
  Operation *matmul =
      rank == 2 ? linalg::MatmulOp::create(b, zero.getType(),
                                           ValueRange(inputs), zero)
                      .getOperation()
                : linalg::BatchMatmulOp::create(b, zero.getType(),
                                                ValueRange(inputs), zero)
                      .getOperation();
  return cast<Tensor>(matmul->getResult(0));
}

static LogicalResult buildMm(NodeArguments &args, NodeBuilder &b) {
  Tensor matmul = multiply(args, b, "self", "mat2", 2);
  return matmul ? b.finish(convertTensor(b, matmul, b.getElement()))
                : failure();
}

static LogicalResult buildBmm(NodeArguments &args, NodeBuilder &b) {
  Tensor matmul = multiply(args, b, "self", "mat2", 3);
  return matmul ? b.finish(convertTensor(b, matmul, b.getElement()))
                : failure();
}

/// beta * self + alpha * matmul, rounded once. With beta = 0, PyTorch does not
/// read self, so that a NaN in it does not spread.
static LogicalResult finishWithAddend(NodeArguments &args, NodeBuilder &b,
                                      Tensor matmul) {
  Tensor self = args.getTensor("self");
  TypedAttr beta = args.getNumber("beta", 1);
  TypedAttr alpha = args.getNumber("alpha", 1);
  if (!matmul || args.hasFailed() ||
      failed(args.expectBroadcast({self, matmul}, b.getShape())))
    return failure();
  Type compute = matmul.getType().getElementType();
  auto scale = [&](B &b, Value value, TypedAttr factor) {
    if (makeNumber(compute, factor) == makeNumber(compute, 1.0))
      return value;
    return mul(b, makeConstant(b, compute, factor), value);
  };
  bool hasAddend = makeNumber(compute, beta) != makeNumber(compute, 0.0);
  SmallVector<Tensor> tensors = {matmul};
  if (hasAddend)
    tensors.push_back(self);
  return b.finish(pointwise(
      b, b.getShape(), b.getElement(), tensors, [&](B &b, ValueRange v) {
        Value value = scale(b, v[0], alpha);
        if (!hasAddend)
          return value;
        return add(b, scale(b, convertElement(b, v[1], compute), beta), value);
      }));
}

static LogicalResult buildAddmm(NodeArguments &args, NodeBuilder &b) {
  return finishWithAddend(args, b, multiply(args, b, "mat1", "mat2", 2));
}

static LogicalResult buildBaddbmm(NodeArguments &args, NodeBuilder &b) {
  return finishWithAddend(args, b, multiply(args, b, "batch1", "batch2", 3));
}

void regather::nodes::addGemmBuilders(BuilderTable &table) {
  table.add(Operator::AtenAddmm, buildAddmm);
  table.add(Operator::AtenBaddbmm, buildBaddbmm);
  table.add(Operator::AtenBmm, buildBmm);
  table.add(Operator::AtenMm, buildMm);
}
