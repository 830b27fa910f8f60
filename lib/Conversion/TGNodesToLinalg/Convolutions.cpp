//===- Convolutions.cpp - Expansions of convolutions ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sum that a convolution is (ConvolutionArguments.h) as a contraction of
// padded x and w. The gradients of x and w are two more sums of products of the
// other two.
//
//===----------------------------------------------------------------------===//

#include "NodeBuilder.h"
#include "Windows.h"

#include "regather/Dialect/TG/Nodes/ConvolutionArguments.h"

using namespace mlir;
using namespace regather::nodes;

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

/// Expressions for loops [first, first + count).
static SmallVector<AffineExpr> getLoops(B &b, size_t first, size_t count) {
  return llvm::map_to_vector(llvm::seq(first, first + count), [&](size_t i) {
    return b.getAffineDimExpr(static_cast<unsigned>(i));
  });
}

static SmallVector<AffineExpr> getPositions(const Windows &windows,
                                            ArrayRef<AffineExpr> results,
                                            ArrayRef<AffineExpr> kernels) {
  SmallVector<AffineExpr> positions;
  for (auto [window, result, kernel] :
       llvm::zip_equal(windows, results, kernels))
    positions.push_back(getWindowPosition(window, result, kernel));
  return positions;
}

static SmallVector<AffineExpr> join(ArrayRef<AffineExpr> leading,
                                    ArrayRef<AffineExpr> trailing) {
  SmallVector<AffineExpr> exprs(leading);
  llvm::append_range(exprs, trailing);
  return exprs;
}

/// y from x and w. Loops: n, g, k, i..., c, s...
static Tensor makeY(B &b, const Convolution &c, Tensor x, Tensor weight) {
  size_t rank = c.getRank();
  TypedAttr zero = makeNumber(x.getType().getElementType(), 0.0);
  x = padForWindows(b, reshape(b, x, c.getXShape()), c.windows, c.counts, zero);
  weight = reshape(b, weight, c.getWeightShape());
  SmallVector<int64_t> sizes = c.getYShape();
  sizes.push_back(c.inner);
  llvm::append_range(sizes, c.getSizes());
  auto results = getLoops(b, 3, rank), kernels = getLoops(b, 4 + rank, rank);
  AffineExpr n = b.getAffineDimExpr(0), g = b.getAffineDimExpr(1),
             k = b.getAffineDimExpr(2), i = b.getAffineDimExpr(3 + rank);
  return contract(b, x,
                  join({n, g, i}, getPositions(c.windows, results, kernels)),
                  weight, join({g, k, i}, kernels), sizes, rank + 1);
}

/// The gradient of x from that of y, and w. Loops: n, g, c, i..., k, s...
static Tensor makeX(B &b, const Convolution &c, Tensor y, Tensor weight) {
  size_t rank = c.getRank();
  y = spreadForWindows(b, reshape(b, y, c.getYShape()), c.windows, c.extents);
  // Windows are read backwards.
  weight = reverse(b, reshape(b, weight, c.getWeightShape()),
                   llvm::to_vector(llvm::seq<int64_t>(3, 3 + rank)));
  SmallVector<int64_t> sizes = c.getXShape();
  sizes.push_back(c.outer);
  llvm::append_range(sizes, c.getSizes());
  Windows windows = c.windows;
  for (Window &window : windows)
    window.stride = 1;
  auto results = getLoops(b, 3, rank), kernels = getLoops(b, 4 + rank, rank);
  AffineExpr n = b.getAffineDimExpr(0), g = b.getAffineDimExpr(1),
             i = b.getAffineDimExpr(2), k = b.getAffineDimExpr(3 + rank);
  return contract(b, y,
                  join({n, g, k}, getPositions(windows, results, kernels)),
                  weight, join({g, k, i}, kernels), sizes, rank + 1);
}

/// The gradient of w from x and the gradient of y. Loops: g, k, c, s..., n,
/// i...
static Tensor makeWeight(B &b, const Convolution &c, Tensor x, Tensor y) {
  size_t rank = c.getRank();
  TypedAttr zero = makeNumber(x.getType().getElementType(), 0.0);
  x = padForWindows(b, reshape(b, x, c.getXShape()), c.windows, c.counts, zero);
  y = reshape(b, y, c.getYShape());
  SmallVector<int64_t> sizes = c.getWeightShape();
  sizes.push_back(c.batch);
  llvm::append_range(sizes, c.counts);
  auto kernels = getLoops(b, 3, rank), results = getLoops(b, 4 + rank, rank);
  AffineExpr g = b.getAffineDimExpr(0), k = b.getAffineDimExpr(1),
             i = b.getAffineDimExpr(2), n = b.getAffineDimExpr(3 + rank);
  return contract(b, x,
                  join({n, g, i}, getPositions(c.windows, results, kernels)), y,
                  join({n, g, k}, results), sizes, rank + 1);
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

static LogicalResult buildConvolution(NodeArguments &args, NodeBuilder &b) {
  Tensor input = args.getTensor("input"), weight = args.getTensor("weight");
  Tensor bias = args.getOptionalTensor("bias");
  FailureOr<Convolution> c = readConvolution(args, input, weight, b.getShape());
  if (failed(c))
    return failure();
  ArrayRef<int64_t> shape = b.getShape();
  if (bias && failed(args.expectShape("bias", bias, shape[1])))
    return failure();
  Tensor result = c->isTransposed ? makeX(b, *c, input, weight)
                                  : makeY(b, *c, input, weight);
  result = reshape(b, result, shape);
  if (!bias)
    return b.finish(convertTensor(b, result, b.getElement()));
  SmallVector<int64_t> column(shape.size() - 1, 1);
  column[0] = shape[1];
  return b.finish(
      pointwise(b, shape, b.getElement(), {result, reshape(b, bias, column)},
                [](B &b, ValueRange v) {
                  return add(b, v[0], convertElement(b, v[1], v[0].getType()));
                }));
}

static LogicalResult buildConvolutionBackward(NodeArguments &args,
                                              NodeBuilder &b) {
  Tensor grad = args.getTensor("grad_output"), input = args.getTensor("input");
  Tensor weight = args.getTensor("weight");
  if (args.hasFailed())
    return failure();
  ArrayRef<int64_t> shape = grad.getType().getShape();
  FailureOr<Convolution> c = readConvolution(args, input, weight, shape);
  if (failed(c))
    return failure();
  SmallVector<Value> results(3);
  auto give = [&](unsigned i, Tensor tensor, ArrayRef<int64_t> own) {
    tensor = convertTensor(b, tensor, b.getElement(i));
    results[i] = reshape(b, tensor, own);
  };
  if (b.getResultType(0))
    give(0,
         c->isTransposed ? makeY(b, *c, grad, weight)
                         : makeX(b, *c, grad, weight),
         input.getType().getShape());
  if (b.getResultType(1))
    give(1,
         c->isTransposed ? makeWeight(b, *c, grad, input)
                         : makeWeight(b, *c, input, grad),
         weight.getType().getShape());
  if (b.getResultType(2)) {
    auto dims = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
    dims.erase(dims.begin() + 1);
    give(2, reduceSum(b, grad, dims), shape[1]);
  }
  return b.finish(results);
}

void regather::nodes::addConvolutionBuilders(BuilderTable &table) {
  table.add(Operator::AtenConvolution, buildConvolution);
  table.add(Operator::AtenConvolutionBackward, buildConvolutionBackward);
}
