//===- Losses.cpp - Expansions of losses ----------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeBuilder.h"
#include "StructuredOps.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather::nodes;

namespace {
/// The arguments that both directions of the negative log likelihood share.
struct LikelihoodArguments {
  Tensor self, target, weight;
  int64_t reduction = 0, ignored = 0, rows = 0, classes = 0;
  Type compute;
};
enum LossReduction { None, Mean, Sum };
} // namespace

static FailureOr<LikelihoodArguments>
getLikelihoodArguments(NodeArguments &args, B &b) {
  LikelihoodArguments a;
  a.self = args.getTensor("self");
  a.target = args.getTensor("target");
  a.weight = args.getOptionalTensor("weight");
  a.reduction = args.getInt("reduction");
  a.ignored = args.getInt("ignore_index");
  if (failed(args.expectIndices("target", a.target)))
    return failure();
  RankedTensorType type = a.self.getType();
  if (a.reduction < None || a.reduction > Sum)
    return args.fail("reduction",
                     "must be 0, 1 or 2, got " + Twine(a.reduction));
  if (type.getRank() < 1 || type.getRank() > 2)
    return args.expectRank("self", a.self, 2);
  if (!isa<FloatType>(type.getElementType()))
    return args.fail("self", "must hold floats");
  if (failed(args.expectShape("target", a.target, type.getShape().drop_back())))
    return failure();
  a.classes = type.getShape().back();
  if (a.weight && failed(args.expectShape("weight", a.weight, a.classes)))
    return failure();
  a.rows = a.target.getType().getNumElements();
  a.compute = getComputeType(type.getElementType());
  a.self = reshape(b, a.self, {a.rows, a.classes});
  a.target = reshape(b, a.target, a.rows);
  return a;
}

namespace {
/// The class of a row and its weight; both are 0 for a row that is ignored.
struct RowClass {
  Value index, weight;
};
} // namespace

static RowClass getRowClass(B &b, const LikelihoodArguments &a, Value target) {
  target = convertElement(b, target, b.getI64Type());
  Value ignored = arith::ConstantOp::create(b, b.getI64IntegerAttr(a.ignored));
  Value isIgnored = compare(b, Relation::Eq, target, ignored);
  Value first = makeConstant(b, b.getI64Type(), 0.0);
  Value index = arith::SelectOp::create(b, isIgnored, first, target);
  index = arith::IndexCastOp::create(b, b.getIndexType(), index);
  Value weight = makeConstant(b, a.compute, 1.0);
  if (a.weight)
    weight = convertElement(b, tensor::ExtractOp::create(b, a.weight, index),
                            a.compute);
  weight = arith::SelectOp::create(b, isIgnored,
                                   makeConstant(b, a.compute, 0.0), weight);
  return {index, weight};
}

/// Each row loses -weight * self[row, class]. The mean divides by the sum of
/// weights, which is the second result (0 without a reduction).
static LogicalResult buildForward(NodeArguments &args, NodeBuilder &b) {
  FailureOr<LikelihoodArguments> a = getLikelihoodArguments(args, b);
  if (failed(a))
    return failure();
  Tensor losses = pointwise(
      b, a->rows, a->compute, a->target, [&](B &b, ValueRange v) -> Value {
        RowClass row = getRowClass(b, *a, v[0]);
        Value position[] = {linalg::IndexOp::create(b, 0), row.index};
        Value value = convertElement(
            b, tensor::ExtractOp::create(b, a->self, position), a->compute);
        // An infinite value of an ignored row must not turn into a NaN.
        Value isZero = compare(b, Relation::Eq, row.weight,
                               makeConstant(b, a->compute, 0.0));
        Value loss = neg(b, mul(b, row.weight, value));
        return arith::SelectOp::create(b, isZero,
                                       makeConstant(b, a->compute, 0.0), loss);
      });
  Type totalElement = b.getElement(1);
  if (a->reduction == None) {
    Tensor zero = fill(b, {}, makeNumber(totalElement, 0.0));
    if (b.getResultType().getNumElements() != a->rows)
      return args.fail("gives one loss for each row");
    losses = convertTensor(b, losses, b.getElement());
    return b.finish({reshape(b, losses, b.getShape()), zero});
  }
  Tensor weights =
      pointwise(b, a->rows, a->compute, a->target, [&](B &b, ValueRange v) {
        return getRowClass(b, *a, v[0]).weight;
      });
  Tensor sum = reshape(b, reduceSum(b, losses, 0), {});
  Tensor total = reshape(b, reduceSum(b, weights, 0), {});
  if (a->reduction == Mean)
    sum = pointwise(b, {}, a->compute, {sum, total},
                    [](B &b, ValueRange v) { return div(b, v[0], v[1]); });
  return b.finish({convertTensor(b, sum, b.getElement()),
                   convertTensor(b, total, totalElement)});
}

static LogicalResult buildLikelihoodBackward(NodeArguments &args,
                                             NodeBuilder &b) {
  Tensor grad = args.getTensor("grad_output");
  Tensor total = args.getTensor("total_weight");
  if (args.hasFailed() || failed(args.expectShape("total_weight", total, {})))
    return failure();
  SmallVector<int64_t> shape;
  if (Tensor self = args.getTensor("self"))
    llvm::append_range(shape, self.getType().getShape());
  FailureOr<LikelihoodArguments> a = getLikelihoodArguments(args, b);
  if (failed(a))
    return failure();
  int64_t count = a->reduction == None ? a->rows : 1;
  if (grad.getType().getNumElements() != count)
    return args.fail("grad_output", "must have " + Twine(count) + " elements");
  grad = reshape(b, grad, {count, 1});
  total = reshape(b, total, {1, 1});
  Tensor target = reshape(b, a->target, {a->rows, 1});
  Tensor result = pointwise(
      b, {a->rows, a->classes}, b.getElement(), {grad, total, target},
      [&](B &b, ValueRange v) -> Value {
        RowClass row = getRowClass(b, *a, v[2]);
        Value value =
            mul(b, neg(b, row.weight), convertElement(b, v[0], a->compute));
        if (a->reduction == Mean)
          value = div(b, value, convertElement(b, v[1], a->compute));
        Value zero = makeConstant(b, a->compute, 0.0);
        Value isClass =
            arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                  linalg::IndexOp::create(b, 1), row.index);
        Value isCounted = compare(b, Relation::Ne, row.weight, zero);
        return arith::SelectOp::create(b, mul(b, isClass, isCounted), value,
                                       zero);
      });
  return b.finish(reshape(b, result, shape));
}

void regather::nodes::addLossBuilders(BuilderTable &table) {
  table.add(Operator::AtenNllLossBackward, buildLikelihoodBackward);
  table.add(Operator::AtenNllLossForward, buildForward);
}
