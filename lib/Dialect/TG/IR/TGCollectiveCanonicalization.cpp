//===- TGCollectiveCanonicalization.cpp - Canonical collectives -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Canonicalisation is cheap and free of cost models: it removes collectives
// that cannot be seen to do anything. Merging equal collectives extends
// lifetimes and is left to tg-merge-gathers.
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace regather::tg;

WaitOp regather::tg::getWait(CollectiveOpInterface op) {
  return getFutureWait(op.getFuture());
}

/// Gives `wait`, whose results are the ones in `kept` of an earlier wait, that
/// one's recorded decision.
static void renumberSavedResults(WaitOp wait, ArrayRef<unsigned> kept) {
  auto saved = wait->getAttrOfType<DenseI64ArrayAttr>(kSavedResultsAttrName);
  if (!saved)
    return;
  SmallVector<int64_t> results;
  for (auto [position, i] : llvm::enumerate(kept))
    if (llvm::is_contained(saved.asArrayRef(), i))
      results.push_back(position);
  wait->setAttr(kSavedResultsAttrName,
                DenseI64ArrayAttr::get(wait.getContext(), results));
}

WaitOp regather::tg::keepMembers(CollectiveOpInterface op,
                                 ArrayRef<unsigned> kept,
                                 RewriterBase &rewriter) {
  WaitOp wait = getWait(op);
  SmallVector<Value> inputs;
  SmallVector<Type> types;
  for (unsigned i : kept) {
    inputs.push_back(op.getInputs()[i]);
    types.push_back(op.getFuture().getType().getTensors()[i]);
  }
  OperationState state(op.getLoc(), op->getName().getStringRef(), inputs,
                       FutureType::get(op.getContext(), types), op->getAttrs());
  rewriter.setInsertionPoint(op);
  Operation *pruned = rewriter.create(state);
  rewriter.setInsertionPoint(wait);
  auto newWait = WaitOp::create(rewriter, wait.getLoc(), pruned->getResult(0));
  newWait->setDiscardableAttrs(wait->getDiscardableAttrDictionary());
  renumberSavedResults(newWait, kept);
  for (auto [position, i] : llvm::enumerate(kept))
    rewriter.replaceAllUsesWith(wait.getTensors()[i],
                                newWait.getTensors()[position]);
  rewriter.eraseOp(wait);
  rewriter.eraseOp(op);
  return newWait;
}

/// Drops the members of a bucket whose tensors nobody reads. A bucket that
/// loses all of them is dead and disappears with its wait.
static LogicalResult pruneUnusedMembers(CollectiveOpInterface op,
                                        PatternRewriter &rewriter) {
  WaitOp wait = getWait(op);
  if (!wait)
    return rewriter.notifyMatchFailure(op, "dead, or not waited for yet");
  // A recorded decision names the results of the wait, read or not.
  if (wait->hasAttr(kSavedResultsAttrName))
    return rewriter.notifyMatchFailure(op, "results of the wait are recorded");
  SmallVector<unsigned> kept;
  for (auto [i, tensor] : llvm::enumerate(wait.getTensors()))
    if (!tensor.use_empty())
      kept.push_back(i);
  if (kept.size() == op.getInputs().size())
    return rewriter.notifyMatchFailure(op, "every member is read");
  if (kept.empty()) {
    rewriter.eraseOp(wait);
    rewriter.eraseOp(op);
    return success();
  }
  keepMembers(op, kept, rewriter);
  return success();
}

/// In a group of one rank the tensors that arrive are those that were sent.
static LogicalResult removeGroupOfOne(CollectiveOpInterface op,
                                      PatternRewriter &rewriter) {
  WaitOp wait = getWait(op);
  if (!wait || !op.isIdentityOnOneRank())
    return failure();
  MeshOp mesh = lookupMesh(op, op.getMeshAttr());
  if (!mesh || mesh.getGroupSize(op.getAxesAttr()) != 1)
    return rewriter.notifyMatchFailure(op, "more than one rank");
  rewriter.replaceOp(wait, op.getInputs());
  rewriter.eraseOp(op);
  return success();
}

static LogicalResult canonicalizeCollective(CollectiveOpInterface op,
                                            PatternRewriter &rewriter) {
  if (succeeded(pruneUnusedMembers(op, rewriter)))
    return success();
  return removeGroupOfOne(op, rewriter);
}

/// The reduce-scatter whose shards `gather` puts together again over the same
/// axes, if those shards have no other reader.
static ReduceScatterOp getGatheredScatter(AllGatherOp gather) {
  if (gather.getInputs().empty() || gather.getGeneration())
    return nullptr;
  auto wait = gather.getInputs().front().getDefiningOp<WaitOp>();
  if (!wait || wait.getTensors().size() != gather.getInputs().size())
    return nullptr;
  for (auto [input, shard] : llvm::zip(gather.getInputs(), wait.getTensors()))
    if (input != shard || !shard.hasOneUse())
      return nullptr;
  auto scatter = wait.getFuture().getDefiningOp<ReduceScatterOp>();
  if (!scatter || scatter.getMesh() != gather.getMesh() ||
      scatter.getAxes() != gather.getAxes() ||
      scatter.getDim() != gather.getDim() ||
      scatter.getPhase() != gather.getPhase() ||
      scatter->getBlock() != gather->getBlock())
    return nullptr;
  // Shards of two sizes can have the same padded size.
  for (auto [scattered, gathered] :
       llvm::zip(scatter.getInputs().getTypes(),
                 gather.getFuture().getType().getTensors()))
    if (scattered != gathered)
      return nullptr;
  return scatter;
}

/// all_gather(wait(reduce_scatter(x))) is all_reduce(x), to the bit: both
/// combine the contributions in rank order.
static LogicalResult gatherOfScatter(AllGatherOp gather,
                                     PatternRewriter &rewriter) {
  ReduceScatterOp scatter = getGatheredScatter(gather);
  if (!scatter)
    return rewriter.notifyMatchFailure(
        gather, "not a gather of what was just scattered");
  auto wait = cast<WaitOp>(*scatter.getFuture().getUsers().begin());
  rewriter.setInsertionPoint(scatter);
  auto reduce = AllReduceOp::create(
      rewriter, rewriter.getFusedLoc({scatter.getLoc(), gather.getLoc()}),
      gather.getFuture().getType(), scatter.getInputs(), scatter.getMeshAttr(),
      scatter.getAxesAttr(), scatter.getReductionAttr(),
      scatter.getAccumulateAttr(), scatter.getPhaseAttr(),
      scatter.getGenerationAttr());
  reduce->setDiscardableAttrs(scatter->getDiscardableAttrDictionary());
  rewriter.replaceOp(gather, reduce.getFuture());
  rewriter.eraseOp(wait);
  rewriter.eraseOp(scatter);
  return success();
}

LogicalResult AllGatherOp::canonicalize(AllGatherOp op,
                                        PatternRewriter &rewriter) {
  if (succeeded(canonicalizeCollective(op, rewriter)))
    return success();
  return gatherOfScatter(op, rewriter);
}

LogicalResult ReduceScatterOp::canonicalize(ReduceScatterOp op,
                                            PatternRewriter &rewriter) {
  return canonicalizeCollective(op, rewriter);
}

LogicalResult AllReduceOp::canonicalize(AllReduceOp op,
                                        PatternRewriter &rewriter) {
  return canonicalizeCollective(op, rewriter);
}

LogicalResult AllToAllOp::canonicalize(AllToAllOp op,
                                       PatternRewriter &rewriter) {
  return canonicalizeCollective(op, rewriter);
}

LogicalResult BroadcastOp::canonicalize(BroadcastOp op,
                                        PatternRewriter &rewriter) {
  return canonicalizeCollective(op, rewriter);
}

LogicalResult PermuteOp::canonicalize(PermuteOp op, PatternRewriter &rewriter) {
  return canonicalizeCollective(op, rewriter);
}
