//===- OperationConversion.cpp - Operations of shard as tg ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A result that shard leaves undefined on some devices may be anything there,
// so a gather or a reduction to a root becomes the collective that gives the
// result to all devices.
//
//===----------------------------------------------------------------------===//

#include "OperationConversion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace regather;
using namespace regather::shardtotg;

namespace {
/// Builds what takes the place of one operation, before it.
class Converter {
public:
  Converter(Operation *op, const AxisNames &names,
            SymbolTableCollection &tables)
      : op(op), names(names), tables(tables), builder(op),
        phase(tg::PhaseAttr::get(
            op->getContext(), tg::getPhase(op).value_or(tg::Phase::Forward))) {}

  void run();
  int64_t getNumCollectives() const { return numCollectives; }

private:
  shard::GridOp getGrid() {
    return shard::getGrid(op, op->getAttrOfType<FlatSymbolRefAttr>("grid"),
                          tables);
  }
  FlatSymbolRefAttr getMesh() {
    return op->getAttrOfType<FlatSymbolRefAttr>("grid");
  }
  RankedTensorType getResultType() {
    return cast<RankedTensorType>(op->getResult(0).getType());
  }
  Value getConstant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, op->getLoc(), value);
  }
  Value getAxisIndex(tg::AxesAttr axes) {
    return tg::AxisIndexOp::create(builder, op->getLoc(),
                                   builder.getIndexType(), getMesh(), axes);
  }

  /// Starts a collective with one member and waits for it.
  template <typename CollectiveOp, typename... Attributes>
  Value communicate(RankedTensorType result, Value input, tg::AxesAttr axes,
                    Attributes... attributes);
  Value broadcast(Value input, ArrayRef<shard::GridAxis> axes,
                  ArrayRef<int64_t> root);
  /// The part of `input` along `dim` that belongs to this device.
  Value slice(Value input, ArrayRef<shard::GridAxis> axes, int64_t dim);
  /// Swaps the order of all numbers, so that a maximum finds the minimum.
  Value reverseOrder(Value value);
  /// Builds a reduction by `build(input, reduction)`.
  Value reduce(Value input, shard::ReductionKind kind,
               llvm::function_ref<Value(Value, tg::ReductionAttr)> build);
  Value allReduce(Value input, shard::ReductionKind kind,
                  ArrayRef<shard::GridAxis> axes);
  Value reduceScatter(Value input, shard::ReductionKind kind,
                      ArrayRef<shard::GridAxis> axes, int64_t dim);
  Value sliceOrScatter(shard::AllSliceOp op, ArrayRef<shard::GridAxis> axes);
  Value shift(shard::ShiftOp op);
  Value convertCollective();

  void convertGridShape(shard::GridShapeOp op);
  void convertMultiIndex(shard::ProcessMultiIndexOp op);
  void convertNeighbors(shard::NeighborsLinearIndicesOp op);

  Operation *op;
  const AxisNames &names;
  SymbolTableCollection &tables;
  OpBuilder builder;
  tg::PhaseAttr phase;
  int64_t numCollectives = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

template <typename CollectiveOp, typename... Attributes>
Value Converter::communicate(RankedTensorType result, Value input,
                             tg::AxesAttr axes, Attributes... attributes) {
  auto future = tg::FutureType::get(op->getContext(), {result});
  auto start =
      CollectiveOp::create(builder, op->getLoc(), future, ValueRange(input),
                           getMesh(), axes, attributes..., phase,
                           /*generation=*/IntegerAttr());
  for (NamedAttribute named : op->getDiscardableAttrs())
    if (named.getName() != tg::kPhaseAttrName)
      start->setDiscardableAttr(named.getName(), named.getValue());
  ++numCollectives;
  return tg::WaitOp::create(builder, op->getLoc(), start.getFuture())
      .getResult(0);
}

Value Converter::broadcast(Value input, ArrayRef<shard::GridAxis> axes,
                           ArrayRef<int64_t> root) {
  return communicate<tg::BroadcastOp>(
      cast<RankedTensorType>(input.getType()), input, names.getAxes(axes),
      builder.getI64IntegerAttr(getLinearIndex(getGrid(), axes, root)));
}

Value Converter::slice(Value input, ArrayRef<shard::GridAxis> axes,
                       int64_t dim) {
  RankedTensorType type = getResultType();
  Value index = getAxisIndex(names.getAxes(axes));
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1));
  offsets[dim] = arith::MulIOp::create(builder, op->getLoc(), index,
                                       getConstant(type.getDimSize(dim)))
                     .getResult();
  return tensor::ExtractSliceOp::create(
      builder, op->getLoc(), type, input, offsets,
      getAsIndexOpFoldResult(op->getContext(), type.getShape()), strides);
}

Value Converter::reverseOrder(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (isa<FloatType>(type.getElementType()))
    return arith::NegFOp::create(builder, op->getLoc(), value);
  // Takes the complement, since the smallest number has no negation.
  Attribute ones = builder.getIntegerAttr(type.getElementType(), -1);
  Value mask = arith::ConstantOp::create(builder, op->getLoc(),
                                         DenseElementsAttr::get(type, ones));
  return arith::XOrIOp::create(builder, op->getLoc(), value, mask);
}

Value Converter::reduce(
    Value input, shard::ReductionKind kind,
    llvm::function_ref<Value(Value, tg::ReductionAttr)> build) {
  auto with = [&](Value value, tg::Reduction reduction) {
    return build(value, tg::ReductionAttr::get(op->getContext(), reduction));
  };
  switch (kind) {
  case shard::ReductionKind::Max:
    return with(input, tg::Reduction::Max);
  case shard::ReductionKind::Min:
    return reverseOrder(with(reverseOrder(input), tg::Reduction::Max));
  case shard::ReductionKind::Average:
    return with(input, tg::Reduction::Avg);
  default:
    assert(kind == shard::ReductionKind::Sum && "was not checked");
    return with(input, tg::Reduction::Sum);
  }
}

Value Converter::allReduce(Value input, shard::ReductionKind kind,
                           ArrayRef<shard::GridAxis> axes) {
  return reduce(input, kind, [&](Value value, tg::ReductionAttr reduction) {
    return communicate<tg::AllReduceOp>(getResultType(), value,
                                        names.getAxes(axes), reduction,
                                        /*accumulate=*/TypeAttr());
  });
}

Value Converter::reduceScatter(Value input, shard::ReductionKind kind,
                               ArrayRef<shard::GridAxis> axes, int64_t dim) {
  return reduce(input, kind, [&](Value value, tg::ReductionAttr reduction) {
    return communicate<tg::ReduceScatterOp>(
        getResultType(), value, names.getAxes(axes),
        builder.getI64IntegerAttr(dim), reduction, /*accumulate=*/TypeAttr());
  });
}

/// The upstream partition has no reduce-scatter: it makes an all-reduce and
/// then a slice.
Value Converter::sliceOrScatter(shard::AllSliceOp op,
                                ArrayRef<shard::GridAxis> axes) {
  int64_t dim = op.getSliceAxis().getSExtValue();
  auto reduced = op.getInput().getDefiningOp<shard::AllReduceOp>();
  if (!reduced || !reduced->hasOneUse() ||
      reduced->getBlock() != op->getBlock() ||
      reduced.getGrid() != op.getGrid() || reduced.getGridAxes() != axes ||
      reduced->getDiscardableAttrDictionary() !=
          op->getDiscardableAttrDictionary())
    return slice(op.getInput(), axes, dim);
  return reduceScatter(reduced.getInput(), reduced.getReduction(), axes, dim);
}

/// The device at position i gets the data of the one at i - offset. Coordinates
/// along other axes of the group stay.
Value Converter::shift(shard::ShiftOp op) {
  shard::GridAxis axis = op.getShiftAxis().getSExtValue();
  int64_t size = getGrid().getShape()[axis];
  int64_t offset = op.getOffset();
  SmallVector<int64_t> sources, targets;
  for (int64_t source = 0; source != size; ++source) {
    // The remainder is taken first, because the sum with a large offset could
    // overflow.
    int64_t target = source + offset % size;
    if (op.getRotate())
      target = (target + size) % size;
    else if (offset >= size || offset <= -size || target < 0 || target >= size)
      continue;
    sources.push_back(source);
    targets.push_back(target);
  }
  return communicate<tg::PermuteOp>(getResultType(), op.getInput(),
                                    names.getAxes(axis),
                                    builder.getDenseI64ArrayAttr(sources),
                                    builder.getDenseI64ArrayAttr(targets));
}

Value Converter::convertCollective() {
  Value input = op->getOperand(0);
  // The attribute is absent if there are no axes, its default.
  auto listed = op->getAttrOfType<shard::GridAxesAttr>("grid_axes");
  ArrayRef<shard::GridAxis> axes =
      listed ? listed.asArrayRef() : ArrayRef<shard::GridAxis>();
  auto toDim = [&](IntegerAttr dim) {
    return builder.getI64IntegerAttr(dim.getInt());
  };
  auto gather = [&](IntegerAttr dim) {
    return communicate<tg::AllGatherOp>(getResultType(), input,
                                        names.getAxes(axes), toDim(dim));
  };
  // The group of no axes is the device alone.
  if (axes.empty())
    return input;
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case(
          [&](shard::AllGatherOp op) { return gather(op.getGatherAxisAttr()); })
      .Case([&](shard::GatherOp op) { return gather(op.getGatherAxisAttr()); })
      .Case<shard::AllReduceOp, shard::ReduceOp>(
          [&](auto op) { return allReduce(input, op.getReduction(), axes); })
      .Case([&](shard::ReduceScatterOp op) {
        return reduceScatter(input, op.getReduction(), axes,
                             op.getScatterAxis().getSExtValue());
      })
      .Case([&](shard::AllToAllOp op) {
        return communicate<tg::AllToAllOp>(
            getResultType(), input, names.getAxes(axes),
            toDim(op.getSplitAxisAttr()), toDim(op.getConcatAxisAttr()));
      })
      .Case([&](shard::AllSliceOp op) { return sliceOrScatter(op, axes); })
      .Case([&](shard::BroadcastOp op) {
        return broadcast(input, axes, op.getRoot());
      })
      .Case([&](shard::ScatterOp op) {
        return slice(broadcast(input, axes, op.getRoot()), axes,
                     op.getScatterAxis().getSExtValue());
      })
      .Case([&](shard::ShiftOp op) { return shift(op); });
}

//===----------------------------------------------------------------------===//
// Positions and sizes
//===----------------------------------------------------------------------===//

void Converter::convertGridShape(shard::GridShapeOp op) {
  ArrayRef<int64_t> shape = getGrid().getShape();
  ArrayRef<shard::GridAxis> axes = op.getAxes();
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    result.replaceAllUsesWith(getConstant(shape[axes.empty() ? i : axes[i]]));
}

void Converter::convertMultiIndex(shard::ProcessMultiIndexOp op) {
  ArrayRef<shard::GridAxis> axes = op.getAxes();
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    auto axis = static_cast<shard::GridAxis>(axes.empty() ? i : axes[i]);
    result.replaceAllUsesWith(getAxisIndex(names.getAxes(axis)));
  }
}

/// A neighbour differs in one coordinate, so its number differs by the stride
/// of that axis; beyond the ends there is none.
void Converter::convertNeighbors(shard::NeighborsLinearIndicesOp op) {
  Location loc = op.getLoc();
  ArrayRef<int64_t> shape = getGrid().getShape();
  int64_t axis = op.getSplitAxes().front();
  Value linear = getConstant(0);
  for (auto [size, index] : llvm::zip_equal(shape, op.getDevice())) {
    linear = arith::MulIOp::create(builder, loc, linear, getConstant(size));
    linear = arith::AddIOp::create(builder, loc, linear, index);
  }
  Value stride = getConstant(llvm::product_of(shape.drop_front(axis + 1)));
  auto select = [&](int64_t end, Value neighbor) {
    Value isLast =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                              op.getDevice()[axis], getConstant(end));
    return arith::SelectOp::create(builder, loc, isLast, getConstant(-1),
                                   neighbor);
  };
  op.getNeighborDown().replaceAllUsesWith(
      select(0, arith::SubIOp::create(builder, loc, linear, stride)));
  op.getNeighborUp().replaceAllUsesWith(select(
      shape[axis] - 1, arith::AddIOp::create(builder, loc, linear, stride)));
}

void Converter::run() {
  // A dead operation may be a reduction that became part of a reduce-scatter.
  if (op->use_empty())
    return op->erase();
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](shard::GridShapeOp op) { convertGridShape(op); })
      .Case([&](shard::ProcessMultiIndexOp op) { convertMultiIndex(op); })
      .Case([&](shard::ProcessLinearIndexOp op) {
        op.getResult().replaceAllUsesWith(
            getAxisIndex(names.getAllAxes(getGrid())));
      })
      .Case([&](shard::NeighborsLinearIndicesOp op) { convertNeighbors(op); })
      .Default([&](Operation *op) {
        op->getResult(0).replaceAllUsesWith(convertCollective());
      });
  op->erase();
}

int64_t regather::shardtotg::convertOperation(Operation *op,
                                              const AxisNames &names,
                                              SymbolTableCollection &tables) {
  Converter converter(op, names, tables);
  converter.run();
  return converter.getNumCollectives();
}
