//===- MatrixStacks.cpp - Matrices behind views
//------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatrixStacks.h"

#include "regather/Dialect/TG/Nodes/ContiguousViews.h"
#include "regather/Dialect/TG/Nodes/NodeArguments.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

std::optional<NodeTarget> attention::getTarget(Operation *op) {
  auto node = dyn_cast_or_null<NodeOp>(op);
  if (!node || node.getEffects())
    return std::nullopt;
  return findNodeTarget(node.getTarget());
}

bool attention::isNode(Operation *op, NodeOperator called) {
  std::optional<NodeTarget> target = getTarget(op);
  return target && getInfo(*target).op == called;
}

ArrayRef<int64_t> attention::getMatrixShape(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape() || type.getRank() < 2)
    return {};
  return type.getShape();
}

bool attention::keepsElements(Operation *op) {
  std::optional<NodeTarget> target = getTarget(op);
  if (!target || op->getNumResults() != 1 || op->getNumOperands() != 1)
    return false;
  auto from = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!from || !to || !from.hasStaticShape() || !to.hasStaticShape() ||
      from.getElementType() != to.getElementType() ||
      from.getNumElements() != to.getNumElements())
    return false;
  NodeOperator called = getInfo(*target).op;
  return getInfo(called).kind == OperatorClass::Reshape ||
         called == NodeOperator::AtenClone ||
         // A part of the same size is the whole.
         getContiguousViewOffset(op) == 0;
}

/// The numbers of the dimensions that are not of size 1, of which `einsum` adds
/// some and moves them.
static SmallVector<int64_t> listLongDims(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> dims;
  for (auto [i, size] : llvm::enumerate(shape))
    if (size != 1)
      dims.push_back(static_cast<int64_t>(i));
  return dims;
}

bool attention::keepsMatrices(Operation *op) {
  if (!keepsElements(op))
    return false;
  ArrayRef<int64_t> from = getMatrixShape(op->getOperand(0));
  ArrayRef<int64_t> to = getMatrixShape(op->getResult(0));
  SmallVector<int64_t> fromDims = listLongDims(from), toDims = listLongDims(to);
  if (fromDims.size() < 2 || toDims.size() < 2)
    return false;
  return llvm::all_of(llvm::seq<size_t>(1, 3), [&](size_t i) {
    return from[fromDims[fromDims.size() - i]] == to[toDims[toDims.size() - i]];
  });
}

bool attention::transposesMatrices(Operation *op) {
  std::optional<NodeTarget> target = getTarget(op);
  if (!target)
    return false;
  nodes::NodeArguments args(cast<NodeOp>(op), *target, /*isQuiet=*/true);
  SmallVector<int64_t> dims;
  ArrayRef<int64_t> shape = op->getNumOperands() == 1
                                ? getMatrixShape(op->getOperand(0))
                                : ArrayRef<int64_t>();
  auto rank = static_cast<int64_t>(shape.size());
  if (rank == 0)
    return false;
  if (*target == NodeTarget::AtenTransposeInt) {
    dims = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    int64_t first = args.getDim("dim0", rank),
            other = args.getDim("dim1", rank);
    if (args.hasFailed())
      return false;
    std::swap(dims[first], dims[other]);
  } else if (*target == NodeTarget::AtenPermuteDefault) {
    dims = args.getDims("dims", rank);
  }
  if (args.hasFailed() || dims.size() != shape.size())
    return false;
  llvm::erase_if(dims, [&](int64_t dim) { return shape[dim] == 1; });
  SmallVector<int64_t> ordered = listLongDims(shape);
  if (dims.size() < 2)
    return false;
  std::swap(dims[dims.size() - 2], dims.back());
  return dims == ordered;
}

static bool isNarrowFloat(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType()) &&
         type.getElementTypeBitWidth() <= 32;
}

bool attention::convertsFloats(Operation *op) {
  return isNode(op, NodeOperator::AtenToCopy) && op->getNumOperands() == 1 &&
         op->getNumResults() == 1 && isNarrowFloat(op->getOperand(0)) &&
         isNarrowFloat(op->getResult(0));
}

attention::MatrixStack attention::getStack(Value value) {
  MatrixStack stack{value};
  while (Operation *op = stack.root.getDefiningOp()) {
    if (transposesMatrices(op))
      stack.isTransposed = !stack.isTransposed;
    else if (!keepsMatrices(op))
      break;
    stack.root = op->getOperand(0);
  }
  return stack;
}

std::optional<double> attention::getFilling(Value value) {
  Operation *op = value.getDefiningOp();
  std::optional<NodeTarget> target = getTarget(op);
  if (!target)
    return std::nullopt;
  StringRef name;
  switch (*target) {
  case NodeTarget::AtenScalarTensorDefault:
    name = "s";
    break;
  case NodeTarget::AtenFullDefault:
  case NodeTarget::AtenFullLikeDefault:
    name = "fill_value";
    break;
  case NodeTarget::AtenZerosDefault:
  case NodeTarget::AtenZerosLikeDefault:
    return 0.0;
  default:
    return std::nullopt;
  }
  nodes::NodeArguments args(cast<NodeOp>(op), *target, /*isQuiet=*/true);
  double number = args.getFloat(name);
  return args.hasFailed() ? std::nullopt : std::optional(number);
}
