//===- SplitSoftmax.cpp - Softmax of rows that ranks share ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitSoftmax.h"

#include "regather/Dialect/TG/Nodes/NodeArguments.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::spmd;

std::optional<Softmax> regather::tg::spmd::matchSoftmax(Operation *op) {
  auto node = dyn_cast<NodeOp>(op);
  std::optional<NodeTarget> target =
      node ? findNodeTarget(node.getTarget()) : std::nullopt;
  if (!target || node.getNumResults() != 1)
    return std::nullopt;
  Softmax softmax{node, 0, false, false, {}};
  switch (*target) {
  case NodeTarget::AtenLogSoftmaxDefault:
    softmax.isLogarithm = true;
    break;
  case NodeTarget::AtenSoftmaxDefault:
    break;
  case NodeTarget::AtenLogSoftmaxBackwardDataDefault:
    softmax.isLogarithm = softmax.isBackward = true;
    break;
  case NodeTarget::AtenSoftmaxBackwardDataDefault:
    softmax.isBackward = true;
    break;
  default:
    return std::nullopt;
  }
  auto type = dyn_cast<RankedTensorType>(node.getResult(0).getType());
  if (!type || type.getRank() == 0 || !isa<FloatType>(type.getElementType()))
    return std::nullopt;
  nodes::NodeArguments args(node, *target, /*isQuiet=*/true);
  softmax.dim = args.getDim("dim", type.getRank());
  SmallVector<StringRef> names = {"self"};
  if (softmax.isBackward)
    names = {"grad_output", "output"};
  for (StringRef name : names) {
    SmallVector<unsigned, 1> numbers = args.getOperandNumbers(name);
    if (numbers.size() != 1 ||
        cast<RankedTensorType>(node.getOperand(numbers.front()).getType())
                .getShape() != type.getShape())
      return std::nullopt;
    softmax.operands.push_back(numbers.front());
  }
  if (args.hasFailed())
    return std::nullopt;
  return softmax;
}

namespace {
/// Where the parts of rows lie.
struct RowParts {
  int64_t dim;
  AxesAttr axes;
  int64_t segments;
};
} // namespace

/// What the parts of each row reduce to.
static Value reduceRows(Value part, Reduction reduction, const RowParts &rows,
                        Communication &communication) {
  PartNodes nodes(communication);
  TreeSums sums = communication.getTreeSums();
  NodeTarget target = reduction == Reduction::Max
                          ? NodeTarget::AtenAmaxDefault
                          : NodeTarget::AtenSumDimIntList;
  Value own = combineTree<Value>(
      0, rows.segments,
      [&](int64_t number) {
        return nodes.reduce(
            target, sums.takeBlock(part, rows.dim, number, rows.segments),
            rows.dim);
      },
      [&](Value low, Value high) {
        return sums.combine(low, high, reduction);
      });
  return communication.reduce(own, reduction, rows.axes).front();
}

static Value buildForward(const Softmax &softmax, Value input,
                          PaddingMask &padding, const RowParts &rows,
                          Communication &communication) {
  PartNodes nodes(communication);
  // Both selects join the reduction that reads them: one in front of both would
  // be written to memory.
  Value lowest =
      padding.replace(input, -std::numeric_limits<double>::infinity());
  Value largest = reduceRows(lowest, Reduction::Max, rows, communication);
  Value shifted = nodes.makeBinary(NodeTarget::AtenSubTensor, input, largest);
  Value powers =
      padding.replace(nodes.makeUnary(NodeTarget::AtenExpDefault, shifted), 0);
  Value sum = reduceRows(powers, Reduction::Sum, rows, communication);
  if (!softmax.isLogarithm)
    return nodes.makeBinary(NodeTarget::AtenDivTensor, powers, sum);
  return nodes.makeBinary(NodeTarget::AtenSubTensor, shifted,
                          nodes.makeUnary(NodeTarget::AtenLogDefault, sum));
}

/// With the gradient g and the result y of forward: g - exp(y) sum(g) of the
/// logarithm, y (g - sum(g y)) of the softmax itself.
static Value buildBackward(const Softmax &softmax, Value gradient, Value output,
                           PaddingMask &padding, const RowParts &rows,
                           Communication &communication) {
  PartNodes nodes(communication);
  Value terms = gradient;
  if (!softmax.isLogarithm)
    terms = nodes.makeBinary(NodeTarget::AtenMulTensor, gradient, output);
  Value sum = reduceRows(terms, Reduction::Sum, rows, communication);
  if (!softmax.isLogarithm)
    return nodes.makeBinary(
        NodeTarget::AtenMulTensor, output,
        nodes.makeBinary(NodeTarget::AtenSubTensor, gradient, sum));
  Value share = nodes.makeBinary(
      NodeTarget::AtenMulTensor,
      nodes.makeUnary(NodeTarget::AtenExpDefault, output), sum);
  return padding.replace(
      nodes.makeBinary(NodeTarget::AtenSubTensor, gradient, share), 0);
}

Value regather::tg::spmd::buildSoftmax(const Softmax &softmax, ValueRange parts,
                                       PaddingMask &padding, AxesAttr axes,
                                       int64_t segments,
                                       Communication &communication) {
  NodeOp node = softmax.node;
  Type element =
      cast<RankedTensorType>(node.getResult(0).getType()).getElementType();
  // As a node, it computes 16-bit numbers in f32, and rounds once.
  Type computed = element;
  if (element.getIntOrFloatBitWidth() < 32)
    computed = Float32Type::get(element.getContext());
  SmallVector<Value> operands;
  for (Value part : parts)
    operands.push_back(communication.castTo(part, computed));
  RowParts rows = {softmax.dim, axes, segments};
  Value result =
      softmax.isBackward
          ? buildBackward(softmax, operands[0], operands[1], padding, rows,
                          communication)
          : buildForward(softmax, operands[0], padding, rows, communication);
  return communication.castTo(result, element);
}
