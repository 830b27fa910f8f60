//===- Tile.cpp - Kernels as functions that loop over tiles ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/IR/KernelAttributes.h"
#include "regather/Kernel/Transforms/KernelFunction.h"
#include "regather/Kernel/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather;

namespace regather::kernel {
#define GEN_PASS_DEF_TILEPASS
#include "regather/Kernel/Transforms/Passes.h.inc"
} // namespace regather::kernel

/// Replaces a kernel by its function. True if it has several tiles.
static bool tile(tg::KernelOp op, kernel::TileLimits limits) {
  if (auto bytes = op->getAttrOfType<IntegerAttr>(tg::kTileBytesAttrName))
    limits.bytes = bytes.getInt();
  kernel::TilePlan plan = kernel::planTiles(op, limits);
  OpBuilder b(op);
  func::FuncOp func = kernel::buildKernelFunction(b, op, plan);
  for (NamedAttribute attr : op->getDiscardableAttrs())
    if (attr.getName() != tg::kTileBytesAttrName)
      func->setAttr(attr.getName(), attr.getValue());
  func->setAttr(tg::kNumTilesAttrName, b.getI64IntegerAttr(plan.getNumTiles()));
  op.erase();
  return !plan.levels.empty();
}

namespace {
class TilePass : public kernel::impl::TilePassBase<TilePass> {
public:
  using TilePassBase::TilePassBase;

  void runOnOperation() override {
    for (auto op :
         llvm::make_early_inc_range(getOperation().getOps<tg::KernelOp>())) {
      numTiled += tile(op, {tileBytes, minPieceBytes, minCrossPieceBytes});
      ++numKernels;
    }
  }
};
} // namespace
