//===- SelectSingleScatters.cpp - Scatters of one row as selections -------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/Transforms/Passes.h"
#include "regather/Kernel/Transforms/ScatterLoop.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather;
using kernel::Scatter;

namespace regather::kernel {
#define GEN_PASS_DEF_SELECTSINGLESCATTERSPASS
#include "regather/Kernel/Transforms/Passes.h.inc"
} // namespace regather::kernel

/// Where `value` only changes its shape, the last shape that it takes.
static Value getFinalShape(Value value) {
  while (
      value.hasOneUse() &&
      isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(*value.user_begin()))
    value = value.user_begin()->getResult(0);
  return value;
}

/// The tensor of type `type` that `value` has been; null if there is none.
static Value getFirstShape(Value value, Type type) {
  while (value.getType() != type &&
         isa_and_present<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(
             value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value.getType() == type ? value : Value();
}

namespace {
/// Writes a scatter of one row as a selection.
class Selection {
public:
  explicit Selection(Scatter scatter)
      : scatter(scatter), b(scatter.loop.getLoc(), scatter.loop),
        into(scatter.loop.getInitArgs()[0]), result(scatter.loop.getResult(0)) {
    // Rows of one element are those of a tensor of another shape.
    Value last = getFinalShape(result);
    Value first = getFirstShape(into, last.getType());
    if (scatter.getWidth() != 1 || (!first && !getFill()))
      return;
    into = first ? first : into;
    result = last;
  }

  void emit();

private:
  linalg::FillOp getFill() { return into.getDefiningOp<linalg::FillOp>(); }
  Value emitTarget();
  /// The number of the row that is computed.
  Value emitRow(ImplicitLocOpBuilder &b);

  Scatter scatter;
  ImplicitLocOpBuilder b;
  /// The old tensor and the new one, of one type unless the old one is filled.
  Value into, result;
};
} // namespace

Value Selection::emitTarget() {
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value target = tensor::ExtractOp::create(b, scatter.indices, zero);
  target = arith::IndexCastOp::create(b, b.getIndexType(), target);
  Value extent = arith::ConstantIndexOp::create(b, scatter.getExtent());
  // Unsigned: a negative index is a large one.
  Value isInside =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, target, extent);
  cf::AssertOp::create(b, isInside, "an index is out of bounds");
  return target;
}

Value Selection::emitRow(ImplicitLocOpBuilder &b) {
  if (result == scatter.loop.getResult(0))
    return linalg::IndexOp::create(b, 0);
  Value row;
  for (auto [dim, size] :
       llvm::enumerate(cast<RankedTensorType>(result.getType()).getShape())) {
    if (size == 1)
      continue;
    Value index = linalg::IndexOp::create(b, dim);
    if (row) {
      Value length = arith::ConstantIndexOp::create(b, size);
      row = arith::MulIOp::create(b, row, length);
      index = arith::AddIOp::create(b, row, index);
    }
    row = index;
  }
  return row ? row : Value(arith::ConstantIndexOp::create(b, 0));
}

void Selection::emit() {
  auto type = cast<RankedTensorType>(result.getType());
  Value target = emitTarget();
  unsigned rank = type.getRank();
  AffineMap all = b.getMultiDimIdentityMap(rank);
  // The only row of values has the columns of the result.
  AffineExpr column = b.getAffineConstantExpr(0);
  if (result == scatter.loop.getResult(0))
    column = b.getAffineDimExpr(1);
  SmallVector<AffineMap> maps = {
      all,
      AffineMap::get(rank, 0, {b.getAffineConstantExpr(0), column},
                     b.getContext()),
      all};
  if (linalg::FillOp fill = getFill()) {
    into = fill.value();
    maps.front() = AffineMap::get(rank, 0, b.getContext());
  }
  Value empty =
      tensor::EmptyOp::create(b, type.getShape(), type.getElementType());
  SmallVector<utils::IteratorType> types(rank, utils::IteratorType::parallel);
  auto rows = linalg::GenericOp::create(
      b, type, ValueRange{into, scatter.values}, empty, maps, types,
      [&](OpBuilder &builder, Location loc, ValueRange v) {
        ImplicitLocOpBuilder b(loc, builder);
        Value isHere = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                             emitRow(b), target);
        Value next = kernel::combineElement(b, scatter, v[0], v[1]);
        linalg::YieldOp::create(
            b, Value(arith::SelectOp::create(b, isHere, next, v[0])));
      });
  // What only changed the shape of the loop's result goes with it.
  SmallVector<Operation *> views;
  for (Value view = result; view != scatter.loop.getResult(0);
       view = view.getDefiningOp()->getOperand(0))
    views.push_back(view.getDefiningOp());
  result.replaceAllUsesWith(rows.getResult(0));
  for (Operation *view : views)
    view->erase();
  scatter.loop.erase();
}

namespace {
class SelectSingleScattersPass
    : public kernel::impl::SelectSingleScattersPassBase<
          SelectSingleScattersPass> {
public:
  using SelectSingleScattersPassBase::SelectSingleScattersPassBase;

  void runOnOperation() override {
    SmallVector<Scatter> found;
    getOperation().walk([&](scf::ForOp loop) {
      std::optional<Scatter> scatter = kernel::matchScatter(loop);
      if (scatter && scatter->getCount() == 1)
        found.push_back(*scatter);
    });
    for (Scatter &scatter : found)
      Selection(scatter).emit();
    numSelected += found.size();
  }
};
} // namespace
