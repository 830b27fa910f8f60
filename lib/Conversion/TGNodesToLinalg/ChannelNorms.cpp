//===- ChannelNorms.cpp - Expansions of batch and group norms -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both see the input in a shape of which some dimensions are normalized, and
// in which the weights of channels are broadcast:
//
//   batch norm: [N, C, rest], along dimensions 0 and 2, weights [1, C, 1]
//   group norm: [N, G, C / G, rest], along 2 and 3, weights [1, G, C / G, 1]
//
//===----------------------------------------------------------------------===//

#include "NodeBuilder.h"
#include "StructuredOps.h"

using namespace mlir;
using namespace regather::nodes;

namespace {
struct ChannelNorm {
  Tensor input;
  /// Of the channels, broadcastable to the input; or null.
  Tensor weight, bias;
  Type compute;
  SmallVector<int64_t> shape, weightShape, statisticShape;
  /// Dimensions that are normalized, and those that the gradient of a weight
  /// sums over.
  SmallVector<int64_t> inner, summed;
  int64_t channels = 0;
  double count = 1;
};

/// Of the shape of statistics.
struct Statistics {
  Tensor mean, rstd;
};
} // namespace

/// Fills in what follows from `shape` and `inner`.
static LogicalResult complete(NodeArguments &args, B &b, ChannelNorm &norm) {
  norm.weight = args.getOptionalTensor("weight");
  norm.bias = args.getOptionalTensor("bias");
  if (args.hasFailed())
    return failure();
  if (!isa<FloatType>(norm.input.getType().getElementType()))
    return args.fail("input", "must hold floats");
  norm.compute = getComputeType(norm.input.getType().getElementType());
  norm.statisticShape = norm.shape;
  for (int64_t dim : norm.inner) {
    norm.statisticShape[dim] = 1;
    norm.count *= static_cast<double>(norm.shape[dim]);
  }
  for (auto [dim, size] : llvm::enumerate(norm.weightShape))
    if (size == 1)
      norm.summed.push_back(dim);
  if ((norm.weight &&
       failed(args.expectShape("weight", norm.weight, norm.channels))) ||
      (norm.bias && failed(args.expectShape("bias", norm.bias, norm.channels))))
    return failure();
  norm.input = reshape(b, norm.input, norm.shape);
  if (norm.weight)
    norm.weight = reshape(b, norm.weight, norm.weightShape);
  if (norm.bias)
    norm.bias = reshape(b, norm.bias, norm.weightShape);
  return success();
}

static FailureOr<ChannelNorm> getBatchNorm(NodeArguments &args, B &b) {
  ChannelNorm norm;
  norm.input = args.getTensor("input");
  if (args.hasFailed())
    return failure();
  ArrayRef<int64_t> shape = norm.input.getType().getShape();
  if (shape.size() < 2)
    return args.fail("input", "must have at least 2 dimensions, got " +
                                  Twine(shape.size()));
  int64_t rest = 1;
  for (int64_t size : shape.drop_front(2))
    rest *= size;
  norm.channels = shape[1];
  norm.shape = {shape[0], shape[1], rest};
  norm.weightShape = {1, shape[1], 1};
  norm.inner = {0, 2};
  if (failed(complete(args, b, norm)))
    return failure();
  return norm;
}

static FailureOr<ChannelNorm> getGroupNorm(NodeArguments &args, B &b) {
  ChannelNorm norm;
  norm.input = args.getTensor("input");
  int64_t batch = args.getInt("N"), channels = args.getInt("C");
  int64_t rest = args.getInt("HxW"), groups = args.getInt("group");
  if (args.hasFailed())
    return failure();
  if (groups < 1 || channels % groups != 0)
    return args.fail("group", "is " + Twine(groups) +
                                  ", which does not divide " + Twine(channels) +
                                  " channels");
  if (batch * channels * rest != norm.input.getType().getNumElements())
    return args.fail("input", "must have " + Twine(batch * channels * rest) +
                                  " elements, got " +
                                  Twine(norm.input.getType().getNumElements()));
  norm.channels = channels;
  norm.shape = {batch, groups, channels / groups, rest};
  norm.weightShape = {1, groups, channels / groups, 1};
  norm.inner = {2, 3};
  if (failed(complete(args, b, norm)))
    return failure();
  return norm;
}

//===----------------------------------------------------------------------===//
// Statistics
//===----------------------------------------------------------------------===//

/// Mean along the normalized dimensions of what `fn` computes from `tensors`.
static Tensor makeMean(B &b, const ChannelNorm &norm, ArrayRef<Tensor> tensors,
                       ElementFn fn) {
  Tensor values = pointwise(b, norm.shape, norm.compute, tensors, fn);
  Tensor sum = reduceSum(b, values, norm.inner);
  return pointwise(
      b, norm.statisticShape, norm.compute, sum, [&](B &b, ValueRange v) {
        return div(b, v[0], makeConstant(b, norm.compute, norm.count));
      });
}

static std::pair<Tensor, Tensor> makeMoments(B &b, const ChannelNorm &norm) {
  Tensor mean = makeMean(b, norm, norm.input, [&](B &b, ValueRange v) {
    return convertElement(b, v[0], norm.compute);
  });
  Tensor variance =
      makeMean(b, norm, {norm.input, mean}, [&](B &b, ValueRange v) {
        Value distance = sub(b, convertElement(b, v[0], norm.compute), v[1]);
        return mul(b, distance, distance);
      });
  return {mean, variance};
}

/// 1 / sqrt(variance + eps).
static Tensor makeInverseRoot(B &b, Tensor variance, double eps, Type compute) {
  return pointwise(b, variance.getType().getShape(), compute, variance,
                   [&](B &b, ValueRange v) -> Value {
                     Value sum = add(b, convertElement(b, v[0], compute),
                                     makeConstant(b, compute, eps));
                     return math::RsqrtOp::create(b, sum);
                   });
}

/// A statistic as a result, which is empty where it was not computed.
static Value finishStatistic(NodeBuilder &b, Tensor tensor, unsigned result) {
  RankedTensorType type = b.getResultType(result);
  if (!type)
    return {};
  if (type.getNumElements() == 0)
    return fill(b, type.getShape(), makeNumber(type.getElementType(), 0.0));
  tensor = convertTensor(b, tensor, type.getElementType());
  if (tensor.getType().getNumElements() != type.getNumElements())
    return tensor;
  return reshape(b, tensor, type.getShape());
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

static Tensor normalize(NodeBuilder &b, const ChannelNorm &norm,
                        const Statistics &statistics) {
  SmallVector<Tensor> tensors = {norm.input, statistics.mean, statistics.rstd};
  if (norm.weight)
    tensors.push_back(norm.weight);
  if (norm.bias)
    tensors.push_back(norm.bias);
  Tensor output = pointwise(
      b, norm.shape, b.getElement(), tensors, [&](B &b, ValueRange v) {
        auto get = [&](Value value) {
          return convertElement(b, value, norm.compute);
        };
        Value value = mul(b, sub(b, get(v[0]), get(v[1])), get(v[2]));
        if (norm.weight)
          value = mul(b, value, get(v[3]));
        if (norm.bias)
          value = add(b, value, get(v.back()));
        return value;
      });
  return reshape(b, output, b.getShape());
}

/// The statistics "running_mean" and "running_var".
static FailureOr<std::pair<Tensor, Tensor>>
getRunning(NodeArguments &args, B &b, const ChannelNorm &norm) {
  Tensor mean = args.getTensor("running_mean");
  Tensor variance = args.getTensor("running_var");
  if (failed(args.expectShape("running_mean", mean, norm.channels)) ||
      failed(args.expectShape("running_var", variance, norm.channels)))
    return failure();
  return std::pair(reshape(b, mean, norm.statisticShape),
                   reshape(b, variance, norm.statisticShape));
}

/// (1 - momentum) * running + momentum * scale * current.
static Value makeRunning(NodeBuilder &b, const ChannelNorm &norm,
                         Tensor running, Tensor current, double momentum,
                         double scale, unsigned result) {
  Tensor moved = pointwise(
      b, norm.statisticShape, norm.compute, {running, current},
      [&](B &b, ValueRange v) {
        auto times = [&](Value value, double number) {
          return mul(b, convertElement(b, value, norm.compute),
                     makeConstant(b, norm.compute, number));
        };
        return add(b, times(v[0], 1 - momentum), times(v[1], momentum * scale));
      });
  return finishStatistic(b, moved, result);
}

/// With statistics of the batch if it trains. `GivesRunning` says that the new
/// running statistics are results.
template <bool GivesRunning>
static LogicalResult buildBatchNorm(NodeArguments &args, NodeBuilder &b) {
  FailureOr<ChannelNorm> norm = getBatchNorm(args, b);
  bool isTraining = args.getBool("training", false);
  double momentum = args.getFloat("momentum"), eps = args.getFloat("eps");
  if (failed(norm) || args.hasFailed())
    return failure();
  std::pair<Tensor, Tensor> running;
  if (GivesRunning || !isTraining) {
    auto given = getRunning(args, b, *norm);
    if (failed(given))
      return failure();
    running = *given;
  }
  auto [mean, variance] = isTraining ? makeMoments(b, *norm) : running;
  Tensor rstd = makeInverseRoot(b, variance, eps, norm->compute);
  SmallVector<Value> results = {normalize(b, *norm, {mean, rstd}),
                                finishStatistic(b, mean, 1),
                                finishStatistic(b, rstd, 2)};
  if (GivesRunning) {
    double change = isTraining ? momentum : 0;
    // The running variance is that of a sample: it divides by count - 1.
    double scale =
        isTraining ? norm->count / std::max(norm->count - 1, 1.0) : 1;
    results.push_back(makeRunning(b, *norm, running.first, mean, change, 1, 3));
    results.push_back(
        makeRunning(b, *norm, running.second, variance, change, scale, 4));
  }
  return b.finish(results);
}

static LogicalResult buildGroupNorm(NodeArguments &args, NodeBuilder &b) {
  FailureOr<ChannelNorm> norm = getGroupNorm(args, b);
  double eps = args.getFloat("eps");
  if (failed(norm) || args.hasFailed())
    return failure();
  auto [mean, variance] = makeMoments(b, *norm);
  Tensor rstd = makeInverseRoot(b, variance, eps, norm->compute);
  return b.finish({normalize(b, *norm, {mean, rstd}),
                   finishStatistic(b, mean, 1), finishStatistic(b, rstd, 2)});
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

// With y = (x - mean) * rstd and g the gradient times the weight, the gradient
// of the input is rstd * (g - mean(g) - y * mean(g * y)), or rstd * g if the
// statistics do not depend on the input. Those of weight and bias are the sums
// of gradient * y and gradient.

static Tensor makeInputGradient(NodeBuilder &b, const ChannelNorm &norm,
                                const Statistics &statistics, Tensor grad,
                                Tensor y, bool isFixed) {
  SmallVector<Tensor> tensors = {grad};
  if (norm.weight)
    tensors.push_back(norm.weight);
  Tensor scaled =
      pointwise(b, norm.shape, norm.compute, tensors, [&](B &b, ValueRange v) {
        Value g = convertElement(b, v[0], norm.compute);
        return norm.weight ? mul(b, g, convertElement(b, v[1], norm.compute))
                           : g;
      });
  tensors = {scaled, statistics.rstd};
  if (!isFixed) {
    tensors.push_back(y);
    tensors.push_back(
        makeMean(b, norm, scaled, [](B &, ValueRange v) { return v[0]; }));
    tensors.push_back(makeMean(b, norm, {scaled, y}, [](B &b, ValueRange v) {
      return mul(b, v[0], v[1]);
    }));
  }
  return pointwise(
      b, norm.shape, b.getElement(0), tensors, [&](B &b, ValueRange v) {
        Value value = v[0];
        if (!isFixed)
          value = sub(b, sub(b, value, v[3]), mul(b, v[2], v[4]));
        return mul(b, convertElement(b, v[1], norm.compute), value);
      });
}

static LogicalResult finishBackward(NodeArguments &args, NodeBuilder &b,
                                    const ChannelNorm &norm,
                                    const Statistics &statistics, Tensor grad,
                                    bool isFixed) {
  SmallVector<int64_t> shape(grad.getType().getShape());
  grad = reshape(b, grad, norm.shape);
  Tensor y = pointwise(b, norm.shape, norm.compute,
                       {norm.input, statistics.mean, statistics.rstd},
                       [&](B &b, ValueRange v) {
                         auto get = [&](Value value) {
                           return convertElement(b, value, norm.compute);
                         };
                         return mul(b, sub(b, get(v[0]), get(v[1])), get(v[2]));
                       });
  SmallVector<Value> results(3);
  if (b.getResultType(0))
    results[0] = reshape(
        b, makeInputGradient(b, norm, statistics, grad, y, isFixed), shape);
  auto giveSum = [&](unsigned result, ArrayRef<Tensor> tensors) {
    if (!b.getResultType(result))
      return;
    Tensor values = pointwise(b, norm.shape, norm.compute, tensors,
                              [&](B &b, ValueRange v) {
                                Value g = convertElement(b, v[0], norm.compute);
                                return v.size() == 2 ? mul(b, g, v[1]) : g;
                              });
    Tensor sum = reduceSum(b, values, norm.summed);
    sum = convertTensor(b, sum, b.getElement(result));
    results[result] = reshape(b, sum, norm.channels);
  };
  giveSum(1, {grad, y});
  giveSum(2, grad);
  return b.finish(results);
}

static LogicalResult buildBatchNormBackward(NodeArguments &args,
                                            NodeBuilder &b) {
  FailureOr<ChannelNorm> norm = getBatchNorm(args, b);
  Tensor grad = args.getTensor("grad_out");
  bool isTraining = args.getBool("train");
  double eps = args.getFloat("eps");
  if (failed(norm) || args.hasFailed() ||
      failed(args.expectShape("grad_out", grad,
                              args.getTensor("input").getType().getShape())))
    return failure();
  Statistics statistics;
  if (isTraining) {
    Tensor mean = args.getTensor("save_mean");
    Tensor rstd = args.getTensor("save_invstd");
    if (failed(args.expectShape("save_mean", mean, norm->channels)) ||
        failed(args.expectShape("save_invstd", rstd, norm->channels)))
      return failure();
    statistics = {reshape(b, mean, norm->statisticShape),
                  reshape(b, rstd, norm->statisticShape)};
  } else {
    auto running = getRunning(args, b, *norm);
    if (failed(running))
      return failure();
    statistics = {running->first,
                  makeInverseRoot(b, running->second, eps, norm->compute)};
  }
  return finishBackward(args, b, *norm, statistics, grad, !isTraining);
}

static LogicalResult buildGroupNormBackward(NodeArguments &args,
                                            NodeBuilder &b) {
  FailureOr<ChannelNorm> norm = getGroupNorm(args, b);
  Tensor grad = args.getTensor("grad_out");
  Tensor mean = args.getTensor("mean"), rstd = args.getTensor("rstd");
  if (failed(norm) || args.hasFailed() ||
      failed(args.expectShape("grad_out", grad,
                              args.getTensor("input").getType().getShape())))
    return failure();
  SmallVector<int64_t> shape = {norm->shape[0], norm->shape[1]};
  if (failed(args.expectShape("mean", mean, shape)) ||
      failed(args.expectShape("rstd", rstd, shape)))
    return failure();
  return finishBackward(args, b, *norm,
                        {reshape(b, mean, norm->statisticShape),
                         reshape(b, rstd, norm->statisticShape)},
                        grad, /*isFixed=*/false);
}

void regather::nodes::addChannelNormBuilders(BuilderTable &table) {
  table.add(Operator::AtenNativeBatchNormBackward, buildBatchNormBackward);
  table.add(Target::AtenNativeBatchNormLegitNoStats, buildBatchNorm<false>);
  table.add(Operator::AtenNativeBatchNormLegitNoTraining,
            buildBatchNorm<false>);
  table.add(Operator::AtenNativeBatchNormLegitFunctional, buildBatchNorm<true>);
  table.add(Operator::AtenNativeGroupNorm, buildGroupNorm);
  table.add(Operator::AtenNativeGroupNormBackward, buildGroupNormBackward);
}
