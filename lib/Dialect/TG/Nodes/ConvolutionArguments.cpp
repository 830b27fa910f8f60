//===- ConvolutionArguments.cpp - Sizes of a convolution ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Nodes/ConvolutionArguments.h"

using namespace mlir;
using namespace regather::nodes;
using namespace regather::tg;

std::optional<NodeTarget>
regather::nodes::findConvolutionTarget(Operation *op) {
  auto node = dyn_cast<NodeOp>(op);
  if (!node || node.getEffects())
    return std::nullopt;
  std::optional<NodeTarget> target = findNodeTarget(node.getTarget());
  if (target && getInfo(getInfo(*target).op).kind == OperatorClass::Convolution)
    return target;
  return std::nullopt;
}

static SmallVector<int64_t> join(ArrayRef<int64_t> leading,
                                 ArrayRef<int64_t> trailing) {
  SmallVector<int64_t> shape(leading);
  llvm::append_range(shape, trailing);
  return shape;
}

SmallVector<int64_t> Convolution::getSizes() const {
  return llvm::map_to_vector(windows, [](const Window &w) { return w.size; });
}
SmallVector<int64_t> Convolution::getXShape() const {
  return join({batch, groups, inner}, extents);
}
SmallVector<int64_t> Convolution::getWeightShape() const {
  return join({groups, outer, inner}, getSizes());
}
SmallVector<int64_t> Convolution::getYShape() const {
  return join({batch, groups, outer}, counts);
}

FailureOr<Convolution>
regather::nodes::readConvolution(NodeArguments &args, Tensor input,
                                 Tensor weight, ArrayRef<int64_t> output) {
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
