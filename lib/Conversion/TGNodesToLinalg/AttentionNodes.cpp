//===- AttentionNodes.cpp - Expansions of scaled-dot-product attention ----===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Heads of the query form groups that share one head of the key:
//
//   scores[b, h, g, i, j] = scale * sum_e query[b, h, g, i, e] * key[b, h, j,
//   e]
//
// bounded, masked, then a softmax along j gives the probabilities. The
// decomposition holds all scores at once.
//
//===----------------------------------------------------------------------===//

#include "NodeBuilder.h"
#include "StructuredOps.h"

#include "regather/Dialect/TG/Nodes/AttentionTargets.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace regather::nodes;

namespace {
struct AttentionArguments {
  /// The query has five dimensions: batch, head of the key, group, row,
  /// element; key and value have no group.
  Tensor query, key, value;
  /// With as many dimensions as the scores, or null.
  Tensor mask;
  bool isCausal = false;
  double scale = 1;
  std::optional<double> softcap;
  Type compute;
  /// Sizes: batch, heads of the key, groups, rows, columns, and the widths of
  /// query and value.
  int64_t batch = 0, heads = 0, groups = 0, rows = 0, columns = 0, width = 0,
          valueWidth = 0;

  SmallVector<int64_t> getScoreShape() const {
    return {batch, heads, groups, rows, columns};
  }
  /// `tensor` with the query's heads in groups.
  Tensor group(B &b, Tensor tensor) const {
    SmallVector<int64_t> shape = {batch, heads, groups, rows};
    shape.push_back(tensor.getType().getShape().back());
    return reshape(b, tensor, shape);
  }
};
} // namespace

/// Gives the mask the dimensions of the scores, some of size 1.
static LogicalResult groupMask(NodeArguments &args, B &b,
                               AttentionArguments &a) {
  int64_t queryHeads = a.heads * a.groups;
  if (failed(args.expectBroadcast(a.mask,
                                  {a.batch, queryHeads, a.rows, a.columns})))
    return failure();
  SmallVector<int64_t> shape(a.mask.getType().getShape());
  shape.insert(shape.begin(), 4 - shape.size(), 1);
  bool isPerHead = shape[1] != 1;
  shape[1] = isPerHead ? a.groups : 1;
  shape.insert(shape.begin() + 1, isPerHead ? a.heads : 1);
  a.mask = reshape(b, a.mask, shape);
  return success();
}

static FailureOr<AttentionArguments> getAttentionArguments(NodeArguments &args,
                                                           B &b) {
  AttentionArguments a;
  a.query = args.getTensor("query");
  a.key = args.getTensor("key");
  a.value = args.getTensor("value");
  a.mask = args.getOptionalTensor("attn_mask");
  a.isCausal = args.getBool("is_causal", false);
  if (args.getFloat("dropout_p", 0.0) != 0)
    return args.fail("dropout_p", "must be 0");
  if (failed(args.expectRank("query", a.query, 4)) ||
      failed(args.expectRank("key", a.key, 4)) ||
      failed(args.expectRank("value", a.value, 4)))
    return failure();
  RankedTensorType query = a.query.getType(), key = a.key.getType();
  a.batch = query.getDimSize(0);
  a.heads = key.getDimSize(1);
  a.rows = query.getDimSize(2);
  a.columns = key.getDimSize(2);
  a.width = query.getDimSize(3);
  a.valueWidth = a.value.getType().getDimSize(3);
  int64_t queryHeads = query.getDimSize(1);
  if (a.heads == 0 || queryHeads % a.heads != 0)
    return args.fail("key", "has " + Twine(a.heads) +
                                " heads, which do not divide the " +
                                Twine(queryHeads) + " of the query");
  a.groups = queryHeads / a.heads;
  if (failed(args.expectShape("key", a.key,
                              {a.batch, a.heads, a.columns, a.width})) ||
      failed(args.expectShape("value", a.value,
                              {a.batch, a.heads, a.columns, a.valueWidth})))
    return failure();
  if (!isa<FloatType>(query.getElementType()))
    return args.fail("query", "must hold floats");
  a.scale = args.getFloat("scale", 1 / std::sqrt(static_cast<double>(a.width)));
  a.softcap = regather::tg::getSoftcap(args);
  if (args.hasFailed() || (a.mask && failed(groupMask(args, b, a))))
    return failure();
  a.compute = getComputeType(query.getElementType());
  a.query = a.group(b, a.query);
  return a;
}

static Tensor multiplyKeys(B &b, const AttentionArguments &a) {
  return contract(b, a.query, {0, 1, 2, 3, 5}, a.key, {0, 1, 4, 5},
                  {a.batch, a.heads, a.groups, a.rows, a.columns, a.width});
}

/// tanh(scale / softcap * products).
static Tensor makeTangents(B &b, const AttentionArguments &a, Tensor products) {
  return pointwise(
      b, a.getScoreShape(), a.compute, {products}, [&](B &b, ValueRange v) {
        Value factor = makeConstant(b, a.compute, a.scale / *a.softcap);
        return Value(math::TanhOp::create(b, mul(b, v[0], factor)));
      });
}

/// The scores, scaled, bounded and masked with -inf. `products` are those of
/// query and key, or, if scores are bounded, what the tangents are.
static Tensor makeScores(B &b, const AttentionArguments &a, Tensor products) {
  SmallVector<Tensor> tensors = {products};
  if (a.mask)
    tensors.push_back(a.mask);
  return pointwise(
      b, a.getScoreShape(), a.compute, tensors, [&](B &b, ValueRange v) {
        double factor = a.softcap.value_or(a.scale);
        Value score = mul(b, v[0], makeConstant(b, a.compute, factor));
        Value lowest = arith::ConstantOp::create(b, makeLowest(a.compute));
        if (a.mask && v[1].getType().isInteger(1))
          score = arith::SelectOp::create(b, v[1], score, lowest);
        else if (a.mask)
          score = add(b, score, convertElement(b, v[1], a.compute));
        if (!a.isCausal)
          return score;
        Value isLater = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt,
                                              linalg::IndexOp::create(b, 4),
                                              linalg::IndexOp::create(b, 3));
        return Value(arith::SelectOp::create(b, isLater, lowest, score));
      });
}

/// The number that is subtracted from a row before the exponential: `shift`, or
/// 0 for a row that is masked as a whole, because -inf - -inf would be NaN.
static Value getFiniteShift(B &b, Value shift) {
  Value lowest = arith::ConstantOp::create(b, makeLowest(shift.getType()));
  Value isMasked = compare(b, Relation::Eq, shift, lowest);
  return arith::SelectOp::create(b, isMasked,
                                 makeConstant(b, shift.getType(), 0.0), shift);
}

static Tensor makePowers(B &b, const AttentionArguments &a, Tensor scores,
                         Tensor shift) {
  return pointwise(b, a.getScoreShape(), a.compute, {scores, shift},
                   [](B &b, ValueRange v) -> Value {
                     Value finite = getFiniteShift(b, v[1]);
                     return math::ExpOp::create(b, sub(b, v[0], finite));
                   });
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// Result 0 is the output, result 1, if the node has one, the logarithm of the
/// sum of the exponentials of each row.
static LogicalResult buildAttention(NodeArguments &args, NodeBuilder &b) {
  FailureOr<AttentionArguments> a = getAttentionArguments(args, b);
  if (failed(a))
    return failure();
  Tensor products = multiplyKeys(b, *a);
  if (a->softcap)
    products = makeTangents(b, *a, products);
  Tensor scores = makeScores(b, *a, products);
  Tensor max = reduceMax(b, scores, 4);
  Tensor powers = makePowers(b, *a, scores, max);
  Tensor sum = reduceSum(b, powers, 4);
  Tensor weighted = contract(
      b, powers, {0, 1, 2, 3, 5}, a->value, {0, 1, 5, 4},
      {a->batch, a->heads, a->groups, a->rows, a->valueWidth, a->columns});
  // Dividing the output instead of the probabilities rounds less often, and
  // divides fewer numbers.
  Tensor output = pointwise(
      b, weighted.getType().getShape(), b.getElement(0), {weighted, sum},
      [&](B &b, ValueRange v) -> Value {
        Value zero = makeConstant(b, a->compute, 0.0);
        Value isMasked = compare(b, Relation::Eq, v[1], zero);
        return arith::SelectOp::create(b, isMasked, zero, div(b, v[0], v[1]));
      });
  int64_t queryHeads = a->heads * a->groups;
  SmallVector<Value> results = {
      reshape(b, output, {a->batch, queryHeads, a->rows, a->valueWidth})};
  if (args.getNode().getNumResults() > 1) {
    Tensor logs = pointwise(b, sum.getType().getShape(), b.getElement(1),
                            {sum, max}, [](B &b, ValueRange v) {
                              return add(b, math::LogOp::create(b, v[0]), v[1]);
                            });
    results.push_back(reshape(b, logs, {a->batch, queryHeads, a->rows}));
  }
  return b.finish(results);
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

// With p the probabilities and g the gradient of the output,
//
//   value:  sum over groups and rows of p * g
//   mask:   p * (g . value - g . output), which may be summed over the batch
//   scores: that times the scale and, with a bound, 1 - tangent^2
//   query:  scores . key
//   key:    sum over groups and rows of scores * query

/// Logarithms that are at least so large, of either sign, have lost the sum of
/// the exponentials to rounding.
static constexpr double kLargeLogarithm = 4096;

/// Divides the rows whose logarithms are large by their sums: a mask has hidden
/// all of such a row by a finite number.
static Tensor normalizeHidden(B &b, const AttentionArguments &a, Tensor powers,
                              Tensor logs) {
  Tensor sum = reduceSum(b, powers, 4);
  return pointwise(b, a.getScoreShape(), a.compute, {powers, sum, logs},
                   [&](B &b, ValueRange v) -> Value {
                     Value limit = makeConstant(b, a.compute, kLargeLogarithm);
                     Value size = math::AbsFOp::create(b, v[2]);
                     Value isLarge = compare(b, Relation::Ge, size, limit);
                     // What is hidden by minus infinity is all zero.
                     Value isNone = compare(b, Relation::Eq, v[1],
                                            makeConstant(b, a.compute, 0.0));
                     Value one = makeConstant(b, a.compute, 1.0);
                     Value divisor =
                         arith::SelectOp::create(b, isLarge, v[1], one);
                     divisor = arith::SelectOp::create(b, isNone, one, divisor);
                     return div(b, v[0], divisor);
                   });
}

static LogicalResult buildAttentionBackward(NodeArguments &args,
                                            NodeBuilder &b) {
  FailureOr<AttentionArguments> a = getAttentionArguments(args, b);
  Tensor grad = args.getTensor("grad_out"), output = args.getTensor("out");
  Tensor logs = args.getTensor("logsumexp");
  if (failed(a) || args.hasFailed())
    return failure();
  bool hasGradMask = args.getNode().getNumResults() > 3;
  bool isFloatMask =
      a->mask && isa<FloatType>(a->mask.getType().getElementType());
  if (hasGradMask && !isFloatMask)
    return args.fail("attn_mask", "must be a tensor of floats, of which there "
                                  "is a gradient");
  int64_t queryHeads = a->heads * a->groups;
  SmallVector<int64_t> shape = {a->batch, queryHeads, a->rows, a->valueWidth};
  if (failed(args.expectShape("grad_out", grad, shape)) ||
      failed(args.expectShape("out", output, shape)) ||
      failed(args.expectShape("logsumexp", logs, ArrayRef(shape).drop_back())))
    return failure();
  grad = a->group(b, grad);
  output = a->group(b, output);
  logs = a->group(b, reshape(b, logs, {a->batch, queryHeads, a->rows, 1}));
  logs = convertTensor(b, logs, a->compute);

  Tensor products = multiplyKeys(b, *a);
  if (a->softcap)
    products = makeTangents(b, *a, products);
  Tensor powers = makePowers(b, *a, makeScores(b, *a, products), logs);
  if (isFloatMask)
    powers = normalizeHidden(b, *a, powers, logs);
  Tensor outputs =
      pointwise(b, grad.getType().getShape(), a->compute, {grad, output},
                [&](B &b, ValueRange v) {
                  return mul(b, convertElement(b, v[0], a->compute),
                             convertElement(b, v[1], a->compute));
                });
  Tensor along = reduceSum(b, outputs, 4);
  Tensor gradPowers = contract(
      b, grad, {0, 1, 2, 3, 5}, a->value, {0, 1, 4, 5},
      {a->batch, a->heads, a->groups, a->rows, a->columns, a->valueWidth});
  SmallVector<Tensor> tensors = {powers, gradPowers, along};
  if (a->softcap)
    tensors.push_back(products);
  Tensor gradScores = pointwise(
      b, a->getScoreShape(), a->compute, tensors, [&](B &b, ValueRange v) {
        Value value = mul(b, v[0], sub(b, v[1], v[2]));
        value = mul(b, value, makeConstant(b, a->compute, a->scale));
        if (!a->softcap)
          return value;
        Value one = makeConstant(b, a->compute, 1.0);
        return mul(b, value, sub(b, one, mul(b, v[3], v[3])));
      });

  Tensor gradQuery =
      contract(b, gradScores, {0, 1, 2, 3, 5}, a->key, {0, 1, 5, 4},
               {a->batch, a->heads, a->groups, a->rows, a->width, a->columns});
  gradQuery = reshape(b, gradQuery, {a->batch, queryHeads, a->rows, a->width});
  // Loops: batch, head, column, element; then group and row, which are summed.
  auto sumOverRows = [&](Tensor lhs, Tensor rhs, int64_t width) {
    return contract(b, lhs, {0, 1, 4, 5, 2}, rhs, {0, 1, 4, 5, 3},
                    {a->batch, a->heads, a->columns, width, a->groups, a->rows},
                    2);
  };
  Tensor gradKey = sumOverRows(gradScores, a->query, a->width);
  Tensor gradValue = sumOverRows(powers, grad, a->valueWidth);
  SmallVector<Value> results = {convertTensor(b, gradQuery, b.getElement(0)),
                                convertTensor(b, gradKey, b.getElement(1)),
                                convertTensor(b, gradValue, b.getElement(2))};
  if (hasGradMask) {
    Tensor gradMasks = pointwise(
        b, a->getScoreShape(), a->compute, {powers, gradPowers, along},
        [&](B &b, ValueRange v) { return mul(b, v[0], sub(b, v[1], v[2])); });
    auto type = cast<RankedTensorType>(args.getNode().getResult(3).getType());
    bool isSum = type.getRank() == 4 && type.getDimSize(0) == 1;
    Tensor gradMask = isSum ? reduceSum(b, gradMasks, 0) : gradMasks;
    gradMask = reshape(b, gradMask,
                       {isSum ? 1 : a->batch, queryHeads, a->rows, a->columns});
    results.push_back(convertTensor(b, gradMask, b.getElement(3)));
  }
  return b.finish(results);
}

void regather::nodes::addAttentionBuilders(BuilderTable &table) {
  table.add({Operator::AtenScaledDotProductAttention,
             Operator::AtenScaledDotProductFlashAttentionForCpu,
             Operator::RegatherAttention},
            buildAttention);
  table.add({Operator::AtenScaledDotProductFlashAttentionForCpuBackward,
             Operator::RegatherAttentionBackward,
             Operator::RegatherBiasedAttentionBackward},
            buildAttentionBackward);
}
