//===- RowExchange.cpp - Rows on the ranks of their experts ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowExchange.h"

#include <limits>

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::spmd;

static RankedTensorType getSlotType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

Value RowExchange::select(Value value, int64_t dim, Value indices) {
  OpBuilder &builder = communication.getBuilder();
  SmallVector<int64_t> shape(getSlotType(value).getShape());
  shape[dim] = getSlotType(indices).getDimSize(0);
  return nodes.make(NodeTarget::AtenIndexSelectDefault,
                    getSlotType(value).clone(shape), {value, indices},
                    {OperandAttr::get(builder.getContext(), 0),
                     builder.getI64IntegerAttr(dim),
                     OperandAttr::get(builder.getContext(), 1)});
}

Value RowExchange::swap(Value value, int64_t dim) {
  return communication.swap(value, dim, axes);
}

Value RowExchange::countBelow(Value keys, Value numbers) {
  return nodes.make(NodeTarget::AtenSearchsortedTensor, getSlotType(numbers),
                    {keys, numbers});
}

Value RowExchange::shift(Value numbers, int64_t by) {
  Value number = nodes.makeNumber(static_cast<double>(by),
                                  getSlotType(numbers).getElementType());
  return nodes.makeBinary(NodeTarget::AtenAddTensor, numbers, number);
}

void RowExchange::start(Value sortedIds) {
  OpBuilder &builder = communication.getBuilder();
  Type i64 = builder.getI64Type();
  int64_t rows = sizes.rows, ranks = sizes.ranks, own = sizes.own,
          room = sizes.room, slots = sizes.getSlots();
  auto add = [&](Value a, Value b) {
    return nodes.makeBinary(NodeTarget::AtenAddTensor, a, b);
  };
  auto subtract = [&](Value a, Value b) {
    return nodes.makeBinary(NodeTarget::AtenSubTensor, a, b);
  };
  auto both = [&](Value a, Value b) {
    return nodes.makeBinary(NodeTarget::AtenLogicalAndDefault, a, b);
  };
  auto multiply = [&](Value a, int64_t number) {
    return nodes.makeBinary(NodeTarget::AtenMulTensor, a,
                            nodes.makeNumber(static_cast<double>(number), i64));
  };
  sortedIds = communication.castTo(sortedIds, i64);

  // Where the rows of each rank begin, and end.
  Value edges = countBelow(sortedIds, nodes.countBy(own, ranks + 1));
  Value number = nodes.countBy(1, ranks);
  Value starts = select(edges, 0, number);
  Value stops = select(edges, 0, shift(number, 1));
  Value most = nodes.reshape(
      nodes.reduce(NodeTarget::AtenAmaxDefault, subtract(stops, starts), 0),
      {});
  missing = shift(most, -room);

  // The rows of the slots.
  Value row = add(nodes.reshape(starts, {ranks, 1}),
                  nodes.reshape(nodes.countBy(1, room), {1, room}));
  Value exists = nodes.compare(NodeTarget::AtenLtTensor, row,
                               nodes.reshape(stops, {ranks, 1}));
  rowOfSlot = nodes.reshape(nodes.select(exists, row, 0), {slots});
  Value sentIds =
      subtract(nodes.reshape(select(sortedIds, 0, rowOfSlot), {ranks, room}),
               nodes.reshape(nodes.countBy(own, ranks), {ranks, 1}));
  sentIds = nodes.select(exists, sentIds, static_cast<double>(own));

  // The slots of the rows. Those of no expert, and those that are missing, get
  // any.
  Value rank = countBelow(shift(nodes.countBy(own, ranks - 1), own),
                          shift(sortedIds, 1));
  Value column = subtract(nodes.countBy(1, rows), select(starts, 0, rank));
  Value fits = both(nodes.compare(NodeTarget::AtenGeScalar, column, 0),
                    nodes.compare(NodeTarget::AtenLtScalar, column, room));
  slotOfRow = add(multiply(rank, room), nodes.select(fits, column, 0));

  // The order of what is received.
  Value received = swap(nodes.reshape(sentIds, {slots}), 0);
  SmallVector<Value> sorted =
      nodes.makeAll(NodeTarget::AtenSortDefault,
                    {getSlotType(received), getSlotType(received)}, received);
  ids = sorted[0];
  order = sorted[1];
  mask = nodes.compare(NodeTarget::AtenLtScalar, ids, own);
  inverse = nodes.make(
      NodeTarget::AtenIndexPutDefault, getSlotType(order),
      {nodes.makeZeros(getSlotType(order)), order, nodes.countBy(1, slots)},
      {OperandAttr::get(builder.getContext(), 0),
       builder.getArrayAttr(OperandAttr::get(builder.getContext(), 1)),
       OperandAttr::get(builder.getContext(), 2)});
  getEnds(builder.getI32Type());
}

Value RowExchange::getEnds(Type element) {
  Value &known = ends[element];
  if (known)
    return known;
  Value behind = shift(nodes.countBy(1, sizes.own), 1);
  return known = communication.castTo(countBelow(ids, behind), element);
}

Value RowExchange::sort(Value received, int64_t dim) {
  Value rows = select(received, dim, order);
  RankedTensorType type = getSlotType(rows);
  if (!sizes.isPoisoned || !isa<FloatType>(type.getElementType()))
    return rows;
  SmallVector<int64_t> shape(type.getRank(), 1);
  shape[dim] = type.getDimSize(dim);
  return nodes.select(nodes.reshape(mask, shape), rows,
                      std::numeric_limits<double>::quiet_NaN());
}

Value RowExchange::send(Value rows, int64_t dim) {
  return sort(swap(select(rows, dim, rowOfSlot), dim), dim);
}

Value RowExchange::sendFrom(Value batch, Value numbers) {
  Value rows = select(batch, 0, select(numbers, 0, rowOfSlot));
  return sort(swap(rows, 0), 0);
}

Value RowExchange::returnSlots(Value slots, int64_t dim) {
  return swap(select(slots, dim, inverse), dim);
}

Value RowExchange::findSlots(Value numbers) {
  return select(slotOfRow, 0, numbers);
}

Value RowExchange::readSlots(Value returned, int64_t dim) {
  return select(returned, dim, slotOfRow);
}
