//===- Softmax.cpp - Expansions of softmax --------------------------------===//
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

/// The dimensions to reduce: none for a scalar, whose softmax is 1.
static SmallVector<int64_t> getSoftmaxDims(NodeArguments &args, Tensor tensor) {
  int64_t rank = tensor.getType().getRank();
  int64_t dim = args.getDim("dim", rank);
  return rank == 0 ? SmallVector<int64_t>() : SmallVector<int64_t>{dim};
}

/// exp(x - max) over its sum, or x - max less the logarithm of the sum.
template <bool IsLog>
static LogicalResult buildSoftmax(NodeArguments &args, NodeBuilder &b) {
  Tensor self = args.getTensor("self");
  if (args.hasFailed())
    return failure();
  auto dims = getSoftmaxDims(args, self);
  RankedTensorType type = self.getType();
  if (args.hasFailed())
    return failure();
  if (!isa<FloatType>(type.getElementType()))
    return args.fail("self", "must hold floats");
  Type compute = getComputeType(type.getElementType());
  ArrayRef<int64_t> shape = type.getShape();
  Tensor max = reduceMax(b, self, dims);
  Tensor shifted =
      pointwise(b, shape, compute, {self, max}, [&](B &b, ValueRange v) {
        return sub(b, convertElement(b, v[0], compute), v[1]);
      });
  Tensor powers =
      pointwise(b, shape, compute, shifted, [](B &b, ValueRange v) -> Value {
        return math::ExpOp::create(b, v[0]);
      });
  Tensor sum = reduceSum(b, powers, dims);
  if (!IsLog)
    return b.finish(
        pointwise(b, shape, b.getElement(), {powers, sum},
                  [](B &b, ValueRange v) { return div(b, v[0], v[1]); }));
  Tensor logs = pointwise(
      b, sum.getType().getShape(), compute, sum,
      [](B &b, ValueRange v) -> Value { return math::LogOp::create(b, v[0]); });
  return b.finish(
      pointwise(b, shape, b.getElement(), {shifted, logs},
                [](B &b, ValueRange v) { return sub(b, v[0], v[1]); }));
}

/// Of y = softmax(x): y * (g - sum(g * y)). Of y = log(softmax(x)):
/// g - exp(y) * sum(g).
template <bool IsLog>
static LogicalResult buildSoftmaxBackward(NodeArguments &args, NodeBuilder &b) {
  Tensor grad = args.getTensor("grad_output");
  Tensor output = args.getTensor("output");
  if (args.hasFailed())
    return failure();
  auto dims = getSoftmaxDims(args, output);
  ArrayRef<int64_t> shape = output.getType().getShape();
  if (failed(args.expectShape("grad_output", grad, shape)))
    return failure();
  Type compute = getComputeType(output.getType().getElementType());
  Tensor summands = grad;
  if (!IsLog)
    summands =
        pointwise(b, shape, compute, {grad, output}, [&](B &b, ValueRange v) {
          return mul(b, convertElement(b, v[0], compute),
                     convertElement(b, v[1], compute));
        });
  Tensor sum = reduceSum(b, summands, dims, compute);
  return b.finish(
      pointwise(b, shape, b.getElement(), {grad, output, sum},
                [&](B &b, ValueRange v) -> Value {
                  Value g = convertElement(b, v[0], compute);
                  Value y = convertElement(b, v[1], compute);
                  if (IsLog)
                    return sub(b, g, mul(b, math::ExpOp::create(b, y), v[2]));
                  return mul(b, y, sub(b, g, v[2]));
                }));
}

void regather::nodes::addSoftmaxBuilders(BuilderTable &table) {
  table.add(Operator::AtenLogSoftmax, buildSoftmax<true>);
  table.add(Operator::AtenLogSoftmaxBackwardData, buildSoftmaxBackward<true>);
  table.add(Operator::AtenSoftmax, buildSoftmax<false>);
  table.add(Operator::AtenSoftmaxBackwardData, buildSoftmaxBackward<false>);
}
