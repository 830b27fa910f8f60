//===- Convolutions.cpp - Expansions of convolutions ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With x [N, G * C, extents], weights w [G * K, C, sizes] and y [N, G * K,
// counts], channels seen in G groups and x padded, a convolution computes
//
//   y[n, g, k, i] = sum_{c, s} x[n, g, c, i * stride + s * dilation]
//                              * w[g, k, c, s]
//
// The gradients of x and w are two more contractions, of the other two. A
// transposed convolution computes x from y, which is the gradient of x.
//
//===----------------------------------------------------------------------===//

#include "NodeBuilder.h"
#include "Windows.h"

using namespace mlir;
using namespace regather::nodes;

namespace {
struct Convolution {
  Windows windows;
  int64_t batch = 0, groups = 1, inner = 0, outer = 0;
  /// Of x and of y.
  SmallVector<int64_t> extents, counts;
  bool isTransposed = false;

  size_t getRank() const { return windows.size(); }
  SmallVector<int64_t> getSizes() const {
    return llvm::map_to_vector(windows, [](const Window &w) { return w.size; });
  }
  SmallVector<int64_t> getShape(ArrayRef<int64_t> leading,
                                ArrayRef<int64_t> trailing) const {
    SmallVector<int64_t> shape(leading);
    llvm::append_range(shape, trailing);
    return shape;
  }
  /// Of x and y, in groups.
  SmallVector<int64_t> getXShape() const {
    return getShape({batch, groups, inner}, extents);
  }
  SmallVector<int64_t> getYShape() const {
    return getShape({batch, groups, outer}, counts);
  }
  SmallVector<int64_t> getWeightShape() const {
    return getShape({groups, outer, inner}, getSizes());
  }
};
} // namespace

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
// Arguments
//===----------------------------------------------------------------------===//

/// Reads what both directions share. `output` is the shape of what the forward
/// node gives.
static FailureOr<Convolution> getConvolution(NodeArguments &args, Tensor input,
                                             Tensor weight,
                                             ArrayRef<int64_t> output) {
  if (args.hasFailed())
    return failure();
  int64_t rank = input.getType().getRank() - 2;
  if (rank < 1)
    return args.fail("input",
                     "must have at least 3 dimensions, got " + Twine(rank + 2));
  if (failed(args.expectRank("weight", weight, rank + 2)))
    return failure();
  Convolution c;
  c.isTransposed = args.getBool("transposed");
  c.groups = args.getInt("groups");
  auto stride = getPerDim(args, "stride", rank, 1);
  auto padding = getPerDim(args, "padding", rank, 0);
  auto dilation = getPerDim(args, "dilation", rank, 1);
  auto kernel = weight.getType().getShape();
  for (int64_t d = 0; d < rank; ++d)
    c.windows.push_back({kernel[d + 2], stride[d], padding[d], dilation[d]});
  if (failed(checkWindows(args, c.windows)))
    return failure();
  ArrayRef<int64_t> x = input.getType().getShape(), y = output;
  if (c.isTransposed)
    std::swap(x, y);
  if (static_cast<int64_t>(output.size()) != rank + 2 || x[0] != y[0])
    return args.fail("gives a tensor with the batch and the number of "
                     "dimensions of \"input\"");
  if (c.groups < 1 || x[1] % c.groups != 0 || y[1] % c.groups != 0)
    return args.fail("groups", "is " + Twine(c.groups) +
                                   ", which does not divide channels " +
                                   Twine(x[1]) + " and " + Twine(y[1]));
  c.batch = x[0];
  c.inner = x[1] / c.groups;
  c.outer = y[1] / c.groups;
  if (kernel[0] != y[1] || kernel[1] != c.inner)
    return args.fail("weight", "must start with sizes " + Twine(y[1]) +
                                   " and " + Twine(c.inner) + ", got " +
                                   Twine(kernel[0]) + " and " +
                                   Twine(kernel[1]));
  c.extents.assign(x.begin() + 2, x.end());
  c.counts.assign(y.begin() + 2, y.end());
  for (auto [window, extent, count] :
       llvm::zip_equal(c.windows, c.extents, c.counts))
    if (window.getCount(extent) != count)
      return args.fail(
          "moves windows over " + Twine(extent) + " positions, which gives " +
          Twine(window.getCount(extent)) + ", got " + Twine(count));
  return c;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

static LogicalResult buildConvolution(NodeArguments &args, NodeBuilder &b) {
  Tensor input = args.getTensor("input"), weight = args.getTensor("weight");
  Tensor bias = args.getOptionalTensor("bias");
  FailureOr<Convolution> c = getConvolution(args, input, weight, b.getShape());
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

static LogicalResult buildBackward(NodeArguments &args, NodeBuilder &b) {
  Tensor grad = args.getTensor("grad_output"), input = args.getTensor("input");
  Tensor weight = args.getTensor("weight");
  if (args.hasFailed())
    return failure();
  ArrayRef<int64_t> shape = grad.getType().getShape();
  FailureOr<Convolution> c = getConvolution(args, input, weight, shape);
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
  table.add(Operator::AtenConvolutionBackward, buildBackward);
}
