//===- TGCollectiveOps.cpp - Verification and size of collectives ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TGFutureUses.h"

#include "regather/Dialect/TG/IR/TG.h"

#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace regather::tg;

//===----------------------------------------------------------------------===//
// What all collectives have in common
//===----------------------------------------------------------------------===//

static RankedTensorType getInputType(CollectiveOpInterface op, unsigned i) {
  return cast<RankedTensorType>(op.getInputs()[i].getType());
}

static RankedTensorType getMemberType(CollectiveOpInterface op, unsigned i) {
  return cast<RankedTensorType>(op.getFuture().getType().getTensors()[i]);
}

/// Checks everything that does not need the mesh.
static LogicalResult verifyCollective(CollectiveOpInterface op) {
  ArrayRef<Type> members = op.getFuture().getType().getTensors();
  if (members.size() != op.getInputs().size())
    return op.emitOpError()
           << "expects a future of " << op.getInputs().size()
           << " tensors, one for each operand, got " << members.size();
  for (unsigned i = 0, e = members.size(); i != e; ++i) {
    RankedTensorType input = getInputType(op, i);
    RankedTensorType member = getMemberType(op, i);
    for (auto [dim, size] : llvm::enumerate(input.getShape()))
      if (ShapedType::isDynamic(size))
        return op.emitOpError()
               << "operand " << i << " must have a static shape, but dimension "
               << dim << " of " << input << " is dynamic";
    if (!input.getElementType().isIntOrIndexOrFloat()) {
      InFlightDiagnostic diag =
          op.emitOpError()
          << "operand " << i
          << " must have integer or floating-point elements, got " << input;
      if (isa<ComplexType>(input.getElementType()))
        diag.attachNote() << "--expand-tg-complex-nodes makes real tensors of "
                             "complex ones before a step is sharded";
      return diag;
    }
    if (input.getElementType() != member.getElementType())
      return op.emitOpError()
             << "member " << i << " must have element type "
             << input.getElementType() << " of its operand, got "
             << member.getElementType();
    if (input.getRank() != member.getRank())
      return op.emitOpError()
             << "member " << i << " must have rank " << input.getRank()
             << " of its operand, got " << member;
  }
  return verifyFutureUses(op, op.getFuture());
}

/// Finds the mesh and checks the shapes of every member against it.
static LogicalResult verifyCollectiveOnMesh(CollectiveOpInterface op,
                                            SymbolTableCollection &tables) {
  FailureOr<MeshOp> mesh =
      verifyMeshAndAxes(op, op.getMeshAttr(), op.getAxesAttr(), tables);
  if (failed(mesh))
    return failure();
  int64_t ranks = mesh->getGroupSize(op.getAxesAttr());
  for (unsigned i = 0, e = op.getInputs().size(); i != e; ++i) {
    if (failed(op.verifyMember(i, ranks)))
      return failure();
  }
  return success();
}

/// Checks that `dim` is a dimension of operand `i`.
static LogicalResult verifyDim(CollectiveOpInterface op, unsigned i,
                               StringRef what, uint64_t dim) {
  RankedTensorType input = getInputType(op, i);
  if (dim < static_cast<uint64_t>(input.getRank()))
    return success();
  return op.emitOpError() << what << " " << dim
                          << " is out of range for operand " << i << " of type "
                          << input;
}

/// Checks that member `i` has the shape of operand `i` except that along each
/// of `changed` it has the given size.
static LogicalResult
verifyMemberShape(CollectiveOpInterface op, unsigned i, int64_t ranks,
                  ArrayRef<std::pair<uint64_t, int64_t>> changed) {
  RankedTensorType member = getMemberType(op, i);
  SmallVector<int64_t> expected(getInputType(op, i).getShape());
  for (auto [dim, size] : changed)
    expected[dim] = size;
  for (auto [dim, size] : llvm::enumerate(expected))
    if (member.getDimSize(dim) != size)
      return op.emitOpError()
             << "expects " << size << " elements along dimension " << dim
             << " of member " << i << " for " << ranks << " ranks, got "
             << member.getDimSize(dim);
  return success();
}

/// Checks a dimension that is sharded in operand `i` and whole in member `i`.
static LogicalResult verifyGatheredDim(CollectiveOpInterface op, unsigned i,
                                       int64_t ranks, uint64_t dim) {
  int64_t gathered = getMemberType(op, i).getDimSize(dim);
  int64_t shard = getInputType(op, i).getDimSize(dim);
  if (shard == getShardSize(gathered, ranks))
    return success();
  return op.emitOpError() << "expects shards of "
                          << getShardSize(gathered, ranks)
                          << " elements along dimension " << dim
                          << " to gather " << gathered << " over " << ranks
                          << " ranks, got " << shard;
}

static LogicalResult verifyAccumulation(CollectiveOpInterface op,
                                        Reduction reduction,
                                        std::optional<Type> accumulate) {
  if (accumulate && !accumulate->isF32() && !accumulate->isF64())
    return op.emitOpError()
           << "accumulation type must be f32 or f64, got " << *accumulate;
  for (unsigned i = 0, e = op.getInputs().size(); i != e; ++i) {
    Type element = getInputType(op, i).getElementType();
    bool isFloat = isa<FloatType>(element);
    if (!isFloat && reduction == Reduction::Avg)
      return op.emitOpError()
             << "avg needs floating-point elements, but operand " << i
             << " has type " << getInputType(op, i);
    if (!accumulate)
      continue;
    if (!isFloat)
      return op.emitOpError() << "integers accumulate in their own type, but "
                                 "operand "
                              << i << " of type " << getInputType(op, i)
                              << " is to accumulate in " << *accumulate;
    if (accumulate->getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
      return op.emitOpError() << "accumulation type " << *accumulate
                              << " is narrower than the elements of operand "
                              << i << " of type " << getInputType(op, i);
  }
  return success();
}

static int64_t getInputBytes(CollectiveOpInterface op) {
  int64_t bytes = 0;
  for (Value input : op.getInputs())
    bytes += getTensorBytes(cast<RankedTensorType>(input.getType()));
  return bytes;
}

static int64_t getMemberBytes(CollectiveOpInterface op) {
  int64_t bytes = 0;
  for (Type member : op.getFuture().getType().getTensors())
    bytes += getTensorBytes(cast<RankedTensorType>(member));
  return bytes;
}

//===----------------------------------------------------------------------===//
// AllGatherOp
//===----------------------------------------------------------------------===//

LogicalResult AllGatherOp::verify() { return verifyCollective(*this); }

LogicalResult AllGatherOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyCollectiveOnMesh(*this, tables);
}

LogicalResult AllGatherOp::verifyMember(unsigned i, int64_t ranks) {
  if (failed(verifyDim(*this, i, "dimension", getDim())) ||
      failed(verifyGatheredDim(*this, i, ranks, getDim())))
    return failure();
  int64_t gathered = getMemberType(*this, i).getDimSize(getDim());
  return verifyMemberShape(*this, i, ranks, {{getDim(), gathered}});
}

int64_t AllGatherOp::getReceivedBytes(int64_t ranks) {
  return (ranks - 1) * getInputBytes(*this);
}

//===----------------------------------------------------------------------===//
// ReduceScatterOp
//===----------------------------------------------------------------------===//

LogicalResult ReduceScatterOp::verify() {
  if (failed(verifyCollective(*this)))
    return failure();
  return verifyAccumulation(*this, getReduction(), getAccumulate());
}

LogicalResult ReduceScatterOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyCollectiveOnMesh(*this, tables);
}

LogicalResult ReduceScatterOp::verifyMember(unsigned i, int64_t ranks) {
  if (failed(verifyDim(*this, i, "dimension", getDim())))
    return failure();
  int64_t whole = getInputType(*this, i).getDimSize(getDim());
  return verifyMemberShape(*this, i, ranks,
                           {{getDim(), getShardSize(whole, ranks)}});
}

int64_t ReduceScatterOp::getReceivedBytes(int64_t ranks) {
  return (ranks - 1) * getMemberBytes(*this);
}

//===----------------------------------------------------------------------===//
// AllReduceOp
//===----------------------------------------------------------------------===//

LogicalResult AllReduceOp::verify() {
  if (failed(verifyCollective(*this)))
    return failure();
  return verifyAccumulation(*this, getReduction(), getAccumulate());
}

LogicalResult AllReduceOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyCollectiveOnMesh(*this, tables);
}

LogicalResult AllReduceOp::verifyMember(unsigned i, int64_t ranks) {
  return verifyMemberShape(*this, i, ranks, {});
}

/// A reduce-scatter and an all-gather of what it left.
int64_t AllReduceOp::getReceivedBytes(int64_t ranks) {
  return 2 * (ranks - 1) * getShardSize(getInputBytes(*this), ranks);
}

//===----------------------------------------------------------------------===//
// AllToAllOp
//===----------------------------------------------------------------------===//

LogicalResult AllToAllOp::verify() { return verifyCollective(*this); }

LogicalResult AllToAllOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyCollectiveOnMesh(*this, tables);
}

LogicalResult AllToAllOp::verifyMember(unsigned i, int64_t ranks) {
  if (failed(verifyDim(*this, i, "split dimension", getSplitDim())) ||
      failed(verifyDim(*this, i, "concat dimension", getConcatDim())))
    return failure();
  int64_t split = getInputType(*this, i).getDimSize(getSplitDim());
  if (getSplitDim() == getConcatDim()) {
    if (split % ranks != 0)
      return emitOpError() << "expects a multiple of " << ranks
                           << " elements along dimension " << getSplitDim()
                           << " of operand " << i << ", got " << split;
    return verifyMemberShape(*this, i, ranks, {});
  }
  if (failed(verifyGatheredDim(*this, i, ranks, getConcatDim())))
    return failure();
  int64_t gathered = getMemberType(*this, i).getDimSize(getConcatDim());
  return verifyMemberShape(*this, i, ranks,
                           {{getSplitDim(), getShardSize(split, ranks)},
                            {getConcatDim(), gathered}});
}

int64_t AllToAllOp::getReceivedBytes(int64_t ranks) {
  return (ranks - 1) * getShardSize(getMemberBytes(*this), ranks);
}

//===----------------------------------------------------------------------===//
// BroadcastOp
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() { return verifyCollective(*this); }

LogicalResult BroadcastOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (failed(verifyCollectiveOnMesh(*this, tables)))
    return failure();
  auto mesh = tables.lookupNearestSymbolFrom<MeshOp>(*this, getMeshAttr());
  int64_t ranks = mesh.getGroupSize(getAxes());
  if (getRoot() >= static_cast<uint64_t>(ranks))
    return emitOpError() << "root must be below " << ranks
                         << ", the number of ranks in the group, got "
                         << getRoot();
  return success();
}

LogicalResult BroadcastOp::verifyMember(unsigned i, int64_t ranks) {
  return verifyMemberShape(*this, i, ranks, {});
}

int64_t BroadcastOp::getReceivedBytes(int64_t ranks) {
  return ranks == 1 ? 0 : getInputBytes(*this);
}

//===----------------------------------------------------------------------===//
// PermuteOp
//===----------------------------------------------------------------------===//

LogicalResult PermuteOp::verify() {
  if (getSources().size() != getTargets().size())
    return emitOpError() << "expects as many targets as sources, got "
                         << getTargets().size() << " and "
                         << getSources().size();
  llvm::SmallSet<int64_t, 8> sources, targets;
  for (int64_t source : getSources())
    if (!sources.insert(source).second)
      return emitOpError() << "rank " << source << " is a source twice";
  for (int64_t target : getTargets())
    if (!targets.insert(target).second)
      return emitOpError() << "rank " << target << " is a target twice";
  return verifyCollective(*this);
}

LogicalResult PermuteOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (failed(verifyCollectiveOnMesh(*this, tables)))
    return failure();
  auto mesh = tables.lookupNearestSymbolFrom<MeshOp>(*this, getMeshAttr());
  int64_t ranks = mesh.getGroupSize(getAxes());
  for (ArrayRef<int64_t> side : {getSources(), getTargets()})
    for (int64_t rank : side)
      if (rank < 0 || rank >= ranks)
        return emitOpError()
               << "pairs name rank " << rank << ", but the group has " << ranks;
  return success();
}

LogicalResult PermuteOp::verifyMember(unsigned i, int64_t ranks) {
  return verifyMemberShape(*this, i, ranks, {});
}

int64_t PermuteOp::getReceivedBytes(int64_t ranks) {
  return ranks == 1 ? 0 : getInputBytes(*this);
}
