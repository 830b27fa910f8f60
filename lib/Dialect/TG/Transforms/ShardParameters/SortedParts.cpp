//===- SortedParts.cpp - Carry out a step on rows that ranks sort ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of the partitioner that carries out what SortedRows has found.
//
//===----------------------------------------------------------------------===//

#include "FilledParts.h"
#include "PartNodes.h"
#include "Partitioner.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::spmd;

using Kind = SortedForm::Kind;

/// The state of a value that has this form, where `batch` is that of the rows
/// in the order of the batch.
static ValueState getSortedState(const SortedForm &form, unsigned sort,
                                 const ValueState &batch) {
  switch (form.kind) {
  case Kind::Whole:
    return ValueState::getWhole();
  case Kind::Batch:
    return batch;
  case Kind::Reduced:
    return ValueState::getPartial(batch.group, form.reduction);
  case Kind::Rows: {
    ValueState state = ValueState::getSplit(batch.group, form.dim);
    state.order = sort + 1;
    return state;
  }
  case Kind::Filled:
  case Kind::Counted:
    return ValueState::getSplit(batch.group, form.dim);
  }
  llvm_unreachable("unknown form");
}

const ValueState *Partitioner::startSorted(Operation *op,
                                           const SortedOp &sorted) {
  auto [it, isNew] =
      sortedBatches.try_emplace(sorted.sort, ValueState::getWhole());
  if (isNew && mesh.segments == 0)
    for (auto [operand, form] :
         llvm::zip_equal(op->getOperands(), sorted.operands)) {
      if (form.kind != Kind::Batch)
        continue;
      ValueState state = seenBy(op, operand).state;
      auto isDivided = [&](int64_t size) {
        return size % (state.outer * mesh.getRanks(state.group)) == 0;
      };
      if (state.isSplit() && state.dim == 0 &&
          llvm::all_of(sortedRows.getSort(sorted.sort).sizes, isDivided))
        it->second = state;
      break;
    }
  return it->second.isWhole() ? nullptr : &it->second;
}

Value Partitioner::fillPart(Value filled, RankedTensorType type) {
  auto node = filled.getDefiningOp<NodeOp>();
  SmallVector<Value> operands;
  for (Value operand : node->getOperands())
    operands.push_back(seenBy(node, operand).local);
  return buildFilled(communication, node, operands, type);
}

bool Partitioner::divideSorted(Operation *op) {
  const SortedOp *sorted = sortedRows.find(op);
  if (!sorted)
    return false;
  if (startExperts(sorted->sort))
    return divideExperts(op, *sorted);
  const ValueState *started = startSorted(op, *sorted);
  if (!started)
    return false;
  const ValueState batch = *started;
  auto getForm = [&](const SortedForm &form) {
    return getSortedState(form, sorted->sort, batch);
  };
  SmallVector<Value> operands;
  for (auto [operand, form] :
       llvm::zip_equal(op->getOperands(), sorted->operands)) {
    if (form.kind == Kind::Filled) {
      operands.push_back(fillPart(
          operand, mesh.getLocalType(cast<RankedTensorType>(operand.getType()),
                                     getForm(form))));
      continue;
    }
    if (form.kind != Kind::Counted) {
      operands.push_back(getAs(operand, getForm(form)));
      continue;
    }
    auto type = cast<RankedTensorType>(operand.getType());
    Value counted =
        PartNodes(communication)
            .countBy(1, mesh.getLocalType(type, getForm(form)).getDimSize(0));
    operands.push_back(communication.castTo(counted, type.getElementType()));
  }
  SmallVector<Type> types;
  for (auto [result, form] :
       llvm::zip_equal(op->getResults(), sorted->results)) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    types.push_back(type ? mesh.getLocalType(type, getForm(form))
                         : result.getType());
  }
  Operation *part = cast<ShardingRuleOpInterface>(op).buildPart(
      communication.getBuilder(), operands, types);
  for (auto [result, form, local] :
       llvm::zip_equal(op->getResults(), sorted->results, part->getResults()))
    define(result, {getForm(form), local});
  markReplaced(op);
  if (sortedRows.getSort(sorted->sort).op == op)
    remarkDivided(op, "sorts the rows that a rank has");
  else
    ++numSplit;
  return true;
}
