//===- ScatterLoop.cpp - Loops that write at places of data ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/Transforms/ScatterLoop.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace regather;
using kernel::Scatter;

//===----------------------------------------------------------------------===//
// Match
//===----------------------------------------------------------------------===//

/// True if the slice is row `row` of a tensor.
static bool isRow(OffsetSizeAndStrideOpInterface slice, Value row) {
  SmallVector<OpFoldResult> offsets = slice.getMixedOffsets();
  return offsets.size() == 2 &&
         llvm::all_of(slice.getStaticStrides(),
                      [](int64_t stride) { return stride == 1; }) &&
         slice.getStaticSizes()[0] == 1 && dyn_cast<Value>(offsets[0]) == row &&
         isConstantIntValue(offsets[1], 0);
}

/// The tensor of which `value` is row `row`; null if it is none.
static Value getRowSource(Value value, Value row) {
  auto slice = value.getDefiningOp<tensor::ExtractSliceOp>();
  return slice && isRow(slice, row) ? slice.getSource() : Value();
}

static bool isCombination(linalg::GenericOp op) {
  return op.getNumDpsInputs() == 2 && op.getNumResults() == 1 &&
         op.getNumParallelLoops() == op.getNumLoops() &&
         !op.hasIndexSemantics() &&
         op.getMatchingBlockArgument(op.getDpsInitOperand(0)).use_empty() &&
         llvm::all_of(op.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isIdentity(); });
}

std::optional<Scatter> kernel::matchScatter(scf::ForOp loop) {
  if (loop.getNumResults() != 1 ||
      !matchPattern(loop.getLowerBound(), m_Zero()) ||
      !matchPattern(loop.getStep(), m_One()))
    return std::nullopt;
  auto type = dyn_cast<RankedTensorType>(loop.getResult(0).getType());
  auto insert = loop.getBody()
                    ->getTerminator()
                    ->getOperand(0)
                    .getDefiningOp<tensor::InsertSliceOp>();
  Value carried = loop.getRegionIterArg(0), step = loop.getInductionVar();
  if (!type || type.getRank() != 2 || !insert || insert.getDest() != carried)
    return std::nullopt;
  auto row = dyn_cast<Value>(insert.getMixedOffsets()[0]);
  auto cast = row ? row.getDefiningOp<arith::IndexCastOp>() : nullptr;
  auto index = cast ? cast.getIn().getDefiningOp<tensor::ExtractOp>() : nullptr;
  if (!index || !isRow(insert, row) ||
      ValueRange(index.getIndices()) != ValueRange(step))
    return std::nullopt;
  Scatter found;
  found.loop = loop;
  found.type = type;
  found.indices = index.getTensor();
  found.combine = insert.getSource().getDefiningOp<linalg::GenericOp>();
  Value source = insert.getSource();
  if (found.combine) {
    if (!isCombination(found.combine) ||
        getRowSource(found.combine.getOperand(0), row) != carried)
      return std::nullopt;
    source = found.combine.getOperand(1);
  }
  found.values = getRowSource(source, step);
  if (!found.values || !loop.isDefinedOutsideOfLoop(found.indices) ||
      !loop.isDefinedOutsideOfLoop(found.values))
    return std::nullopt;
  std::optional<int64_t> count = getConstantIntValue(loop.getUpperBound());
  if (!count || *count != found.getCount())
    return std::nullopt;
  return found;
}

Value kernel::combineElement(ImplicitLocOpBuilder &b, const Scatter &scatter,
                             Value previous, Value value) {
  if (!scatter.combine)
    return value;
  IRMapping map;
  linalg::GenericOp combine = scatter.combine;
  Block &body = *combine.getBlock();
  map.map(body.getArgument(0), previous);
  map.map(body.getArgument(1), value);
  for (Operation &op : body.without_terminator())
    b.clone(op, map);
  return map.lookupOrDefault(body.getTerminator()->getOperand(0));
}

//===----------------------------------------------------------------------===//
// One row
//===----------------------------------------------------------------------===//

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

void kernel::selectSingleScatters(ModuleOp module) {
  SmallVector<Scatter> found;
  module.walk([&](scf::ForOp loop) {
    std::optional<Scatter> scatter = matchScatter(loop);
    if (scatter && scatter->getCount() == 1)
      found.push_back(*scatter);
  });
  for (Scatter &scatter : found)
    Selection(scatter).emit();
}
