//===- ContiguousViews.cpp - Views that move no bytes ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Nodes/ContiguousViews.h"

#include "regather/Dialect/TG/Nodes/NodeArguments.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather::tg;
using regather::nodes::NodeArguments;

/// Where a slice with unit strides begins, if it has no gaps.
static std::optional<int64_t> getSliceOffset(ArrayRef<int64_t> shape,
                                             ArrayRef<int64_t> offsets,
                                             ArrayRef<int64_t> sizes) {
  // From the inside out: whole dimensions, one of any size, then single rows.
  int64_t offset = 0, stride = 1;
  bool isCut = false;
  for (int64_t dim = shape.size() - 1; dim >= 0; --dim) {
    if (isCut && sizes[dim] != 1)
      return std::nullopt;
    isCut |= sizes[dim] != shape[dim];
    offset += offsets[dim] * stride;
    stride *= shape[dim];
  }
  return offset;
}

/// A slice along one dimension.
static std::optional<int64_t> getSliceOffset(ArrayRef<int64_t> shape,
                                             int64_t dim, int64_t start,
                                             int64_t size) {
  SmallVector<int64_t> offsets(shape.size()), sizes(shape);
  offsets[dim] = start;
  sizes[dim] = size;
  return getSliceOffset(shape, offsets, sizes);
}

static std::optional<int64_t> getSliceOffset(tensor::ExtractSliceOp op) {
  if (!op.hasUnitStride() || ShapedType::isDynamicShape(op.getStaticOffsets()))
    return std::nullopt;
  return getSliceOffset(op.getSourceType().getShape(), op.getStaticOffsets(),
                        op.getStaticSizes());
}

/// Slices along one dimension, as nodes.
static std::optional<int64_t>
getSliceOffset(NodeOp node, RankedTensorType source, RankedTensorType result) {
  std::optional<NodeTarget> target = findNodeTarget(node.getTarget());
  bool selects = target == NodeTarget::AtenSelectInt;
  if (!selects && target != NodeTarget::AtenSliceTensor)
    return std::nullopt;
  NodeArguments args(node, *target, /*isQuiet=*/true);
  int64_t rank = source.getRank();
  int64_t dim =
      selects ? args.getDim("dim", rank) : args.getDim("dim", rank, 0);
  int64_t start = selects ? args.getInt("index") : args.getInt("start", 0);
  int64_t step = selects ? 1 : args.getInt("step", 1);
  if (args.hasFailed() || rank == 0 || step != 1 ||
      (!selects && result.getRank() != rank))
    return std::nullopt;
  int64_t extent = source.getDimSize(dim);
  if (start < 0)
    start += extent;
  int64_t size = selects ? 1 : result.getDimSize(dim);
  start = selects ? start : std::clamp<int64_t>(start, 0, extent);
  if (start < 0 || start > extent - size)
    return std::nullopt;
  std::optional<int64_t> offset =
      getSliceOffset(source.getShape(), dim, start, size);
  // The part has to have the elements that the node says.
  int64_t elements = source.getNumElements();
  if (extent != 0 && elements / extent * size != result.getNumElements())
    return std::nullopt;
  return offset;
}

/// True if operand 0 and the result have the same factors in the same order:
/// a permutation that moves dimensions of size 1 only.
static bool keepsFactors(Operation *op) {
  auto interface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!interface)
    return false;
  ShardingRule rule = interface.getShardingRule();
  auto flatten = [](const TensorFactors &tensor) {
    SmallVector<unsigned> factors;
    for (const DimFactors &dim : tensor)
      llvm::append_range(factors, dim);
    return factors;
  };
  return !rule.isWhole() &&
         flatten(rule.operands.front()) == flatten(rule.results.front());
}

std::optional<int64_t> regather::tg::getContiguousViewOffset(Operation *op) {
  if (op->getNumOperands() == 0 || op->getNumResults() != 1 ||
      !getOpCost(op).view)
    return std::nullopt;
  auto source = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  auto result = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!source || !result || !source.hasStaticShape() ||
      !result.hasStaticShape() ||
      source.getElementType() != result.getElementType())
    return std::nullopt;
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return getSliceOffset(slice);
  bool keepsElements = source.getNumElements() == result.getNumElements();
  auto node = dyn_cast<NodeOp>(op);
  if (!node)
    return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
               tensor::ReshapeOp, tensor::CastOp>(op) &&
                   keepsElements
               ? std::optional<int64_t>(0)
               : std::nullopt;
  if (std::optional<int64_t> offset = getSliceOffset(node, source, result))
    return offset;
  if (keepsElements &&
      (getOperatorClass(node.getTarget()) == OperatorClass::Reshape ||
       keepsFactors(op)))
    return 0;
  return std::nullopt;
}
