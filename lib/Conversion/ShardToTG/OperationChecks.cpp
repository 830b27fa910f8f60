//===- OperationChecks.cpp - What tg can express of shard -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OperationConversion.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace regather;
using namespace regather::shardtotg;

static InFlightDiagnostic refuse(Operation *op) {
  return op->emitOpError() << "cannot be converted: ";
}

static LogicalResult checkTensor(Operation *op, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return refuse(op) << "expects ranked tensors, got " << type;
  for (auto [dim, size] : llvm::enumerate(tensor.getShape()))
    if (ShapedType::isDynamic(size))
      return refuse(op) << "dimension " << dim << " of " << tensor
                        << " is dynamic";
  if (!tensor.getElementType().isIntOrIndexOrFloat())
    return refuse(op) << "expects integer or floating-point elements, got "
                      << tensor;
  return success();
}

/// Checks what all collectives have in common.
static LogicalResult checkTensors(Operation *op) {
  if (failed(checkTensor(op, op->getOperand(0).getType())))
    return failure();
  return checkTensor(op, op->getResult(0).getType());
}

/// A root or a destination that is known now.
static LogicalResult checkStatic(Operation *op, StringRef what,
                                 ValueRange dynamic) {
  if (dynamic.empty())
    return success();
  return refuse(op) << "the " << what
                    << " must be known, but it is computed on the device";
}

/// Reductions: the kinds that tg has, and those it can be made to have.
template <typename ReducingOp>
static LogicalResult checkReduction(ReducingOp op) {
  if (failed(checkTensors(op)))
    return failure();
  Type from = cast<ShapedType>(op.getInput().getType()).getElementType();
  Type to = cast<ShapedType>(op.getResult().getType()).getElementType();
  if (from != to)
    return refuse(op) << "a reduction keeps the element type, but " << from
                      << " becomes " << to;
  switch (op.getReduction()) {
  case shard::ReductionKind::Sum:
  case shard::ReductionKind::Max:
  case shard::ReductionKind::Min:
    return success();
  case shard::ReductionKind::Average:
    if (isa<FloatType>(to))
      return success();
    return refuse(op) << "an average needs floating-point elements, got " << to;
  default:
    return refuse(op) << "tg has no reduction \""
                      << shard::stringifyReductionKind(op.getReduction())
                      << '"';
  }
}

/// Collectives with a root.
template <typename RootedOp> static LogicalResult checkRooted(RootedOp op) {
  return failure(failed(checkTensors(op)) ||
                 failed(checkStatic(op, "root", op.getRootDynamic())));
}

static LogicalResult checkNeighbors(shard::NeighborsLinearIndicesOp op,
                                    SymbolTableCollection &tables) {
  int64_t rank = shard::getGrid(op, tables).getRank();
  if (static_cast<int64_t>(op.getDevice().size()) != rank)
    return refuse(op) << "the grid has " << rank << " axes, but the device has "
                      << op.getDevice().size() << " indices";
  if (op.getSplitAxes().size() != 1)
    return refuse(op) << "expects one split axis, got "
                      << op.getSplitAxes().size();
  int64_t axis = op.getSplitAxes().front();
  if (axis >= 0 && axis < rank)
    return success();
  return refuse(op) << "the grid has no axis " << axis;
}

/// A sharding is dropped with the annotations that use it.
static LogicalResult checkSharding(shard::ShardingOp op) {
  for (Operation *user : op->getUsers()) {
    if (isa<shard::ShardDialect>(user->getDialect()))
      continue; // Reported there.
    InFlightDiagnostic diag = refuse(op) << "the sharding is used by '"
                                         << user->getName() << "'";
    diag.attachNote(user->getLoc()) << "used here";
    return diag;
  }
  return success();
}

LogicalResult
regather::shardtotg::checkOperation(Operation *op,
                                    SymbolTableCollection &tables) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<shard::AllGatherOp, shard::AllSliceOp, shard::AllToAllOp,
            shard::ShiftOp>([](auto op) { return checkTensors(op); })
      .Case<shard::AllReduceOp, shard::ReduceScatterOp>(
          [](auto op) { return checkReduction(op); })
      .Case<shard::BroadcastOp, shard::GatherOp, shard::ScatterOp>(
          [](auto op) { return checkRooted(op); })
      .Case([](shard::ReduceOp op) {
        return failure(failed(checkReduction(op)) || failed(checkRooted(op)));
      })
      .Case<shard::SendOp, shard::RecvOp>([](auto op) -> LogicalResult {
        return refuse(op) << "tg has no half of an exchange; use 'shard.shift'";
      })
      .Case([](shard::UpdateHaloOp op) -> LogicalResult {
        return refuse(op) << "tg has no halos";
      })
      .Case<shard::ShardOp, shard::GetShardingOp, shard::ShardShapeOp>(
          [](auto op) -> LogicalResult {
            return refuse(op) << "the module is not partitioned; run "
                                 "--shard-partition first";
          })
      .Case([&](shard::NeighborsLinearIndicesOp op) {
        return checkNeighbors(op, tables);
      })
      .Case([](shard::ShardingOp op) { return checkSharding(op); })
      .Case<shard::GridOp, shard::GridShapeOp, shard::ProcessLinearIndexOp,
            shard::ProcessMultiIndexOp>([](auto) { return success(); })
      .Default([](Operation *op) -> LogicalResult {
        return refuse(op) << "tg has no counterpart";
      });
}
