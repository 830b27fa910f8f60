//===- ExpertParts.cpp - Carry out a step on the experts of a rank --------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of the partitioner that carries out what SortedRows has found where
// a model axis cuts the experts; see OwnExperts.
//
//===----------------------------------------------------------------------===//

#include "Partitioner.h"

#include "regather/Dialect/TG/IR/RowShare.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

using Kind = SortedForm::Kind;

OwnRows *Partitioner::startExperts(unsigned sort) {
  auto [it, isNew] = ownRows.try_emplace(sort);
  if (!isNew || goal != FactorGoal::LeastCommunication || gathersExperts ||
      mesh.segments != 0)
    return it->second.get();
  // Matrices that nobody has placed follow those that somebody has.
  std::optional<Group> group;
  SmallVector<BlockArgument> open;
  for (Operation *op : sortedRows.getSort(sort).ops) {
    const SortedOp *planned = sortedRows.find(op);
    BlockArgument argument = planned && planned->work == RowWork::GroupedGemm
                                 ? findExperts(op)
                                 : BlockArgument();
    if (!argument)
      continue;
    ValueState state = seenBy(op, argument).state;
    if (state.isWhole())
      open.push_back(argument);
    else if (state.isSplit() && state.dim == 0 && state.isContiguous() &&
             group.value_or(state.group) == state.group)
      group = state.group;
    else
      return nullptr;
  }
  std::optional<int64_t> experts =
      group ? countExperts(sortedRows, sort) : std::nullopt;
  if (!experts || *experts % mesh.getRanks(*group) != 0)
    return nullptr;
  for (BlockArgument argument : open)
    if (!cutArgument || !cutArgument(argument, 0))
      return nullptr;
  it->second = std::make_unique<OwnRows>();
  it->second->group = *group;
  it->second->experts = *experts;
  it->second->own = *experts / mesh.getRanks(*group);
  return it->second.get();
}

Value Partitioner::getOwnIds(OwnRows &rows, Value ids) {
  // Views of the same ids are sorted and counted.
  Value base = SortedRows::getBase(ids);
  Value &own = rows.ids[base];
  if (!own)
    own = buildOwnIds(getAs(base, ValueState::getWhole()), rows, mesh,
                      communication);
  return PartNodes(communication)
      .reshape(own, cast<RankedTensorType>(ids.getType()).getShape());
}

/// What others read of counts stays that of all experts.
void Partitioner::countOwnRows(Operation *op, OwnRows &rows, Value ids) {
  auto node = cast<NodeOp>(op);
  Value known = rows.counts.lookup(op->getOperand(0));
  if (!known) {
    rows.counts[op->getResult(0)] =
        buildOwnCounts(node, getOwnIds(rows, ids), rows, communication);
    return;
  }
  Type type = RankedTensorType::get(
      {rows.own}, getElementTypeOrSelf(op->getResult(0).getType()));
  rows.counts[op->getResult(0)] =
      cast<ShardingRuleOpInterface>(op)
          .buildPart(communication.getBuilder(), known, type)
          ->getResult(0);
}

void Partitioner::sortOwnRows(Operation *op, unsigned sort, OwnRows &rows) {
  OpBuilder &builder = communication.getBuilder();
  Value ids = getOwnIds(rows, op->getOperand(0));
  auto type = cast<RankedTensorType>(ids.getType());
  SmallVector<Type> types(op->getResultTypes());
  if (types.size() == 2)
    types.front() = type;
  Operation *part =
      cast<ShardingRuleOpInterface>(op).buildPart(builder, ids, types);
  ValueState state = ValueState::getSplit(rows.group, 0);
  state.order = sort + 1;
  Value order = part->getResult(types.size() - 1);
  PartNodes nodes(communication);
  Value sorted = part->getResult(0);
  if (types.size() == 2) {
    Operation *last = communication.getLastInserted();
    define(op->getResult(0),
           {state, buildAllIds(sorted,
                               getElementTypeOrSelf(op->getResult(0).getType()),
                               rows, mesh, communication)});
    // Most often, nobody but a histogram reads them.
    while ((last = last->getNextNode()) &&
           last != communication.getLastInserted())
      rebuilt.insert(last);
    rebuilt.insert(communication.getLastInserted());
  } else {
    sorted = nodes.make(NodeTarget::AtenIndexSelectDefault, type, {ids, order},
                        {OperandAttr::get(builder.getContext(), 0),
                         builder.getI64IntegerAttr(0),
                         OperandAttr::get(builder.getContext(), 1)});
  }
  rows.mask = nodes.compare(NodeTarget::AtenLtScalar, sorted, rows.own);
  define(op->getResult(types.size() - 1), {state, order});
}

/// Adds the sum of the rows that all ranks have to what is there.
void Partitioner::addOwnRows(Operation *op, unsigned addedTo) {
  Value result = op->getResult(0), self = op->getOperand(addedTo);
  ValueVersion own = seenBy(op, self);
  bool isSummand = own.state == getState(result);
  if (own.state.isPartial() && !isSummand)
    own = getVersion(self, ValueState::getWhole());
  ValueVersion added = getVersion(result, own.state);
  define(result,
         {own.state,
          PartNodes(communication)
              .makeBinary(NodeTarget::AtenAddTensor, own.local, added.local),
          own.zeroPadding && added.zeroPadding});
}

bool Partitioner::divideExperts(Operation *op, const SortedOp &planned) {
  OwnRows *rows = startExperts(planned.sort);
  assert(rows && "experts are not cut");
  if (planned.work == RowWork::Count) {
    countOwnRows(op, *rows, sortedRows.getSort(planned.sort).op->getOperand(0));
    rebuilt.insert(op);
    if (planned.operands[0].kind != Kind::Rows)
      return false;
    // The order in which all rows are counted does not matter.
    op->setOperand(0, seenBy(op, op->getOperand(0)).local);
    define(op->getResult(0), {ValueState::getWhole(), op->getResult(0)});
    return true;
  }
  markReplaced(op);
  if (planned.work == RowWork::Sort) {
    sortOwnRows(op, planned.sort, *rows);
    remarkDivided(op, "puts the rows of a rank's experts first");
    return true;
  }
  bool isReduced = planned.work != RowWork::GroupedGemm &&
                   llvm::any_of(planned.results, [](const SortedForm &form) {
                     return form.kind == Kind::Reduced ||
                            (form.kind == Kind::Batch && !form.isLocal);
                   });
  std::optional<unsigned> addedTo = findAddedTo(op, planned);
  SmallVector<Value> operands;
  for (auto [operand, form] :
       llvm::zip_equal(op->getOperands(), planned.operands)) {
    if (operands.size() == addedTo) {
      operands.push_back(
          PartNodes(communication)
              .makeZeros(cast<RankedTensorType>(operand.getType())));
      continue;
    }
    if (Value own = rows->counts.lookup(operand)) {
      operands.push_back(own);
      continue;
    }
    if (form.kind == Kind::Filled) {
      operands.push_back(
          fillPart(operand, cast<RankedTensorType>(operand.getType())));
      continue;
    }
    if (form.kind != Kind::Rows && !form.isLocal) {
      bool areExperts =
          planned.work == RowWork::GroupedGemm && form.kind == Kind::Whole;
      operands.push_back(
          getAs(operand, areExperts ? ValueState::getSplit(rows->group, 0)
                                    : ValueState::getWhole()));
      continue;
    }
    Value local = seenBy(op, operand).local;
    // Indices are read in all rows.
    bool isMasked = isReduced && form.kind == Kind::Rows &&
                    isa<FloatType>(getElementTypeOrSelf(local.getType()));
    operands.push_back(
        isMasked ? maskRows(local, form.dim, rows->mask, communication)
                 : local);
  }
  SmallVector<Type> types;
  SmallVector<ValueState> states;
  for (auto [result, form] :
       llvm::zip_equal(op->getResults(), planned.results)) {
    ValueState state = ValueState::getWhole();
    if (form.kind == Kind::Rows || form.isLocal) {
      state = ValueState::getSplit(rows->group, form.dim);
      state.order = planned.sort + 1;
      types.push_back(result.getType());
    } else if (form.kind == Kind::Reduced &&
               planned.work == RowWork::GroupedGemm) {
      state = ValueState::getSplit(rows->group, 0);
      types.push_back(
          mesh.getLocalType(cast<RankedTensorType>(result.getType()), state));
    } else {
      if (form.kind != Kind::Whole)
        state = ValueState::getPartial(rows->group, Reduction::Sum);
      types.push_back(result.getType());
    }
    states.push_back(state);
  }
  Operation *part = cast<ShardingRuleOpInterface>(op).buildPart(
      communication.getBuilder(), operands, types);
  if (planned.work == RowWork::GroupedGemm)
    part->setAttr(kRowShareAttrName,
                  communication.getBuilder().getF64FloatAttr(
                      getRowShare(op) * static_cast<double>(rows->own) /
                      static_cast<double>(rows->experts)));
  rebuilt.insert(part);
  for (auto [result, state, local] :
       llvm::zip_equal(op->getResults(), states, part->getResults()))
    define(result, {state, local});
  if (addedTo)
    addOwnRows(op, *addedTo);
  ++numSplit;
  return true;
}
