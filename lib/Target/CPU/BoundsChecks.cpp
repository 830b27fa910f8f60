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
using namespace regather::cpu;

namespace {
/// Guards the accesses of one function.
class BoundsChecker {
public:
  explicit BoundsChecker(func::FuncOp func);

  void check(Operation *op);
  void finish();

private:
  void guard(OpOperand &operand, int64_t bound);
  void guardIndices(MutableOperandRange indices, MemRefType type);
  void guardOffsets(memref::SubViewOp op);

  func::FuncOp func;
  /// What the function returns.
  Value status;
};
} // namespace

BoundsChecker::BoundsChecker(func::FuncOp func) : func(func) {
  OpBuilder b = OpBuilder::atBlockBegin(&func.getBody().front());
  Location loc = func.getLoc();
  status =
      memref::AllocaOp::create(b, loc, MemRefType::get({}, b.getI32Type()));
  Value zero = arith::ConstantIntOp::create(b, loc, 0, 32);
  memref::StoreOp::create(b, loc, zero, status);
}

/// Makes `operand`, an index that must be below `bound`, safe.
void BoundsChecker::guard(OpOperand &operand, int64_t bound) {
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
  Value one = arith::ConstantIntOp::create(inner, loc, 1, 32);
  memref::StoreOp::create(inner, loc, one, status);
  operand.set(arith::SelectOp::create(b, loc, isOutside, zero, index));
}

void BoundsChecker::guardIndices(MutableOperandRange indices, MemRefType type) {
  if (!type.hasStaticShape())
    return;
  for (auto [operand, size] : llvm::zip(indices, type.getShape()))
    guard(operand, size);
}

/// The view's last element must lie in the source, too.
void BoundsChecker::guardOffsets(memref::SubViewOp op) {
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

void BoundsChecker::check(Operation *op) {
  if (auto load = dyn_cast<memref::LoadOp>(op))
    guardIndices(load.getIndicesMutable(), load.getMemRefType());
  else if (auto store = dyn_cast<memref::StoreOp>(op))
    guardIndices(store.getIndicesMutable(), store.getMemRefType());
  else
    guardOffsets(cast<memref::SubViewOp>(op));
}

void BoundsChecker::finish() {
  Operation *end = func.getBody().front().getTerminator();
  OpBuilder b(end);
  Value result = memref::LoadOp::create(b, end->getLoc(), status);
  end->setOperands(result);
  func.setFunctionType(
      b.getFunctionType(func.getArgumentTypes(), TypeRange(result.getType())));
}

void regather::cpu::addBoundsChecks(func::FuncOp func) {
  SmallVector<Operation *> accesses;
  func.walk([&](Operation *op) {
    if (isa<memref::LoadOp, memref::StoreOp, memref::SubViewOp>(op))
      accesses.push_back(op);
  });
  BoundsChecker checker(func);
  for (Operation *op : accesses)
    checker.check(op);
  checker.finish();
}
