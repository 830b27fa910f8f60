//===- CollapseLoops.cpp - Loops over contiguous dimensions ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/CPU/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace regather;

namespace regather::cpu {
#define GEN_PASS_DEF_COLLAPSELOOPSPASS
#include "regather/Kernel/CPU/Passes.h.inc"
} // namespace regather::cpu

/// True if an operand is read or written in one direction by both loops: its
/// dimensions of them lie one behind the other, without a gap, or it has none.
static bool isOneLoop(linalg::LinalgOp op, OpOperand &operand, unsigned outer) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  unsigned inner = outer + 1;
  if (!map.isFunctionOfDim(outer) && !map.isFunctionOfDim(inner))
    return true;
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!type || !map.isProjectedPermutation() ||
      failed(type.getStridesAndOffset(strides, offset)))
    return false;
  for (unsigned i = 0; i + 1 < map.getNumResults(); ++i)
    if (map.getDimPosition(i) == outer)
      return map.getDimPosition(i + 1) == inner &&
             !ShapedType::isDynamic(strides[i]) &&
             !ShapedType::isDynamic(strides[i + 1]) &&
             strides[i] == strides[i + 1] * type.getDimSize(i + 1);
  return false;
}

/// The loops of an operation, those together that are one.
static SmallVector<ReassociationIndices> groupLoops(linalg::LinalgOp op) {
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  SmallVector<ReassociationIndices> groups;
  for (unsigned loop = 0; loop != op.getNumLoops(); ++loop) {
    bool continues = loop > 0 &&
                     kinds[loop - 1] == utils::IteratorType::parallel &&
                     kinds[loop] == utils::IteratorType::parallel &&
                     llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
                       return isOneLoop(op, operand, loop - 1);
                     });
    if (!continues)
      groups.emplace_back();
    groups.back().push_back(loop);
  }
  return groups;
}

/// An operand with the loops of a group as one dimension.
static Value collapseOperand(OpBuilder &b, Location loc, Value operand,
                             AffineMap map, ArrayRef<unsigned> groupOf) {
  SmallVector<ReassociationIndices> dims;
  for (unsigned i = 0; i != map.getNumResults(); ++i) {
    if (i == 0 ||
        groupOf[map.getDimPosition(i)] != groupOf[map.getDimPosition(i - 1)])
      dims.emplace_back();
    dims.back().push_back(i);
  }
  if (dims.size() == map.getNumResults())
    return operand;
  return memref::CollapseShapeOp::create(b, loc, operand, dims);
}

/// The map of a collapsed operand: one result for each group that it has.
static AffineMap collapseMap(AffineMap map, ArrayRef<unsigned> groupOf,
                             unsigned numGroups) {
  SmallVector<AffineExpr> results;
  for (unsigned i = 0; i != map.getNumResults(); ++i) {
    AffineExpr dim =
        getAffineDimExpr(groupOf[map.getDimPosition(i)], map.getContext());
    if (results.empty() || results.back() != dim)
      results.push_back(dim);
  }
  return AffineMap::get(numGroups, 0, results, map.getContext());
}

/// Replaces an operation by one with a loop for each group.
static void collapse(IRRewriter &rewriter, linalg::GenericOp op,
                     ArrayRef<ReassociationIndices> groups) {
  SmallVector<unsigned> groupOf(op.getNumLoops());
  SmallVector<utils::IteratorType> kinds;
  for (auto [number, group] : llvm::enumerate(groups)) {
    for (int64_t loop : group)
      groupOf[loop] = number;
    kinds.push_back(op.getIteratorTypesArray()[group.front()]);
  }
  rewriter.setInsertionPoint(op);
  SmallVector<Value> inputs, outputs;
  SmallVector<AffineMap> maps;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    Value value = operand.get();
    // A number is the same for all steps.
    if (isa<MemRefType>(value.getType()))
      value = collapseOperand(rewriter, op.getLoc(), value, map, groupOf);
    (op.isDpsInput(&operand) ? inputs : outputs).push_back(value);
    maps.push_back(collapseMap(map, groupOf, groups.size()));
  }
  auto collapsed = linalg::GenericOp::create(rewriter, op.getLoc(), inputs,
                                             outputs, maps, kinds);
  rewriter.inlineRegionBefore(op.getRegion(), collapsed.getRegion(),
                              collapsed.getRegion().begin());
  rewriter.eraseOp(op);
}

namespace {
class CollapseLoopsPass
    : public cpu::impl::CollapseLoopsPassBase<CollapseLoopsPass> {
public:
  using CollapseLoopsPassBase::CollapseLoopsPassBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) {
      if (op.hasPureBufferSemantics() && !op.hasDynamicShape() &&
          !op.hasIndexSemantics() && op.getNumLoops() > 1 &&
          llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) {
            return map.isProjectedPermutation();
          }))
        ops.push_back(op);
    });
    for (linalg::LinalgOp op : ops) {
      SmallVector<ReassociationIndices> groups = groupLoops(op);
      if (groups.size() == op.getNumLoops())
        continue;
      rewriter.setInsertionPoint(op);
      auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
      if (!generic) {
        FailureOr<linalg::GenericOp> made =
            linalg::generalizeNamedOp(rewriter, op);
        if (failed(made))
          continue;
        generic = *made;
      }
      collapse(rewriter, generic, groups);
      ++numCollapsed;
    }
  }
};
} // namespace
