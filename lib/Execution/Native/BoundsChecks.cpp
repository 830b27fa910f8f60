//===- BoundsChecks.cpp - Indices that data decides -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BoundsChecks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace regather::native;

static thread_local bool isOutOfBounds = false;

void regather::native::reportOutOfBounds() { isOutOfBounds = true; }

bool regather::native::takeOutOfBounds() {
  bool taken = isOutOfBounds;
  isOutOfBounds = false;
  return taken;
}

/// Makes `operand`, an index that must be below `bound`, safe.
static void guard(OpOperand &operand, int64_t bound) {
  Value index = operand.get();
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant)) &&
      constant.ult(static_cast<uint64_t>(bound)))
    return;
  OpBuilder b(operand.getOwner());
  Location loc = operand.getOwner()->getLoc();
  Value limit = arith::ConstantIndexOp::create(b, loc, bound);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  // Unsigned: a negative index is a large one.
  Value isOutside =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, index, limit);
  auto check = scf::IfOp::create(b, loc, isOutside, /*withElseRegion=*/false);
  OpBuilder inner = check.getThenBodyBuilder();
  func::CallOp::create(inner, loc, kReportOutOfBounds, TypeRange(),
                       ValueRange());
  operand.set(arith::SelectOp::create(b, loc, isOutside, zero, index));
}

static void guardIndices(MutableOperandRange indices, MemRefType type) {
  if (!type.hasStaticShape())
    return;
  for (auto [operand, size] : llvm::zip(indices, type.getShape()))
    guard(operand, size);
}

/// The view's last element must lie in the source, too.
static void guardOffsets(memref::SubViewOp op) {
  MemRefType source = op.getSourceType();
  MutableOperandRange offsets = op.getOffsetsMutable();
  unsigned next = 0;
  for (auto [dim, offset] : llvm::enumerate(op.getStaticOffsets())) {
    if (!ShapedType::isDynamic(offset))
      continue;
    OpOperand &operand = offsets[next++];
    int64_t extent = source.getDimSize(dim);
    int64_t size = op.getStaticSizes()[dim];
    int64_t stride = op.getStaticStrides()[dim];
    if (ShapedType::isDynamic(extent) || ShapedType::isDynamic(size) ||
        ShapedType::isDynamic(stride) || size == 0)
      continue;
    guard(operand, std::max<int64_t>(extent - (size - 1) * stride, 0));
  }
}

void regather::native::addBoundsChecks(ModuleOp module) {
  SmallVector<Operation *> accesses;
  module.walk([&](Operation *op) {
    if (isa<memref::LoadOp, memref::StoreOp, memref::SubViewOp>(op))
      accesses.push_back(op);
  });
  if (accesses.empty())
    return;
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  auto report = func::FuncOp::create(b, module.getLoc(), kReportOutOfBounds,
                                     b.getFunctionType({}, {}));
  report.setPrivate();
  for (Operation *op : accesses) {
    if (auto load = dyn_cast<memref::LoadOp>(op))
      guardIndices(load.getIndicesMutable(), load.getMemRefType());
    else if (auto store = dyn_cast<memref::StoreOp>(op))
      guardIndices(store.getIndicesMutable(), store.getMemRefType());
    else
      guardOffsets(cast<memref::SubViewOp>(op));
  }
}
