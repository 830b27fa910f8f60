//===- TreeSums.cpp - Sums in the order of a balanced tree ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TreeSums.h"

#include "RankParts.h"

#include "regather/Dialect/TG/Targets/NodeTargets.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace regather::tg;

bool regather::tg::holdSubtrees(int64_t ranks, int64_t leaves) {
  return leaves % ranks == 0 && (llvm::isPowerOf2_64(ranks) || ranks == leaves);
}

Operation *TreeSums::mark(Operation *op) {
  if (!isa<CollectiveOpInterface>(op))
    op->setAttr(kPhaseAttrName, phase);
  if (module && !module.empty())
    op->setAttr(kModuleAttrName, module);
  return op;
}

ResultRange TreeSums::wait(Operation *collective) {
  mark(collective);
  return mark(WaitOp::create(builder, loc, collective->getResult(0)))
      ->getResults();
}

static Operation *makeNode(OpBuilder &builder, Location loc, NodeTarget target,
                           Type type, ValueRange operands, ArrayAttr args) {
  return NodeOp::create(builder, loc, TypeRange(type),
                        builder.getStringAttr(getName(target)), operands, args,
                        DictionaryAttr(), UnitAttr());
}

Value TreeSums::takeBlock(Value whole, int64_t dim, int64_t number,
                          int64_t count) {
  if (count == 1)
    return whole;
  auto type = cast<RankedTensorType>(whole.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= count;
  SmallVector<OpFoldResult> offsets(shape.size(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(shape.size(), builder.getIndexAttr(1));
  offsets[dim] = builder.getIndexAttr(number * shape[dim]);
  SmallVector<OpFoldResult> sizes;
  for (int64_t size : shape)
    sizes.push_back(builder.getIndexAttr(size));
  return mark(tensor::ExtractSliceOp::create(builder, loc, type.clone(shape),
                                             whole, offsets, sizes, strides))
      ->getResult(0);
}

Value TreeSums::combine(Value low, Value high, Reduction reduction) {
  NodeTarget target = reduction == Reduction::Max
                          ? NodeTarget::AtenMaximumDefault
                          : NodeTarget::AtenAddTensor;
  return mark(makeNode(builder, loc, target, low.getType(), {low, high},
                       ArrayAttr()))
      ->getResult(0);
}

Value TreeSums::concatenate(ValueRange parts, int64_t dim) {
  if (parts.size() == 1)
    return parts.front();
  auto type = cast<RankedTensorType>(parts.front().getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] *= parts.size();
  SmallVector<Attribute> list;
  for (unsigned i = 0; i != parts.size(); ++i)
    list.push_back(OperandAttr::get(builder.getContext(), i));
  ArrayAttr args = builder.getArrayAttr(
      {builder.getArrayAttr(list), builder.getI64IntegerAttr(dim)});
  return mark(makeNode(builder, loc, NodeTarget::AtenCatDefault,
                       type.clone(shape), parts, args))
      ->getResult(0);
}

Value TreeSums::divide(Value value, int64_t divisor) {
  ArrayAttr args =
      builder.getArrayAttr({OperandAttr::get(builder.getContext(), 0),
                            builder.getI64IntegerAttr(divisor)});
  return mark(makeNode(builder, loc, NodeTarget::AtenDivScalar, value.getType(),
                       value, args))
      ->getResult(0);
}

Value TreeSums::combineBlocks(Value blocks, Reduction reduction, int64_t dim,
                              int64_t ranks) {
  return combineTree<Value>(
      0, ranks,
      [&](int64_t rank) { return takeBlock(blocks, dim, rank, ranks); },
      [&](Value low, Value high) { return combine(low, high, reduction); });
}

/// Which dimensions of a tensor with one more in front its dimensions are.
static SmallVector<ReassociationIndices> groupBehindFirst(int64_t rank) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 0; dim != rank; ++dim)
    groups.push_back({dim + 1});
  if (rank > 0)
    groups.front().insert(groups.front().begin(), 0);
  return groups;
}

SmallVector<Value> TreeSums::reduce(ValueRange values, Reduction reduction,
                                    FlatSymbolRefAttr mesh, AxesAttr axes,
                                    int64_t ranks, bool stacks) {
  if (ranks == 1)
    return SmallVector<Value>(values);
  SmallVector<Value> rows;
  SmallVector<Type> types;
  for (Value value : values) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    if (stacks || shape.empty()) {
      shape.insert(shape.begin(), 1);
      value = mark(tensor::ExpandShapeOp::create(
                       builder, loc, type.clone(shape), value,
                       groupBehindFirst(type.getRank())))
                  ->getResult(0);
    }
    shape[0] *= ranks;
    rows.push_back(value);
    types.push_back(type.clone(shape));
  }
  ResultRange gathered = wait(AllGatherOp::create(
      builder, loc, FutureType::get(builder.getContext(), types), rows, mesh,
      axes, builder.getI64IntegerAttr(0), phase, IntegerAttr()));
  SmallVector<Value> results;
  for (auto [value, blocks] : llvm::zip_equal(values, gathered)) {
    Value result = combineBlocks(blocks, reduction, /*dim=*/0, ranks);
    auto type = cast<RankedTensorType>(value.getType());
    if (result.getType() != type)
      result = mark(tensor::CollapseShapeOp::create(
                        builder, loc, type, result,
                        groupBehindFirst(type.getRank())))
                   ->getResult(0);
    results.push_back(result);
  }
  return results;
}

SmallVector<Value> TreeSums::scatter(ValueRange values, Reduction reduction,
                                     int64_t dim, FlatSymbolRefAttr mesh,
                                     AxesAttr axes, int64_t ranks) {
  if (ranks == 1)
    return SmallVector<Value>(values);
  SmallVector<Value> padded;
  for (Value value : values) {
    int64_t size = cast<RankedTensorType>(value.getType()).getDimSize(dim);
    int64_t whole = llvm::alignTo(size, ranks);
    if (whole != size)
      value =
          mark(createPadding(builder, loc, value, dim, whole))->getResult(0);
    padded.push_back(value);
  }
  SmallVector<Type> types =
      llvm::map_to_vector(padded, [](Value value) { return value.getType(); });
  ResultRange received = wait(AllToAllOp::create(
      builder, loc, FutureType::get(builder.getContext(), types), padded, mesh,
      axes, builder.getI64IntegerAttr(dim), builder.getI64IntegerAttr(dim),
      phase, IntegerAttr()));
  return llvm::map_to_vector(received, [&](Value blocks) {
    return combineBlocks(blocks, reduction, dim, ranks);
  });
}
