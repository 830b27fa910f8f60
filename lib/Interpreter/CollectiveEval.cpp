//===- CollectiveEval.cpp - Steps for the tg dialect ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The steps of a rank end where the world begins: a start hands tensors over
// and gets a future, a wait blocks until the world has filled it in. Groups are
// looked up once for all ranks, since the mesh does not change while a program
// runs.
//
//===----------------------------------------------------------------------===//

#include "Compiler.h"
#include "RankThreads.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace regather;
using namespace regather::interp;

static StepFunction build(tg::AxisIndexOp op, Compiler &compiler) {
  tg::MeshOp mesh = tg::lookupMesh(op, op.getMeshAttr());
  SmallVector<int64_t> indices;
  for (int64_t rank = 0; rank < compiler.getNumRanks(); ++rank)
    indices.push_back(mesh.getIndexInGroup(rank, op.getAxes()));
  return [indices, slot = compiler.getSlot(op)](RankRun &rank, Frame &frame) {
    frame.values[slot].bits = indices[rank.rank];
    return success();
  };
}

static StepFunction build(tg::WaitOp op, Compiler &compiler) {
  // Copies between device and host concern no other rank.
  bool takesPart =
      isa<tg::CollectiveOpInterface>(op.getFuture().getDefiningOp());
  return [op = op.getOperation(), takesPart,
          future = compiler.getSlot(op.getFuture()),
          results = compiler.getSlots(op.getTensors())](RankRun &rank,
                                                        Frame &frame) {
    Future awaited = std::move(frame.values[future].future);
    if (takesPart && failed(rank.world.wait(rank.rank, awaited, op)))
      return failure();
    auto &tensors = awaited.collective->results[awaited.position];
    for (auto [slot, tensor] : llvm::zip_equal(results, tensors))
      frame.values[slot].tensor = std::move(tensor);
    return success();
  };
}

static StepFunction buildStart(tg::CollectiveOpInterface op,
                               Compiler &compiler) {
  if (!isa<tg::AllGatherOp, tg::ReduceScatterOp, tg::AllReduceOp,
           tg::AllToAllOp, tg::BroadcastOp, tg::PermuteOp>(op))
    return nullptr;
  tg::MeshOp mesh = tg::lookupMesh(op, op.getMeshAttr());
  // Group and position of each rank.
  SmallVector<std::pair<const Group *, unsigned>> groups;
  for (int64_t rank = 0; rank < compiler.getNumRanks(); ++rank)
    groups.emplace_back(
        compiler.getGroup(mesh.getGroup(rank, op.getAxesAttr())),
        mesh.getIndexInGroup(rank, op.getAxesAttr()));
  return [op, groups, operands = compiler.getUses(op->getOpOperands()),
          slot = compiler.getSlot(op.getFuture())](RankRun &rank,
                                                   Frame &frame) {
    std::vector<TensorRef> inputs;
    for (Use use : operands)
      inputs.push_back(take(frame, use).tensor);
    auto [group, position] = groups[rank.rank];
    FailureOr<Future> future =
        rank.world.start(rank.rank, op, *group, position, std::move(inputs));
    if (failed(future))
      return failure();
    frame.values[slot].future = std::move(*future);
    return success();
  };
}

/// A copy has arrived when it is started.
static StepFunction build(tg::HostCopyOpInterface op, Compiler &compiler) {
  return [operands = compiler.getUses(op->getOpOperands()),
          slot = compiler.getSlot(op.getFuture())](RankRun &, Frame &frame) {
    auto copy = std::make_shared<PendingCollective>();
    std::vector<TensorRef> &tensors = copy->results.emplace_back();
    for (Use use : operands)
      tensors.push_back(take(frame, use).tensor);
    copy->complete = true;
    frame.values[slot].future = {std::move(copy), /*position=*/0};
    return success();
  };
}

StepFunction regather::interp::buildCollectiveStep(Operation *op,
                                                   Compiler &compiler) {
  return llvm::TypeSwitch<Operation *, StepFunction>(op)
      .Case<tg::AxisIndexOp, tg::WaitOp, tg::HostCopyOpInterface>(
          [&](auto typed) { return build(typed, compiler); })
      .Case<tg::CollectiveOpInterface>(
          [&](auto typed) { return buildStart(typed, compiler); })
      .Default(StepFunction());
}
