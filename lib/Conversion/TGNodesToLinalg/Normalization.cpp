//===- Normalization.cpp - Expansions of layer and RMS norms --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeBuilder.h"
#include "StructuredOps.h"

using namespace mlir;
using namespace regather::nodes;

namespace {
/// The arguments that all norms share.
struct NormArguments {
  Tensor input, weight;
  Type compute;
  /// Of the input, and its part that is normalized.
  SmallVector<int64_t> shape, normalized;
  /// Dimensions that are normalized, and those that are not.
  SmallVector<int64_t> inner, outer;
  double count = 1;
};
} // namespace

static FailureOr<NormArguments> getArguments(NodeArguments &args) {
  NormArguments a;
  a.input = args.getTensor("input");
  a.weight = args.getOptionalTensor("weight");
  a.normalized = args.getInts("normalized_shape");
  if (args.hasFailed())
    return failure();
  RankedTensorType type = a.input.getType();
  a.shape.assign(type.getShape().begin(), type.getShape().end());
  ArrayRef<int64_t> shape(a.shape);
  if (a.normalized.size() > shape.size() ||
      shape.take_back(a.normalized.size()) != ArrayRef(a.normalized))
    return args.fail("normalized_shape",
                     "must be the end of the input's shape");
  if (!isa<FloatType>(type.getElementType()))
    return args.fail("input", "must hold floats");
  if (a.weight && failed(args.expectShape("weight", a.weight, a.normalized)))
    return failure();
  int64_t numOuter = shape.size() - a.normalized.size();
  for (auto [dim, size] : llvm::enumerate(shape)) {
    bool isOuter = static_cast<int64_t>(dim) < numOuter;
    (isOuter ? a.outer : a.inner).push_back(dim);
    a.count *= isOuter ? 1.0 : static_cast<double>(size);
  }
  a.compute = getComputeType(type.getElementType());
  return a;
}

/// Mean along the normalized dimensions of what `fn` computes from `tensors`.
static Tensor makeMean(B &b, const NormArguments &a, ArrayRef<Tensor> tensors,
                       ElementFn fn) {
  Tensor values = pointwise(b, a.shape, a.compute, tensors, fn);
  Tensor sum = reduceSum(b, values, a.inner);
  return pointwise(b, sum.getType().getShape(), a.compute, sum,
                   [&](B &b, ValueRange v) {
                     return div(b, v[0], makeConstant(b, a.compute, a.count));
                   });
}

/// 1 / sqrt(x + eps).
static Tensor makeInverseRoot(B &b, const NormArguments &a, Tensor tensor,
                              double eps) {
  return pointwise(b, tensor.getType().getShape(), a.compute, tensor,
                   [&](B &b, ValueRange v) -> Value {
                     Value sum = add(b, v[0], makeConstant(b, a.compute, eps));
                     return math::RsqrtOp::create(b, sum);
                   });
}

/// The result's type decides whether a statistic is kept, and how precisely.
static Value finishStatistic(NodeBuilder &b, Tensor tensor, unsigned result) {
  RankedTensorType type = b.getResultType(result);
  return type ? convertTensor(b, tensor, type.getElementType()) : Value();
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

static LogicalResult buildLayerNorm(NodeArguments &args, NodeBuilder &b) {
  FailureOr<NormArguments> a = getArguments(args);
  Tensor bias = args.getOptionalTensor("bias");
  double eps = args.getFloat("eps");
  if (failed(a) || args.hasFailed() ||
      (bias && failed(args.expectShape("bias", bias, a->normalized))))
    return failure();
  Type compute = a->compute;
  Tensor mean = makeMean(b, *a, a->input, [&](B &b, ValueRange v) {
    return convertElement(b, v[0], compute);
  });
  Tensor variance = makeMean(b, *a, {a->input, mean}, [&](B &b, ValueRange v) {
    Value distance = sub(b, convertElement(b, v[0], compute), v[1]);
    return mul(b, distance, distance);
  });
  Tensor rstd = makeInverseRoot(b, *a, variance, eps);
  SmallVector<Tensor> tensors = {a->input, mean, rstd};
  if (a->weight)
    tensors.push_back(a->weight);
  if (bias)
    tensors.push_back(bias);
  Tensor output =
      pointwise(b, a->shape, a->input.getType().getElementType(), tensors,
                [&](B &b, ValueRange v) {
                  Value x = convertElement(b, v[0], compute);
                  Value value = mul(b, sub(b, x, v[1]), v[2]);
                  if (a->weight)
                    value = mul(b, value, convertElement(b, v[3], compute));
                  if (bias)
                    value = add(b, value, convertElement(b, v.back(), compute));
                  return value;
                });
  return b.finish(
      {output, finishStatistic(b, mean, 1), finishStatistic(b, rstd, 2)});
}

static LogicalResult buildRmsNorm(NodeArguments &args, NodeBuilder &b) {
  FailureOr<NormArguments> a = getArguments(args);
  if (failed(a))
    return failure();
  Type compute = a->compute;
  // The default of eps is the distance from 1 to the next number.
  double eps = args.getFloat("eps", compute.isF64() ? 0x1p-52 : 0x1p-23);
  if (args.hasFailed())
    return failure();
  Tensor square = makeMean(b, *a, a->input, [&](B &b, ValueRange v) {
    Value x = convertElement(b, v[0], compute);
    return mul(b, x, x);
  });
  Tensor rstd = makeInverseRoot(b, *a, square, eps);
  SmallVector<Tensor> tensors = {a->input, rstd};
  if (a->weight)
    tensors.push_back(a->weight);
  Tensor output =
      pointwise(b, a->shape, a->input.getType().getElementType(), tensors,
                [&](B &b, ValueRange v) {
                  Value value = mul(b, convertElement(b, v[0], compute), v[1]);
                  if (a->weight)
                    value = mul(b, value, convertElement(b, v[2], compute));
                  return value;
                });
  return b.finish({output, finishStatistic(b, rstd, 1)});
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

// With y = (x - mean) * rstd the normalized input and g the gradient times the
// weight, the gradients are
//
//   input:  rstd * (g - mean(g) - y * mean(g * y)), without mean(g) for RMS
//   weight: sum over the outer dimensions of gradient * y
//   bias:   sum over the outer dimensions of gradient

template <bool HasMean>
static LogicalResult buildNormBackward(NodeArguments &args, NodeBuilder &b) {
  FailureOr<NormArguments> a = getArguments(args);
  Tensor grad = args.getTensor("grad_out"), rstd = args.getTensor("rstd");
  Tensor mean = HasMean ? args.getTensor("mean") : nullptr;
  if (failed(a) || failed(args.expectShape("grad_out", grad, a->shape)) ||
      failed(args.expectBroadcast({rstd, mean}, a->shape)))
    return failure();
  Type compute = a->compute;
  SmallVector<Tensor> inputs = {a->input, rstd};
  if (HasMean)
    inputs.push_back(mean);
  Tensor y = pointwise(b, a->shape, compute, inputs, [&](B &b, ValueRange v) {
    Value x = convertElement(b, v[0], compute);
    if (HasMean)
      x = sub(b, x, convertElement(b, v[2], compute));
    return mul(b, x, convertElement(b, v[1], compute));
  });
  SmallVector<Value> results(b.getResultType(0) ? 0 : 1);
  if (results.empty()) {
    SmallVector<Tensor> tensors = {grad};
    if (a->weight)
      tensors.push_back(a->weight);
    Tensor scaled =
        pointwise(b, a->shape, compute, tensors, [&](B &b, ValueRange v) {
          Value g = convertElement(b, v[0], compute);
          return a->weight ? mul(b, g, convertElement(b, v[1], compute)) : g;
        });
    Tensor along = makeMean(b, *a, {scaled, y}, [](B &b, ValueRange v) {
      return mul(b, v[0], v[1]);
    });
    tensors = {scaled, y, along, rstd};
    if (HasMean)
      tensors.push_back(
          makeMean(b, *a, scaled, [](B &, ValueRange v) { return v[0]; }));
    results.push_back(pointwise(
        b, a->shape, b.getElement(0), tensors, [&](B &b, ValueRange v) {
          Value value = sub(b, v[0], mul(b, v[1], v[2]));
          if (HasMean)
            value = sub(b, value, v[4]);
          return mul(b, convertElement(b, v[3], compute), value);
        }));
  }
  auto addSum = [&](unsigned result, ArrayRef<Tensor> tensors) {
    RankedTensorType type = b.getResultType(result);
    if (!type) {
      results.push_back({});
      return;
    }
    Tensor values =
        pointwise(b, a->shape, compute, tensors, [&](B &b, ValueRange v) {
          Value g = convertElement(b, v[0], compute);
          return v.size() == 2 ? mul(b, g, v[1]) : g;
        });
    Tensor sum = reshape(b, reduceSum(b, values, a->outer), a->normalized);
    results.push_back(convertTensor(b, sum, type.getElementType()));
  };
  addSum(1, {grad, y});
  if (HasMean)
    addSum(2, grad);
  return b.finish(results);
}

void regather::nodes::addNormalizationBuilders(BuilderTable &table) {
  table.add(Operator::AtenFusedRmsNorm, buildRmsNorm);
  table.add(Operator::AtenFusedRmsNormBackward, buildNormBackward<false>);
  table.add(Operator::AtenNativeLayerNorm, buildLayerNorm);
  table.add(Operator::AtenNativeLayerNormBackward, buildNormBackward<true>);
}
