//===- Communication.cpp - Operations that the partitioner inserts --------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Communication.h"

#include "../RankParts.h"

#include "regather/Dialect/TG/Targets/NodeTargets.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

Communication::Communication(const DataMesh &mesh, Block &block)
    : mesh(mesh), block(block), builder(block.getParent()->getContext()),
      loc(block.getParent()->getLoc()),
      phase(PhaseAttr::get(builder.getContext(), Phase::Forward)) {}

void Communication::setPlace(Operation *op) {
  setPlace(op, getPhase(op).value_or(Phase::Forward),
           op->getAttrOfType<StringAttr>(kModuleAttrName));
}

void Communication::setPlace(Operation *op, Phase newPhase, StringAttr path,
                             bool after) {
  if (after)
    builder.setInsertionPointAfter(op);
  else
    builder.setInsertionPoint(op);
  loc = op->getLoc();
  phase = PhaseAttr::get(builder.getContext(), newPhase);
  module = path;
}

Communication::Place Communication::getPlace() const {
  return {builder.saveInsertionPoint(), loc, phase, module};
}

void Communication::setPlace(const Place &place) {
  builder.restoreInsertionPoint(place.point);
  loc = place.loc;
  phase = place.phase;
  module = place.module;
}

Operation *Communication::mark(Operation *op) {
  if (!isa<CollectiveOpInterface>(op))
    op->setAttr(kPhaseAttrName, phase);
  if (module && !module.empty())
    op->setAttr(kModuleAttrName, module);
  return op;
}

SmallVector<Value> Communication::wait(Operation *collective) {
  mark(collective);
  ++numCollectives;
  Operation *wait =
      mark(WaitOp::create(builder, loc, collective->getResult(0)));
  return SmallVector<Value>(wait->getResults());
}

static FutureType getFuture(MLIRContext *context, TypeRange types) {
  return FutureType::get(context, SmallVector<Type>(types));
}

SmallVector<Value> Communication::gather(ValueRange shards, int64_t dim,
                                         AxesAttr axes, TypeRange types) {
  return wait(AllGatherOp::create(
      builder, loc, getFuture(builder.getContext(), types), shards, mesh.symbol,
      axes, builder.getI64IntegerAttr(dim), phase, IntegerAttr()));
}

SmallVector<Value> Communication::reduce(ValueRange values, Reduction reduction,
                                         AxesAttr axes) {
  if (mesh.segments) {
    assert(reduction != Reduction::Avg && "segments are divided");
    int64_t ranks = mesh.countRanks(axes);
    numCollectives += ranks > 1;
    return getTreeSums().reduce(values, reduction, mesh.symbol, axes, ranks,
                                /*stacks=*/mesh.segmented == Group::Shard);
  }
  return wait(AllReduceOp::create(
      builder, loc, getFuture(builder.getContext(), values.getTypes()), values,
      mesh.symbol, axes, ReductionAttr::get(builder.getContext(), reduction),
      TypeAttr(), phase, IntegerAttr()));
}

SmallVector<Value> Communication::scatter(ValueRange values,
                                          Reduction reduction, int64_t dim,
                                          AxesAttr axes, int64_t ranks) {
  if (mesh.segments) {
    assert(reduction != Reduction::Avg && "segments are divided");
    numCollectives += ranks > 1;
    return getTreeSums().scatter(values, reduction, dim, mesh.symbol, axes,
                                 ranks);
  }
  SmallVector<Type> types;
  for (Type type : values.getTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape(tensor.getShape());
    shape[dim] = getShardSize(shape[dim], ranks);
    types.push_back(tensor.clone(shape));
  }
  return wait(ReduceScatterOp::create(
      builder, loc, getFuture(builder.getContext(), types), values, mesh.symbol,
      axes, builder.getI64IntegerAttr(dim),
      ReductionAttr::get(builder.getContext(), reduction), TypeAttr(), phase,
      IntegerAttr()));
}

/// Which dimensions of the expanded tensor each dimension has become.
static SmallVector<ReassociationIndices> groupDims(int64_t rank,
                                                   ArrayRef<DimCut> cuts) {
  SmallVector<ReassociationIndices> groups(rank);
  int64_t next = 0;
  for (auto [dim, group] : llvm::enumerate(groups)) {
    group.push_back(next++);
    for (const DimCut &cut : cuts)
      if (cut.dim == static_cast<int64_t>(dim) && cut.outer != 1)
        group.push_back(next++);
  }
  return groups;
}

static bool areContiguous(ArrayRef<DimCut> cuts) {
  return llvm::all_of(cuts, [](const DimCut &cut) { return cut.outer == 1; });
}

/// Where the inner part of a dimension is in the expanded tensor.
static int64_t getInnerDim(int64_t rank, ArrayRef<DimCut> cuts, int64_t dim) {
  return groupDims(rank, cuts)[dim].back();
}

static SmallVector<int64_t> getExpandedShape(ArrayRef<int64_t> shape,
                                             ArrayRef<DimCut> cuts) {
  SmallVector<int64_t> expanded;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    int64_t outer = 1;
    for (const DimCut &cut : cuts)
      if (cut.dim == static_cast<int64_t>(dim))
        outer = cut.outer;
    if (outer != 1)
      expanded.push_back(outer);
    expanded.push_back(size / outer);
  }
  return expanded;
}

Value Communication::expandOuter(Value value, ArrayRef<DimCut> cuts) {
  auto type = cast<RankedTensorType>(value.getType());
  if (areContiguous(cuts))
    return value;
  return mark(tensor::ExpandShapeOp::create(
                  builder, loc,
                  type.clone(getExpandedShape(type.getShape(), cuts)), value,
                  groupDims(type.getRank(), cuts)))
      ->getResult(0);
}

Value Communication::collapseOuter(Value value, ArrayRef<DimCut> cuts,
                                   RankedTensorType type) {
  if (areContiguous(cuts))
    return value;
  return mark(tensor::CollapseShapeOp::create(builder, loc, type, value,
                                              groupDims(type.getRank(), cuts)))
      ->getResult(0);
}

Value Communication::gatherParts(Value part, const ValueState &state,
                                 Type type) {
  auto whole = cast<RankedTensorType>(type);
  DimCut cut = state.getCut();
  Value gathered =
      gather(expandOuter(part, cut), getInnerDim(whole.getRank(), cut, cut.dim),
             mesh.getAxes(state.group),
             whole.clone(getExpandedShape(whole.getShape(), cut)))
          .front();
  return collapseOuter(gathered, cut, whole);
}

Value Communication::scatterParts(Value value, Reduction reduction,
                                  const ValueState &state) {
  auto type = cast<RankedTensorType>(value.getType());
  DimCut cut = state.getCut();
  Value part = scatter(expandOuter(value, cut), reduction,
                       getInnerDim(type.getRank(), cut, cut.dim),
                       mesh.getAxes(state.group), mesh.getRanks(state.group))
                   .front();
  return collapseOuter(part, cut, mesh.getLocalType(type, state));
}

Value Communication::exchange(Value part, const ValueState &from,
                              const ValueState &to) {
  auto type = cast<RankedTensorType>(part.getType());
  int64_t ranks = mesh.getRanks(to.group);
  DimCut cuts[] = {from.getCut(), to.getCut()};
  int64_t split = getInnerDim(type.getRank(), cuts, to.dim);
  int64_t joined = getInnerDim(type.getRank(), cuts, from.dim);
  Value expanded = expandOuter(part, cuts);
  SmallVector<int64_t> sizes(
      cast<RankedTensorType>(expanded.getType()).getShape());
  sizes[joined] *= ranks;
  sizes[split] /= ranks;
  Value exchanged =
      wait(AllToAllOp::create(
               builder, loc, getFuture(builder.getContext(), type.clone(sizes)),
               expanded, mesh.symbol, mesh.getAxes(to.group),
               builder.getI64IntegerAttr(split),
               builder.getI64IntegerAttr(joined), phase, IntegerAttr()))
          .front();
  SmallVector<int64_t> shape(type.getShape());
  shape[from.dim] *= ranks;
  shape[to.dim] /= ranks;
  return collapseOuter(exchanged, cuts, type.clone(shape));
}

Value Communication::swap(Value value, int64_t dim, AxesAttr axes) {
  return wait(AllToAllOp::create(
                  builder, loc,
                  getFuture(builder.getContext(), value.getType()), value,
                  mesh.symbol, axes, builder.getI64IntegerAttr(dim),
                  builder.getI64IntegerAttr(dim), phase, IntegerAttr()))
      .front();
}

Value Communication::getOffset(Group group, int64_t size) {
  Value &offset = offsets[{static_cast<unsigned>(group), size}];
  if (offset)
    return offset;
  OpBuilder::InsertionGuard guard(builder);
  if (lastOffset)
    builder.setInsertionPointAfter(lastOffset);
  else
    builder.setInsertionPointToStart(&block);
  lastOffset = createPartOffset(builder, block.getParent()->getLoc(),
                                mesh.symbol, mesh.getAxes(group), size);
  return offset = lastOffset->getResult(0);
}

Operation *Communication::getLastInserted() {
  Block::iterator point = builder.getInsertionPoint();
  return point == builder.getInsertionBlock()->begin() ? nullptr
                                                       : &*std::prev(point);
}

Value Communication::drawPart(Value whole, const ValueState &state) {
  auto random = whole.getDefiningOp<RandomOp>();
  if (!random)
    return nullptr;
  auto type = cast<RankedTensorType>(whole.getType());
  RankedTensorType part = mesh.getLocalType(type, state);
  // A block of the outermost dimension has consecutive elements.
  bool isOutermost = llvm::all_of(type.getShape().take_front(state.dim),
                                  [](int64_t size) { return size == 1; });
  int64_t ranks = mesh.getRanks(state.group);
  if (!isOutermost || !state.isContiguous() ||
      part.getDimSize(state.dim) * ranks != type.getDimSize(state.dim))
    return nullptr;
  Value first = getOffset(state.group, part.getNumElements());
  // The whole may be a block of something larger, such as a micro-batch.
  if (Value start = random.getFirst())
    first =
        mark(arith::AddIOp::create(builder, loc, first, start))->getResult(0);
  return mark(RandomOp::create(builder, loc, part, random.getSeed(),
                               random.getOffset(), first,
                               random.getStreamAttr()))
      ->getResult(0);
}

void Communication::drawOwn(RandomOp random, int64_t parts) {
  Value first = random.getFirst();
  if (first && parts == 1)
    return;
  auto type = cast<RankedTensorType>(random.getType());
  // Only what is drawn for a micro-batch has a place in what the batch draws.
  int64_t size = type.getNumElements() * (first ? parts : 1);
  Value offset = getOffset(Group::Data, size);
  if (first) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(random);
    Operation *sum =
        arith::AddIOp::create(builder, random.getLoc(), offset, first);
    sum->setAttr(kPhaseAttrName,
                 PhaseAttr::get(builder.getContext(), Phase::Forward));
    offset = sum->getResult(0);
  }
  random.getFirstMutable().assign(offset);
}

/// A tensor that has no elements, such as the features behind the rotated ones
/// of a head whose features are all rotated.
Value Communication::makeEmpty(RankedTensorType type) {
  ArrayAttr args = builder.getArrayAttr(
      {builder.getI64ArrayAttr(type.getShape()), builder.getI64IntegerAttr(0)});
  return mark(NodeOp::create(
                  builder, loc, TypeRange(type),
                  builder.getStringAttr(getName(NodeTarget::AtenFullDefault)),
                  ValueRange(), args, DictionaryAttr(), UnitAttr()))
      ->getResult(0);
}

Value Communication::slice(Value whole, const ValueState &state) {
  auto type = cast<RankedTensorType>(whole.getType());
  // No offset is inside of a dimension without elements.
  if (type.getNumElements() == 0)
    return makeEmpty(mesh.getLocalType(type, state));
  DimCut cut = state.getCut();
  int64_t dim = getInnerDim(type.getRank(), cut, cut.dim);
  Value expanded = expandOuter(whole, cut);
  auto from = cast<RankedTensorType>(expanded.getType());
  int64_t ranks = mesh.getRanks(state.group);
  SmallVector<int64_t> shape(from.getShape());
  int64_t size = shape[dim] = getShardSize(shape[dim], ranks);
  if (size * ranks != from.getDimSize(dim))
    expanded = mark(createPadding(builder, loc, expanded, dim, size * ranks))
                   ->getResult(0);
  SmallVector<OpFoldResult> offsets(shape.size(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(shape.size(), builder.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes;
  for (int64_t extent : shape)
    sizes.push_back(builder.getIndexAttr(extent));
  offsets[dim] = getOffset(state.group, size);
  Value part =
      mark(tensor::ExtractSliceOp::create(builder, loc, from.clone(shape),
                                          expanded, offsets, sizes, strides))
          ->getResult(0);
  return collapseOuter(part, cut, mesh.getLocalType(type, state));
}

Value Communication::takeSegment(Value value, DimCut cut, int64_t number,
                                 int64_t count) {
  // A future has no segments.
  if (count == 1)
    return value;
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[cut.dim] /= count;
  Value segment = getTreeSums().takeBlock(
      expandOuter(value, cut), getInnerDim(type.getRank(), cut, cut.dim),
      number, count);
  return collapseOuter(segment, cut, type.clone(shape));
}

Value Communication::joinSegments(ValueRange segments, DimCut cut) {
  if (segments.size() == 1)
    return segments.front();
  auto type = cast<RankedTensorType>(segments.front().getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[cut.dim] *= static_cast<int64_t>(segments.size());
  SmallVector<Value> expanded;
  for (Value segment : segments)
    expanded.push_back(expandOuter(segment, cut));
  return collapseOuter(getTreeSums().concatenate(
                           expanded, getInnerDim(type.getRank(), cut, cut.dim)),
                       cut, type.clone(shape));
}

SmallVector<Value> Communication::unflatten(Value flat,
                                            ArrayRef<int64_t> offsets,
                                            TypeRange types) {
  return mark(UnflattenOp::create(builder, loc, types, flat, offsets))
      ->getResults();
}

Value Communication::flatten(ValueRange tensors, ArrayRef<int64_t> offsets,
                             int64_t size) {
  auto type = cast<RankedTensorType>(tensors.front().getType());
  return mark(FlattenOp::create(builder, loc, type.clone({size}), tensors,
                                offsets))
      ->getResult(0);
}

Value Communication::castTo(Value value, Type element) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType() == element)
    return value;
  auto kwargs = builder.getDictionaryAttr(
      builder.getNamedAttr("dtype", TypeAttr::get(element)));
  return mark(NodeOp::create(
                  builder, loc, TypeRange(type.clone(element)),
                  builder.getStringAttr(getName(NodeTarget::AtenToCopyDefault)),
                  ValueRange(value), ArrayAttr(), kwargs, UnitAttr()))
      ->getResult(0);
}
