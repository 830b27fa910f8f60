//===- CommunicationCost.cpp - What cutting an operation sends ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Partitioner.h"

#include "regather/Dialect/TG/Targets/NodeTargets.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

/// The value of which `value` is a view with all elements, or a copy; null if
/// it is none. What is expanded has fewer.
static Value getViewed(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumOperands() != 1 || op->getNumResults() != 1 ||
      !isa<ShardingRuleOpInterface>(op))
    return nullptr;
  auto node = dyn_cast<NodeOp>(op);
  bool isCopy =
      node && findNodeOperator(node.getTarget()) == NodeOperator::AtenClone;
  if (!isCopy && !getOpCost(op).view)
    return nullptr;
  auto from = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = dyn_cast<RankedTensorType>(value.getType());
  return from && to && from.getNumElements() <= to.getNumElements()
             ? op->getOperand(0)
             : Value();
}

Value Partitioner::viewWhole(Value value, const ValueVersion &from) {
  if (!from.state.isSplit())
    return nullptr;
  SmallVector<Operation *> views;
  Value viewed = value;
  // Operations that have not been replaced read forms, not values.
  while (Value next = replaced.contains(viewed.getDefiningOp())
                          ? getViewed(viewed)
                          : Value()) {
    if (!getState(next).isSplit())
      break;
    views.push_back(viewed.getDefiningOp());
    viewed = next;
  }
  if (views.empty())
    return nullptr;
  Value whole = getAs(viewed, ValueState::getWhole());
  for (Operation *view : llvm::reverse(views))
    whole = cast<ShardingRuleOpInterface>(view)
                .buildPart(communication.getBuilder(), whole,
                           view->getResultTypes())
                ->getResult(0);
  return whole;
}

Value Partitioner::exchange(const ValueVersion &from, Value value,
                            const ValueState &state) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !from.state.isSplit() || from.state.group != state.group ||
      from.state.dim == state.dim)
    return nullptr;
  int64_t ranks = mesh.getBlocks(state.group);
  if (type.getDimSize(from.state.dim) % ranks != 0 ||
      type.getDimSize(state.dim) % ranks != 0)
    return nullptr;
  return communication.exchange(from.local, from.state, state);
}

int64_t Partitioner::getConversionBytes(Value value, const ValueVersion &seen,
                                        const ValueState &state) const {
  RankedTensorType type = getRuledTensor(value.getType());
  if (!type || seen.state == state)
    return 0;
  auto it = numbers.find(value);
  if (it != numbers.end() &&
      (findVersion(entries[it->second], state) ||
       findVersion(entries[it->second], ValueState::getWhole())))
    return 0;
  if (seen.state.isWhole())
    return 0;
  // All but the own part is sent; a sum that every rank needs, twice.
  int64_t ranks = mesh.getBlocks(seen.state.group);
  int64_t bytes = getTensorBytes(type) / ranks * (ranks - 1);
  if (seen.state.isPartial())
    return state.isWhole() ? 2 * bytes : bytes;
  return state.isWhole() ? bytes : bytes / ranks;
}

int64_t Partitioner::getCommunication(Operation *op, const ShardingRule &rule,
                                      const FactorSplit &split, Group group,
                                      ArrayRef<ValueVersion> operands) const {
  int64_t bytes = 0;
  for (auto [number, value] : llvm::enumerate(op->getOperands())) {
    if (llvm::is_contained(rule.unread, number))
      continue;
    std::optional<DimCut> dim = split.operands[number];
    bytes += getConversionBytes(value, operands[number],
                                dim ? ValueState::getSplit(group, *dim)
                                    : ValueState::getWhole());
  }
  int64_t ranks = mesh.getBlocks(group);
  for (auto [result, dim] : llvm::zip_equal(op->getResults(), split.results))
    if (RankedTensorType type = getRuledTensor(result.getType());
        type && !dim && isDescribed(op, rule, result.getResultNumber()))
      bytes += 2 * (getTensorBytes(type) / ranks * (ranks - 1));
  return bytes;
}
