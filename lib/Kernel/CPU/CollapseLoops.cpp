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
          !op.hasIndexSemantics() && op.getNumLoops() > 1)
        ops.push_back(op);
    });
    for (linalg::LinalgOp op : ops)
      collapse(rewriter, op);
  }

private:
  void collapse(IRRewriter &rewriter, linalg::LinalgOp op) {
    SmallVector<ReassociationIndices> groups = groupLoops(op);
    if (groups.size() == op.getNumLoops())
      return;
    rewriter.setInsertionPoint(op);
    if (failed(linalg::collapseOpIterationDims(op, groups, rewriter)))
      return;
    rewriter.eraseOp(op);
    ++numCollapsed;
  }
};
} // namespace
