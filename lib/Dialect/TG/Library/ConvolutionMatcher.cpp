//===- ConvolutionMatcher.cpp - Kernels that are convolutions -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibraryReadings.h"
#include "RoutineMatcher.h"

#include "regather/Dialect/TG/Library/LibraryCalls.h"
#include "regather/Dialect/TG/Nodes/ConvolutionArguments.h"

using namespace mlir;
using namespace regather::nodes;
using namespace regather::tg;
using namespace regather::tg::library;

/// Multiply-adds of the smallest convolution that is not left to generated
/// code.
static constexpr double kSmallestConvolution = 32 * 32 * 32 + 1;

namespace {
class ConvolutionMatcher : public RoutineMatcher {
public:
  explicit ConvolutionMatcher(double smallest) : smallest(smallest) {}

  LibraryMatch<ConvolutionAttr> match(ArrayRef<Operation *> ops,
                                      ValueRange inputs, ValueRange outputs);

private:
  bool isRoutine(Operation *op) const override {
    return findConvolutionTarget(op).has_value();
  }
  bool readNode(NodeOp op) override;
  bool addInput(BufferViewAttr &operand, Value value,
                ArrayRef<int64_t> grouped);
  bool addOutput(unsigned number, Value output) override;
  double getWork() const;
  ConvolutionAttr getCall() const;

  double smallest;
  Convolution sizes;
  bool isBackward = false;
  /// Number of elements of a bias.
  SmallVector<int64_t> biasShape;
  BufferViewAttr x, w, y, bias, toX, toW, toY, toBias;
};
} // namespace

static bool isBackwardTarget(NodeTarget target) {
  return getInfo(getInfo(target).op).cost == CostClass::ConvolutionBackward;
}

/// Describes a tensor of the node, with its channels in groups.
bool ConvolutionMatcher::addInput(BufferViewAttr &operand, Value value,
                                  ArrayRef<int64_t> grouped) {
  const StridedView *found = findInput(value);
  if (!found || !checkElement(value))
    return false;
  std::optional<StridedView> view =
      found->apply(ViewTransform::reshape(grouped));
  if (!view)
    return fail(kStrides);
  operand = views.describeInput(*view);
  return true;
}

double ConvolutionMatcher::getWork() const {
  double work = static_cast<double>(sizes.batch);
  for (int64_t size : sizes.getWeightShape())
    work *= static_cast<double>(size);
  for (int64_t count : sizes.counts)
    work *= static_cast<double>(count);
  return work;
}

bool ConvolutionMatcher::readNode(NodeOp op) {
  NodeTarget target = *findConvolutionTarget(op);
  NodeArguments args(op, target, /*isQuiet=*/true);
  isBackward = isBackwardTarget(target);
  Tensor input = args.getTensor("input"), weight = args.getTensor("weight");
  Tensor grad = isBackward ? args.getTensor("grad_output") : nullptr;
  Tensor given = isBackward ? nullptr : args.getOptionalTensor("bias");
  auto output = dyn_cast<RankedTensorType>(
      isBackward && grad ? grad.getType() : op->getResult(0).getType());
  if (args.hasFailed() || !output)
    return fail(kNoRoutine);
  FailureOr<Convolution> read =
      readConvolution(args, input, weight, output.getShape());
  if (failed(read) || read->getRank() > ConvolutionAttr::kMaxRank)
    return fail(kNoRoutine);
  sizes = std::move(*read);
  if (getWork() < smallest)
    return fail("loops are as fast for so few elements");
  bool isTransposed = sizes.isTransposed;
  biasShape = {sizes.groups, isTransposed ? sizes.inner : sizes.outer};
  SmallVector<int64_t> xShape = sizes.getXShape(), yShape = sizes.getYShape();
  views.setNode(op);
  if (!addInput(w, weight, sizes.getWeightShape()) ||
      !addInput(isTransposed ? y : x, input, isTransposed ? yShape : xShape))
    return false;
  if (grad &&
      !addInput(isTransposed ? x : y, grad, isTransposed ? xShape : yShape))
    return false;
  return !given || addInput(bias, given, biasShape);
}

/// Results of gradients are those of the input, the weight and the bias.
bool ConvolutionMatcher::addOutput(unsigned number, Value output) {
  std::optional<unsigned> result = views.getResult(output);
  if (!result)
    return fail("another value is the result");
  if (!checkElement(output))
    return false;
  BufferViewAttr *own = nullptr;
  SmallVector<int64_t> grouped;
  // The input of a transposed convolution is y.
  if (*result == 0) {
    bool isX = isBackward != sizes.isTransposed;
    own = isX ? &toX : &toY;
    grouped = isX ? sizes.getXShape() : sizes.getYShape();
  } else if (*result == 1) {
    own = &toW;
    grouped = sizes.getWeightShape();
  } else {
    own = &toBias;
    grouped = biasShape;
  }
  std::optional<StridedView> view = views.getOutput(output);
  if (view)
    view = view->apply(ViewTransform::reshape(grouped));
  if (!view)
    return fail(kStrides);
  if (*own)
    return fail("a result is given twice");
  *own = views.describeOutput(*view, number);
  return true;
}

ConvolutionAttr ConvolutionMatcher::getCall() const {
  SmallVector<int64_t> strides, padding, dilation;
  for (const Window &window : sizes.windows) {
    strides.push_back(window.stride);
    padding.push_back(window.padding);
    dilation.push_back(window.dilation);
  }
  NodeOp node = views.getNode();
  return ConvolutionAttr::get(
      node.getContext(), sizes.batch, sizes.groups, sizes.inner, sizes.outer,
      sizes.extents, sizes.counts, sizes.getSizes(), strides, padding, dilation,
      sizes.isTransposed, x, w, y, bias, toX, toW, toY, toBias);
}

LibraryMatch<ConvolutionAttr>
ConvolutionMatcher::match(ArrayRef<Operation *> ops, ValueRange inputs,
                          ValueRange outputs) {
  if (!read(ops, inputs, outputs))
    return {nullptr, reason};
  return {getCall(), ""};
}

LibraryMatch<ConvolutionAttr>
regather::tg::matchConvolution(ArrayRef<Operation *> ops, ValueRange inputs,
                               ValueRange outputs, bool takesSmall) {
  return ConvolutionMatcher(takesSmall ? 0 : kSmallestConvolution)
      .match(ops, inputs, outputs);
}

LibraryMatch<ConvolutionAttr> regather::tg::matchConvolution(KernelOp kernel) {
  KernelContents contents(kernel);
  return ConvolutionMatcher(/*smallest=*/0)
      .match(contents.ops, contents.inputs, contents.outputs);
}
