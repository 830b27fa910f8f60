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

Value RowExchange::swap(Value value, int64_t dim) {
  return communication.swap(value, dim, axes);
}

Value RowExchange::plan(Value sortedIds, Value places) {
  Type i64 = communication.getBuilder().getI64Type();
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
  sortedIds = communication.castTo(sortedIds, i64);

  // Where the rows of each rank begin, and end.
  Value edges = nodes.countBelow(sortedIds, nodes.countBy(own, ranks + 1));
  Value number = nodes.countBy(1, ranks);
  Value starts = nodes.take(edges, 0, number);
  Value stops = nodes.take(edges, 0, nodes.shift(number, 1));
  Value most = nodes.reshape(
      nodes.reduce(NodeTarget::AtenAmaxDefault, subtract(stops, starts), 0),
      {});
  missing = nodes.shift(most, -room);

  // The rows of the slots.
  Value row = add(nodes.reshape(starts, {ranks, 1}),
                  nodes.reshape(nodes.countBy(1, room), {1, room}));
  Value exists = nodes.compare(NodeTarget::AtenLtTensor, row,
                               nodes.reshape(stops, {ranks, 1}));
  rowOfSlot = nodes.reshape(nodes.select(exists, row, 0), {slots});
  Value sentIds = subtract(
      nodes.reshape(nodes.take(sortedIds, 0, rowOfSlot), {ranks, room}),
      nodes.reshape(nodes.countBy(own, ranks), {ranks, 1}));
  sentIds = nodes.select(exists, sentIds, static_cast<double>(own));
  if (places)
    rowOfSlot = nodes.take(places, 0, rowOfSlot);

  // The slots of the rows. Those of no expert, and those that are missing, get
  // any.
  Value rank = nodes.countBelow(nodes.shift(nodes.countBy(own, ranks - 1), own),
                                nodes.shift(sortedIds, 1));
  Value column = subtract(nodes.countBy(1, rows), nodes.take(starts, 0, rank));
  Value fits = both(nodes.compare(NodeTarget::AtenGeScalar, column, 0),
                    nodes.compare(NodeTarget::AtenLtScalar, column, room));
  slotOfRow = add(nodes.multiply(rank, room), nodes.select(fits, column, 0));
  return sentIds;
}

void RowExchange::receive(Value ids) {
  received.sort(ids, sizes.own, nodes);
  placeOfSlot =
      nodes.place(nodes.countBy(1, sizes.getSlots()), received.getOrder());
}

Value RowExchange::sort(Value rows, int64_t dim) {
  Value sorted = nodes.take(rows, dim, received.getOrder());
  auto type = cast<RankedTensorType>(sorted.getType());
  if (!sizes.isPoisoned || !isa<FloatType>(type.getElementType()))
    return sorted;
  SmallVector<int64_t> shape(type.getRank(), 1);
  shape[dim] = type.getDimSize(dim);
  return nodes.select(nodes.reshape(received.getMask(), shape), sorted,
                      std::numeric_limits<double>::quiet_NaN());
}

Value RowExchange::send(Value rows, int64_t dim) {
  return sort(swap(nodes.take(rows, dim, rowOfSlot), dim), dim);
}

Value RowExchange::sendFrom(Value batch, Value numbers) {
  Value rows = nodes.take(batch, 0, nodes.take(numbers, 0, rowOfSlot));
  return sort(swap(rows, 0), 0);
}

Value RowExchange::returnSlots(Value sorted, int64_t dim) {
  return swap(nodes.take(sorted, dim, placeOfSlot), dim);
}
