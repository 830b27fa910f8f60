//===- SegmentTrees.cpp - Additions over GEMMs of segments ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SegmentTrees.h"

#include "regather/Dialect/TG/Library/LibraryCalls.h"
#include "regather/Dialect/TG/Steps/Policies.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::kernels;

/// Views between a GEMM and the slice that it reads: a transpose, say.
static constexpr unsigned kMostViews = 4;

SegmentTrees::SegmentTrees(Block &block, MayJoin mayJoin) {
  for (Operation &op : block.without_terminator()) {
    if (op.getNumResults() != 1 || !isMemoryEffectFree(&op))
      continue;
    std::optional<LibraryRoutine> routine = getLibraryRoutine(&op);
    if (!routine) {
      addSum(&op, mayJoin);
      continue;
    }
    if (*routine != LibraryRoutine::Gemm)
      continue;
    byValue[op.getResult(0)] = static_cast<int64_t>(trees.size());
    trees.push_back({{&op}, 1, -1, -1});
  }
}

std::optional<int64_t> SegmentTrees::find(Value value) const {
  auto it = byValue.find(value);
  if (it == byValue.end() || !value.hasOneUse())
    return std::nullopt;
  return it->second;
}

void SegmentTrees::addSum(Operation *op, MayJoin mayJoin) {
  SmallVector<int64_t, 2> read;
  Type type;
  for (Value operand : op->getOperands()) {
    std::optional<int64_t> tree = find(operand);
    if (!tree)
      continue;
    if (!mayJoin(trees[*tree].ops.back(), op))
      return;
    type = operand.getType();
    read.push_back(*tree);
  }
  auto result = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (read.empty() || read.size() > 2 || !result)
    return;
  // A rounding or a conversion of the sum of one segment.
  if (read.size() == 1) {
    Tree &tree = trees[read.front()];
    if (tree.numSegments != 1 ||
        cast<RankedTensorType>(type).getShape() != result.getShape() ||
        type == result)
      return;
    tree.ops.push_back(op);
    byValue[op->getResult(0)] = read.front();
    return;
  }
  int64_t counts[] = {trees[read[0]].numSegments, trees[read[1]].numSegments};
  int64_t count = counts[0] + counts[1];
  if (type != result || std::min(counts[0], counts[1]) != count / 2)
    return;
  auto number = static_cast<int64_t>(trees.size());
  byValue[op->getResult(0)] = number;
  trees.push_back({{op}, count, read[0], read[1]});
  roots.remove(read[0]);
  roots.remove(read[1]);
  roots.insert(number);
}

/// Adds the slice that `value` is, with views of it.
static void addSlice(Value value, llvm::SetVector<Operation *> &ops) {
  SmallVector<Operation *, kMostViews> views;
  while (views.size() != kMostViews) {
    Operation *def = value.getDefiningOp();
    if (!def || def->getNumResults() != 1 || !isMemoryEffectFree(def))
      return;
    Value viewed = getViewedOperand(cast<OpResult>(value));
    if (!viewed)
      return;
    views.push_back(def);
    if (isa<tensor::ExtractSliceOp>(def)) {
      ops.insert(views.begin(), views.end());
      return;
    }
    value = viewed;
  }
}

void SegmentTrees::visit(function_ref<bool(ArrayRef<Operation *>)> take) const {
  SmallVector<int64_t> left(llvm::reverse(roots.getArrayRef()));
  while (!left.empty()) {
    int64_t number = left.pop_back_val();
    if (trees[number].numSegments == 1)
      continue;
    llvm::SetVector<Operation *> ops;
    SmallVector<int64_t> parts = {number};
    while (!parts.empty()) {
      const Tree &tree = trees[parts.pop_back_val()];
      ops.insert(tree.ops.begin(), tree.ops.end());
      if (tree.low >= 0) {
        parts.append({tree.high, tree.low});
        continue;
      }
      for (Value operand : tree.ops.front()->getOperands())
        addSlice(operand, ops);
    }
    SmallVector<Operation *> sorted = ops.takeVector();
    llvm::sort(sorted, [](Operation *x, Operation *y) {
      return x->isBeforeInBlock(y);
    });
    if (!take(sorted))
      left.append({trees[number].high, trees[number].low});
  }
}
