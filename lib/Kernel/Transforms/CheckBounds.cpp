//===- CheckBounds.cpp - Indices that data decides ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace regather;

namespace regather::kernel {
#define GEN_PASS_DEF_CHECKBOUNDSPASS
#include "regather/Kernel/Transforms/Passes.h.inc"
} // namespace regather::kernel

/// Builds what happens when an index is out of bounds.
using OutsideReport = function_ref<void(OpBuilder &, Location)>;

namespace {
/// Guards the accesses of one function.
class BoundsChecker {
public:
  explicit BoundsChecker(OutsideReport report) : report(report) {}

  void check(Operation *op);
  void check(cf::AssertOp op);

  unsigned getNumChecks() const { return numChecks; }

private:
  void guard(OpOperand &operand, int64_t bound);
  void guardIndices(MutableOperandRange indices, MemRefType type);
  void guardOffsets(memref::SubViewOp op);

  OutsideReport report;
  unsigned numChecks = 0;
};
} // namespace

/// True if the index follows from the number of the tile, of which views are in
/// bounds by construction (`buildKernelFunction`).
static bool isOffsetOfTile(Value index) {
  SmallVector<Value> pending = {index};
  llvm::SmallPtrSet<Value, 8> seen;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      // The loop over tiles is the one that has bounds from outside.
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (!loop || argument != loop.getInductionVar() ||
          !isa<BlockArgument>(loop.getLowerBound()))
        return false;
      continue;
    }
    Operation *def = value.getDefiningOp();
    if (isa<arith::AddIOp, arith::DivUIOp, arith::MulIOp, arith::RemUIOp>(def))
      llvm::append_range(pending, def->getOperands());
    else if (!isa<arith::ConstantOp>(def))
      return false;
  }
  return true;
}

/// True if the index is that of a loop of a linalg operation that ends there.
static bool isLoopBelow(Value index, int64_t bound) {
  auto loop = index.getDefiningOp<linalg::IndexOp>();
  if (!loop)
    return false;
  auto op = cast<linalg::LinalgOp>(loop->getParentOp());
  return !op.hasDynamicShape() &&
         op.getStaticLoopRanges()[loop.getDim()] <= bound;
}

/// Makes `operand`, an index that must be below `bound`, safe.
void BoundsChecker::guard(OpOperand &operand, int64_t bound) {
  Value index = operand.get();
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant)) &&
      constant.ult(static_cast<uint64_t>(bound)))
    return;
  if (isOffsetOfTile(index) || isLoopBelow(index, bound))
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
  report(inner, loc);
  ++numChecks;
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

void BoundsChecker::check(cf::AssertOp op) {
  OpBuilder b(op);
  Value yes = arith::ConstantOp::create(b, op.getLoc(), b.getBoolAttr(true));
  Value isOutside = arith::XOrIOp::create(b, op.getLoc(), op.getArg(), yes);
  auto check =
      scf::IfOp::create(b, op.getLoc(), isOutside, /*withElseRegion=*/false);
  OpBuilder inner = check.getThenBodyBuilder();
  report(inner, op.getLoc());
  ++numChecks;
  op.erase();
}

void BoundsChecker::check(Operation *op) {
  if (auto assertion = dyn_cast<cf::AssertOp>(op))
    return check(assertion);
  if (auto load = dyn_cast<memref::LoadOp>(op))
    guardIndices(load.getIndicesMutable(), load.getMemRefType());
  else if (auto store = dyn_cast<memref::StoreOp>(op))
    guardIndices(store.getIndicesMutable(), store.getMemRefType());
  else
    guardOffsets(cast<memref::SubViewOp>(op));
}

/// Guards all accesses of the function and returns their number.
static unsigned addBoundsChecks(func::FuncOp func, OutsideReport report) {
  SmallVector<Operation *> accesses;
  func.walk([&](Operation *op) {
    if (isa<cf::AssertOp, memref::LoadOp, memref::StoreOp, memref::SubViewOp>(
            op))
      accesses.push_back(op);
  });
  BoundsChecker checker(report);
  for (Operation *op : accesses)
    checker.check(op);
  return checker.getNumChecks();
}

/// Lets the function return 0, or 1 if an index is out of bounds. Returns the
/// number of checks.
static unsigned returnStatus(func::FuncOp func) {
  OpBuilder b = OpBuilder::atBlockBegin(&func.getBody().front());
  Location loc = func.getLoc();
  Value status =
      memref::AllocaOp::create(b, loc, MemRefType::get({}, b.getI32Type()));
  auto set = [&](OpBuilder &b, Location loc, int64_t value) {
    Value number = arith::ConstantIntOp::create(b, loc, value, 32);
    memref::StoreOp::create(b, loc, number, status);
  };
  unsigned numChecks = addBoundsChecks(
      func, [&](OpBuilder &b, Location loc) { set(b, loc, /*value=*/1); });
  b.setInsertionPointAfterValue(status);
  set(b, loc, /*value=*/0);
  Operation *end = func.getBody().front().getTerminator();
  b.setInsertionPoint(end);
  Value result = memref::LoadOp::create(b, end->getLoc(), status);
  end->setOperands(result);
  func.setFunctionType(
      b.getFunctionType(func.getArgumentTypes(), TypeRange(result.getType())));
  return numChecks;
}

namespace {
class CheckBoundsPass
    : public kernel::impl::CheckBoundsPassBase<CheckBoundsPass> {
public:
  using CheckBoundsPassBase::CheckBoundsPassBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.getNumResults() != 0 || !func.getBody().hasOneBlock()) {
      func.emitError() << "expects a function of one block without results";
      return signalPassFailure();
    }
    if (report == kernel::BoundsReport::Status) {
      numChecks += returnStatus(func);
      return;
    }
    numChecks += addBoundsChecks(
        func, [](OpBuilder &b, Location loc) { LLVM::Trap::create(b, loc); });
  }
};
} // namespace
