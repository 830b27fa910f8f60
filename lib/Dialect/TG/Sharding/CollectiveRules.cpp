//===- CollectiveRules.cpp - Collectives of other axes --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A step that was sharded over some axes of a mesh is one step of the others:
// every rank of those carries out its collectives on its part. A collective
// that moves elements along one dimension may be cut along all others, and
// sums commute with everything but maxima. Only collectives of one tensor have
// such a rule: those of several are made by passes that come later.
//
//===----------------------------------------------------------------------===//

#include "RuleParts.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::sharding;

/// The rule of an operation of one tensor in which dimensions of operand and
/// result correspond, but for those of `moved`.
static ShardingRule getMovingRule(Operation *op, ArrayRef<int64_t> moved,
                                  bool isLinear) {
  if (op->getNumOperands() != 1 || op->getNumResults() != 1)
    return ShardingRule::getWhole(op);
  RankedTensorType from = getRuledTensor(op->getOperand(0).getType());
  RankedTensorType to = getRuledTensor(op->getResult(0).getType());
  if (!from || !to || from.getRank() != to.getRank())
    return ShardingRule::getWhole(op);
  ShardingRule rule;
  rule.operands.resize(1);
  rule.results.resize(1);
  for (int64_t dim = 0; dim < from.getRank(); ++dim) {
    bool isMoved = llvm::is_contained(moved, dim);
    FactorKind kind = isMoved ? FactorKind::Whole : FactorKind::Parallel;
    rule.operands[0].push_back(addDim(rule, from.getDimSize(dim), kind));
    rule.results[0].push_back(isMoved ? addDim(rule, to.getDimSize(dim), kind)
                                      : rule.operands[0].back());
  }
  if (isLinear)
    rule.addLinear(0);
  return finishRule(std::move(rule), op);
}

/// The same of an operation that puts the blocks of several ranks behind each
/// other along `dim`, or takes one of them: a block may be cut in all of them.
static ShardingRule getBlockRule(Operation *op, int64_t dim, bool isGather,
                                 bool isLinear) {
  ShardingRule rule = getMovingRule(op, dim, isLinear);
  if (rule.operands.size() != 1 || rule.results.size() != 1 || rule.isWhole())
    return rule;
  int64_t from = getRuledTensor(op->getOperand(0).getType()).getDimSize(dim);
  int64_t to = getRuledTensor(op->getResult(0).getType()).getDimSize(dim);
  int64_t block = isGather ? from : to, all = isGather ? to : from;
  if (block <= 1 || all % block != 0)
    return rule;
  DimFactors inner = addDim(rule, block);
  DimFactors blocks = addDim(rule, all / block, FactorKind::Whole);
  blocks.append(inner.begin(), inner.end());
  rule.operands[0][dim] = isGather ? inner : blocks;
  rule.results[0][dim] = isGather ? blocks : inner;
  return finishRule(std::move(rule), op);
}

static ShardingRule getRule(AllGatherOp op) {
  return getBlockRule(op, op.getDim(), /*isGather=*/true, /*isLinear=*/true);
}

static ShardingRule getRule(ReduceScatterOp op) {
  return getBlockRule(op, op.getDim(), /*isGather=*/false,
                      op.getReduction() != Reduction::Max);
}

static ShardingRule getRule(AllReduceOp op) {
  return getMovingRule(op, {}, op.getReduction() != Reduction::Max);
}

static ShardingRule getRule(AllToAllOp op) {
  int64_t moved[] = {static_cast<int64_t>(op.getSplitDim()),
                     static_cast<int64_t>(op.getConcatDim())};
  return getMovingRule(op, moved, /*isLinear=*/true);
}

static ShardingRule getRule(BroadcastOp op) {
  return getMovingRule(op, {}, /*isLinear=*/true);
}

static ShardingRule getRule(PermuteOp op) {
  return getMovingRule(op, {}, /*isLinear=*/true);
}

static ShardingRule getRule(WaitOp op) {
  return getMovingRule(op, {}, /*isLinear=*/true);
}

namespace {
template <typename OpTy>
struct CollectiveModel
    : ShardingRuleOpInterface::ExternalModel<CollectiveModel<OpTy>, OpTy> {
  ShardingRule getShardingRule(Operation *op) const {
    return getRule(cast<OpTy>(op));
  }
  Operation *buildPart(Operation *op, OpBuilder &builder, ValueRange operands,
                       TypeRange resultTypes) const {
    return mlir::clone(builder, op, resultTypes, operands);
  }
};

template <typename... Ops> void attachCollectiveRules(MLIRContext *context) {
  (Ops::template attachInterface<CollectiveModel<Ops>>(*context), ...);
}
} // namespace

void regather::tg::sharding::registerCollectiveModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, TGDialect *) {
    attachCollectiveRules<AllGatherOp, ReduceScatterOp, AllReduceOp, AllToAllOp,
                          BroadcastOp, PermuteOp, WaitOp>(context);
  });
}
