//===- ExecCollectiveOps.cpp - Communicators and collectives --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/Exec/IR/Exec.h"

using namespace mlir;
using namespace regather::exec;
using namespace regather::tg;

//===----------------------------------------------------------------------===//
// CommunicatorOp
//===----------------------------------------------------------------------===//

LogicalResult CommunicatorOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyMeshAndAxes(*this, getMeshAttr(), getAxes(), tables);
}

//===----------------------------------------------------------------------===//
// CollectiveOp
//===----------------------------------------------------------------------===//

ValueRange CollectiveOp::getReads() { return getInputs(); }
ValueRange CollectiveOp::getWrites() { return getOutputs(); }

/// Checks that exactly the attributes of the kind are there.
static LogicalResult verifyAttributes(CollectiveOp op) {
  using Kind = CollectiveKind;
  Kind kind = op.getKind();
  bool reduces = kind == Kind::ReduceScatter || kind == Kind::AllReduce;
  bool hasDim = kind == Kind::AllGather || kind == Kind::ReduceScatter;
  struct Rule {
    StringRef name;
    bool present, allowed, required;
  };
  for (const Rule &rule :
       {Rule{"dim", op.getDim().has_value(), hasDim, hasDim},
        Rule{"split_dim", op.getSplitDim().has_value(), kind == Kind::AllToAll,
             kind == Kind::AllToAll},
        Rule{"concat_dim", op.getConcatDim().has_value(),
             kind == Kind::AllToAll, kind == Kind::AllToAll},
        Rule{"root", op.getRoot().has_value(), kind == Kind::Broadcast,
             kind == Kind::Broadcast},
        Rule{"sources", op.getSources().has_value(), kind == Kind::Permute,
             kind == Kind::Permute},
        Rule{"targets", op.getTargets().has_value(), kind == Kind::Permute,
             kind == Kind::Permute},
        Rule{"reduction", op.getReduction().has_value(), reduces, reduces},
        Rule{"accumulate", op.getAccumulate().has_value(), reduces, false}}) {
    if (rule.present && !rule.allowed)
      return op.emitOpError() << stringifyCollectiveKind(kind)
                              << " has no attribute '" << rule.name << "'";
    if (!rule.present && rule.required)
      return op.emitOpError() << stringifyCollectiveKind(kind)
                              << " needs attribute '" << rule.name << "'";
  }
  return success();
}

static LogicalResult verifyReduction(CollectiveOp op, MemRefType type) {
  bool isFloat = isa<FloatType>(type.getElementType());
  if (!isFloat && op.getReduction() == Reduction::Avg)
    return op.emitOpError()
           << "avg needs floating-point elements, got " << type;
  std::optional<Type> accumulate = op.getAccumulate();
  if (!accumulate)
    return success();
  if (!accumulate->isF32() && !accumulate->isF64())
    return op.emitOpError()
           << "accumulation type must be f32 or f64, got " << *accumulate;
  if (!isFloat)
    return op.emitOpError() << "integers accumulate in their own type, but "
                            << type << " is to accumulate in " << *accumulate;
  if (accumulate->getIntOrFloatBitWidth() < type.getElementTypeBitWidth())
    return op.emitOpError() << "accumulation type " << *accumulate
                            << " is narrower than the elements of " << type;
  return success();
}

LogicalResult CollectiveOp::verify() {
  if (getInputs().size() != getOutputs().size())
    return emitOpError() << "expects one output for each of "
                         << getInputs().size() << " inputs, got "
                         << getOutputs().size();
  if (failed(verifyAttributes(*this)))
    return failure();
  if (!getCommunicator().getDefiningOp<CommunicatorOp>())
    return emitOpError() << "expects a communicator of this program";
  for (auto [i, input, output] : llvm::enumerate(getInputs(), getOutputs())) {
    auto from = cast<MemRefType>(input.getType());
    auto to = cast<MemRefType>(output.getType());
    if (from.getElementType() != to.getElementType() ||
        from.getRank() != to.getRank())
      return emitOpError() << "output " << i
                           << " must have element type and rank of its input "
                           << from << ", got " << to;
    if (getReduction() && failed(verifyReduction(*this, from)))
      return failure();
    for (std::optional<uint64_t> dim :
         {getDim(), getSplitDim(), getConcatDim()})
      if (dim && *dim >= static_cast<uint64_t>(from.getRank()))
        return emitOpError()
               << "dimension " << *dim << " is out of range for input " << i
               << " of type " << from;
  }
  return success();
}

/// Checks the positions that `op` names against a group of `ranks`.
static LogicalResult verifyPositions(CollectiveOp op, int64_t ranks) {
  auto check = [&](StringRef what, int64_t position) -> LogicalResult {
    if (position >= 0 && position < ranks)
      return success();
    return op.emitOpError()
           << what << " must be below " << ranks
           << ", the number of ranks in the group, got " << position;
  };
  if (op.getRoot())
    return check("root", static_cast<int64_t>(*op.getRoot()));
  if (!op.getSources())
    return success();
  if (op.getSources()->size() != op.getTargets()->size())
    return op.emitOpError()
           << "expects as many targets as sources, got "
           << op.getTargets()->size() << " and " << op.getSources()->size();
  for (auto [what, positions] : {std::pair("source", *op.getSources()),
                                 std::pair("target", *op.getTargets())}) {
    llvm::SmallDenseSet<int64_t> seen;
    for (int64_t position : positions) {
      if (failed(check(what, position)))
        return failure();
      if (!seen.insert(position).second)
        return op.emitOpError()
               << "position " << position << " is a " << what << " twice";
    }
  }
  return success();
}

/// The shape that a rank receives of an input of shape `from`. A gathered
/// dimension keeps the size of `to`, from which the shard follows.
static FailureOr<SmallVector<int64_t>> getOutputShape(CollectiveOp op,
                                                      int64_t ranks,
                                                      ArrayRef<int64_t> from,
                                                      ArrayRef<int64_t> to) {
  SmallVector<int64_t> shape(from);
  auto gather = [&](uint64_t dim) -> LogicalResult {
    int64_t shard = getShardSize(to[dim], ranks);
    if (from[dim] != shard)
      return op.emitOpError()
             << "expects shards of " << shard << " elements along dimension "
             << dim << " to gather " << to[dim] << " over " << ranks
             << " ranks, got " << from[dim];
    shape[dim] = to[dim];
    return success();
  };
  if (op.getKind() == CollectiveKind::AllGather) {
    if (failed(gather(*op.getDim())))
      return failure();
  } else if (op.getKind() == CollectiveKind::ReduceScatter) {
    shape[*op.getDim()] = getShardSize(from[*op.getDim()], ranks);
  } else if (op.getKind() == CollectiveKind::AllToAll) {
    uint64_t split = *op.getSplitDim(), concat = *op.getConcatDim();
    if (split == concat) {
      if (from[split] % ranks != 0)
        return op.emitOpError() << "expects a multiple of " << ranks
                                << " elements along dimension " << split
                                << ", got " << from[split];
    } else {
      if (failed(gather(concat)))
        return failure();
      shape[split] = getShardSize(from[split], ranks);
    }
  }
  return shape;
}

LogicalResult CollectiveOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto communicator = getCommunicator().getDefiningOp<CommunicatorOp>();
  auto mesh = tables.lookupNearestSymbolFrom<MeshOp>(
      communicator, communicator.getMeshAttr());
  // The communicator reports what is wrong with it.
  if (!mesh || llvm::any_of(communicator.getAxes().getNames(), [&](auto name) {
        return !mesh.getAxisSize(name.getValue());
      }))
    return success();
  int64_t ranks = mesh.getGroupSize(communicator.getAxes());
  if (failed(verifyPositions(*this, ranks)))
    return failure();
  for (auto [i, input, output] : llvm::enumerate(getInputs(), getOutputs())) {
    auto from = cast<MemRefType>(input.getType());
    auto to = cast<MemRefType>(output.getType());
    FailureOr<SmallVector<int64_t>> expected =
        getOutputShape(*this, ranks, from.getShape(), to.getShape());
    if (failed(expected))
      return failure();
    if (ArrayRef(*expected) != to.getShape())
      return emitOpError() << "expects output " << i << " of type "
                           << MemRefType::get(*expected, to.getElementType())
                           << " for " << ranks << " ranks, got " << to;
  }
  return success();
}
