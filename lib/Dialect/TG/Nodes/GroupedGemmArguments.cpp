//===- GroupedGemmArguments.cpp - Operands of a grouped GEMM --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Nodes/GroupedGemmArguments.h"

using namespace mlir;
using namespace regather::nodes;
using namespace regather::tg;

static int64_t getRank(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getRank() : 0;
}

std::optional<NodeTarget>
regather::nodes::findGroupedGemmTarget(Operation *op) {
  auto node = dyn_cast<NodeOp>(op);
  if (!node || node.getEffects())
    return std::nullopt;
  std::optional<NodeTarget> target = findNodeTarget(node.getTarget());
  if (!target || getInfo(getInfo(*target).op).cost != CostClass::GroupedGemm)
    return std::nullopt;
  bool isBatch = node.getNumOperands() >= 2 &&
                 getRank(node.getOperand(0)) == 3 &&
                 getRank(node.getOperand(1)) == 3;
  return isBatch ? std::nullopt : target;
}

/// Checks the shape of an operand that is seen as `shape`, and that all have
/// one type.
static LogicalResult expectOperand(NodeArguments &args, StringRef name,
                                   const GroupedOperand &operand,
                                   ArrayRef<int64_t> shape, Type element) {
  SmallVector<int64_t> own(shape);
  if (operand.isTransposed)
    std::swap(own[own.size() - 2], own.back());
  if (failed(args.expectShape(name, operand.tensor, own)))
    return failure();
  if (operand.tensor.getType().getElementType() != element ||
      !isa<FloatType>(element))
    return args.fail("expects matrices with the same type of floats");
  return success();
}

static LogicalResult readEnds(NodeArguments &args, GroupedGemm &gemm) {
  gemm.ends = args.getTensor("offs");
  if (failed(args.expectIndices("offs", gemm.ends)) ||
      failed(args.expectRank("offs", gemm.ends, 1)))
    return failure();
  gemm.groups = gemm.ends.getType().getDimSize(0);
  if (gemm.groups == 0)
    return args.fail("offs", "must have the end of at least one group");
  return success();
}

/// Rows by matrices: x [rows, inner], w [groups, inner, outer].
static FailureOr<GroupedGemm> readProduct(NodeArguments &args, StringRef xName,
                                          StringRef wName, GroupedGemm gemm) {
  gemm.rows = gemm.x.tensor.getType().getDimSize(gemm.x.isTransposed ? 1 : 0);
  gemm.inner = gemm.x.tensor.getType().getDimSize(gemm.x.isTransposed ? 0 : 1);
  gemm.outer = gemm.w.tensor.getType().getDimSize(gemm.w.isTransposed ? 1 : 2);
  Type element = gemm.x.tensor.getType().getElementType();
  if (failed(readEnds(args, gemm)) ||
      failed(expectOperand(args, xName, gemm.x, gemm.getXShape(), element)) ||
      failed(expectOperand(args, wName, gemm.w, gemm.getWShape(), element)))
    return failure();
  return gemm;
}

static FailureOr<GroupedGemm> readAten(NodeArguments &args) {
  Tensor self = args.getTensor("self"), mat2 = args.getTensor("mat2");
  if (args.hasFailed())
    return failure();
  if (args.has("bias"))
    return args.fail("bias", "is not supported");
  int64_t left = self.getType().getRank(), right = mat2.getType().getRank();
  GroupedGemm gemm;
  if (left == 2 && right == 3) {
    gemm.x = {self, false};
    gemm.w = {mat2, false};
    gemm.toY = GroupedResult{0, false};
    return readProduct(args, "self", "mat2", gemm);
  }
  if (left == 3 && right == 2) {
    gemm.x = {mat2, true};
    gemm.w = {self, true};
    gemm.toY = GroupedResult{0, true};
    return readProduct(args, "mat2", "self", gemm);
  }
  if (left != 2 || right != 2)
    return args.fail("expects matrices of rank 2 or 3, got rank " +
                     Twine(left) + " and " + Twine(right));
  gemm.x = {self, true};
  gemm.y = {mat2, false};
  gemm.toW = GroupedResult{0, false};
  gemm.rows = self.getType().getDimSize(1);
  gemm.inner = self.getType().getDimSize(0);
  gemm.outer = mat2.getType().getDimSize(1);
  Type element = self.getType().getElementType();
  if (failed(readEnds(args, gemm)) ||
      failed(expectOperand(args, "self", gemm.x, gemm.getXShape(), element)) ||
      failed(expectOperand(args, "mat2", gemm.y, gemm.getYShape(), element)))
    return failure();
  return gemm;
}

static FailureOr<GroupedGemm> readFallback(NodeArguments &args,
                                           bool isBackward) {
  GroupedGemm gemm;
  gemm.fillsZeros = true;
  gemm.x = {args.getTensor("input"), false};
  gemm.w = {args.getTensor("weight"), false};
  if (args.hasFailed() || failed(args.expectRank("input", gemm.x.tensor, 2)) ||
      failed(args.expectRank("weight", gemm.w.tensor, 3)))
    return failure();
  FailureOr<GroupedGemm> read = readProduct(args, "input", "weight", gemm);
  if (failed(read))
    return failure();
  if (!isBackward) {
    read->toY = GroupedResult{0, false};
    return read;
  }
  read->y = {args.getTensor("grad_output"), false};
  read->toX = GroupedResult{0, false};
  read->toW = GroupedResult{1, false};
  if (args.hasFailed() ||
      failed(expectOperand(args, "grad_output", read->y, read->getYShape(),
                           gemm.x.tensor.getType().getElementType())))
    return failure();
  return read;
}

/// The shape of a result that is seen as `shape`.
static LogicalResult expectResult(NodeArguments &args,
                                  const std::optional<GroupedResult> &result,
                                  SmallVector<int64_t> shape) {
  if (!result)
    return success();
  if (result->isTransposed)
    std::swap(shape[shape.size() - 2], shape.back());
  auto type = dyn_cast<RankedTensorType>(
      args.getNode()->getResult(result->number).getType());
  if (type && type.getShape() == ArrayRef(shape))
    return success();
  std::string sizes;
  llvm::raw_string_ostream stream(sizes);
  llvm::interleaveComma(shape, stream);
  return args.fail("gives a tensor of shape [" + sizes + "] as result " +
                   Twine(result->number));
}

FailureOr<GroupedGemm> regather::nodes::readGroupedGemm(NodeArguments &args) {
  std::optional<NodeTarget> target = findGroupedGemmTarget(args.getNode());
  if (!target)
    return args.fail("expects matrices of which one has rank 2");
  NodeOperator op = getInfo(*target).op;
  unsigned numResults =
      op == NodeOperator::TransformersGroupedMmFallbackBackward ? 2 : 1;
  if (args.getNode()->getNumResults() != numResults)
    return args.fail("gives " + Twine(numResults) + " results");
  FailureOr<GroupedGemm> gemm =
      op == NodeOperator::AtenGroupedMm
          ? readAten(args)
          : readFallback(args, /*isBackward=*/numResults == 2);
  if (failed(gemm) ||
      failed(expectResult(args, gemm->toX, gemm->getXShape())) ||
      failed(expectResult(args, gemm->toW, gemm->getWShape())) ||
      failed(expectResult(args, gemm->toY, gemm->getYShape())))
    return failure();
  return gemm;
}

FailureOr<GroupedGemm> regather::nodes::matchGroupedGemm(Operation *op) {
  std::optional<NodeTarget> target = findGroupedGemmTarget(op);
  if (!target)
    return failure();
  NodeArguments args(cast<NodeOp>(op), *target, /*isQuiet=*/true);
  return readGroupedGemm(args);
}
