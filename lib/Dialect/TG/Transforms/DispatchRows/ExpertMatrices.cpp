//===- ExpertMatrices.cpp - Matrices that ranks have parts of -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExpertMatrices.h"

#include "../ShardParameters/Segments.h"

#include "regather/Dialect/TG/Targets/NodeTargets.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

/// True if `op` views or casts one tensor whose outermost dimension stays the
/// outermost one.
static bool keepsExperts(Operation *op) {
  if (op->getNumOperands() != 1 || op->getNumResults() != 1)
    return false;
  auto node = dyn_cast<NodeOp>(op);
  bool isKnown =
      movesElements(op) ||
      (node && findNodeOperator(node.getTarget()) == NodeOperator::AtenToCopy);
  auto interface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!isKnown || !interface)
    return false;
  ShardingRule rule = interface.getShardingRule();
  const TensorFactors &from = rule.operands.front(), &to = rule.results.front();
  return !from.empty() && !to.empty() && from.front().size() == 1 &&
         to.front() == from.front();
}

std::optional<ExpertMatrices> regather::tg::spmd::findGathered(Value matrices) {
  ExpertMatrices found;
  Operation *op = matrices.getDefiningOp();
  while (op && !isa<WaitOp>(op)) {
    if (!keepsExperts(op))
      return std::nullopt;
    found.chain.push_back(op);
    matrices = op->getOperand(0);
    op = matrices.getDefiningOp();
  }
  auto gather = op ? cast<WaitOp>(op).getFuture().getDefiningOp<AllGatherOp>()
                   : AllGatherOp();
  if (!gather || gather.getDim() != 0)
    return std::nullopt;
  std::reverse(found.chain.begin(), found.chain.end());
  found.axes = gather.getAxes();
  found.mesh = gather.getMeshAttr();
  found.part = gather.getInputs()[cast<OpResult>(matrices).getResultNumber()];
  return found;
}

std::optional<ExpertMatrices>
regather::tg::spmd::findScattered(Value gradient) {
  ExpertMatrices found;
  while (gradient.hasOneUse()) {
    Operation *op = *gradient.getUsers().begin();
    auto scatter = dyn_cast<ReduceScatterOp>(op);
    if (!scatter) {
      if (!keepsExperts(op))
        return std::nullopt;
      found.chain.push_back(op);
      gradient = op->getResult(0);
      continue;
    }
    Value future = scatter.getFuture();
    if (scatter.getInputs().size() != 1 || scatter.getDim() != 0 ||
        scatter.getReduction() != Reduction::Sum || !future.hasOneUse())
      return std::nullopt;
    auto wait = dyn_cast<WaitOp>(*future.getUsers().begin());
    if (!wait)
      return std::nullopt;
    found.axes = scatter.getAxes();
    found.mesh = scatter.getMeshAttr();
    found.part = wait->getResult(0);
    return found;
  }
  return std::nullopt;
}

Value regather::tg::spmd::buildChain(OpBuilder &builder, Value part,
                                     ArrayRef<Operation *> chain, int64_t own) {
  for (Operation *op : chain) {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    SmallVector<int64_t> shape(type.getShape());
    shape.front() = own;
    part = cast<ShardingRuleOpInterface>(op)
               .buildPart(builder, part, type.clone(shape))
               ->getResult(0);
  }
  return part;
}
