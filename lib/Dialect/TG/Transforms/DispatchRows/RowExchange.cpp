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

static int64_t countRows(Value numbers) {
  return cast<RankedTensorType>(numbers.getType()).getDimSize(0);
}

//===----------------------------------------------------------------------===//
// Numbers of chunks
//===----------------------------------------------------------------------===//

Value RowExchange::combineByChunk(NodeTarget target, Value numbers,
                                  int64_t by) {
  if (sizes.chunks == 1)
    return numbers;
  int64_t count = countRows(numbers);
  Value byChunk = nodes.reshape(numbers, {sizes.chunks, count / sizes.chunks});
  Value first =
      nodes.reshape(counted.get(0, by, sizes.chunks), {sizes.chunks, 1});
  return nodes.reshape(nodes.makeBinary(target, byChunk, first), {count});
}

Value RowExchange::addByChunk(Value numbers, int64_t by) {
  return combineByChunk(NodeTarget::AtenAddTensor, numbers, by);
}

Value RowExchange::subtractByChunk(Value numbers, int64_t by) {
  return combineByChunk(NodeTarget::AtenSubTensor, numbers, by);
}

Value RowExchange::takeChunk(Value numbers, unsigned chunk) {
  int64_t count = countRows(numbers) / sizes.chunks;
  return nodes.slice(numbers, 0, chunk * count, count);
}

int64_t RowExchange::countSlots(unsigned chunk) const {
  bool isOne = chunk < getNumChunks();
  return isOne ? sizes.getSlots() : sizes.chunks * sizes.getSlots();
}

//===----------------------------------------------------------------------===//
// Where rows go
//===----------------------------------------------------------------------===//

void RowExchange::start(Value sortedIds, Value numbers) {
  Type i64 = communication.getBuilder().getI64Type();
  sortedIds = communication.castTo(sortedIds, i64);
  if (sizes.chunks > 1) {
    findChunks(communication.castTo(numbers, i64));
    sortedIds = nodes.take(sortedIds, 0, places);
  }
  receive(planSlots(sortedIds));
  getEnds(0, communication.getBuilder().getI32Type());
}

void RowExchange::findChunks(Value numbers) {
  int64_t count = sizes.chunks * sizes.rows;
  Value seconds = counted.get(sizes.rows, sizes.rows, sizes.chunks - 1);
  Value chunk = nodes.countBelow(seconds, nodes.shift(numbers, 1));
  // No two keys are equal, so that any sort will do.
  Value keys =
      nodes.makeBinary(NodeTarget::AtenAddTensor, nodes.multiply(chunk, count),
                       counted.get(0, 1, count));
  places = nodes.sort(keys).second;
}

Value RowExchange::planSlots(Value sortedIds) {
  int64_t chunks = sizes.chunks, rows = chunks * sizes.rows,
          ranks = sizes.ranks, own = sizes.own, room = sizes.room,
          slots = sizes.getSlots(), experts = ranks * own;
  auto add = [&](Value a, Value b) {
    return nodes.makeBinary(NodeTarget::AtenAddTensor, a, b);
  };
  auto subtract = [&](Value a, Value b) {
    return nodes.makeBinary(NodeTarget::AtenSubTensor, a, b);
  };
  auto both = [&](Value a, Value b) {
    return nodes.makeBinary(NodeTarget::AtenLogicalAndDefault, a, b);
  };

  // Where the rows of each chunk for each rank begin, and end. Those of no
  // expert come behind all others of their chunk.
  Value keys = sortedIds;
  if (chunks > 1)
    keys = addByChunk(
        nodes.makeBinary(
            NodeTarget::AtenMinimumDefault, keys,
            nodes.makeNumber(static_cast<double>(experts),
                             communication.getBuilder().getI64Type())),
        experts + 1);
  Value edges = nodes.countBelow(
      keys, counted.getRepeated(chunks, experts + 1, 0, own, ranks + 1));
  Value byChunk = nodes.reshape(edges, {chunks, ranks + 1});
  Value starts =
      nodes.reshape(nodes.slice(byChunk, 1, 0, ranks), {chunks * ranks});
  Value stops =
      nodes.reshape(nodes.slice(byChunk, 1, 1, ranks), {chunks * ranks});
  Value most = nodes.reshape(
      nodes.reduce(NodeTarget::AtenAmaxDefault, subtract(stops, starts), 0),
      {});
  missing = nodes.shift(most, -room);

  // The rows of the slots.
  Value row = add(nodes.reshape(starts, {chunks * ranks, 1}),
                  nodes.reshape(counted.get(0, 1, room), {1, room}));
  Value exists = nodes.compare(NodeTarget::AtenLtTensor, row,
                               nodes.reshape(stops, {chunks * ranks, 1}));
  rowOfSlot = nodes.reshape(nodes.select(exists, row, 0), {chunks * slots});
  SmallVector<int64_t> shape = {ranks, room};
  if (chunks > 1)
    shape.insert(shape.begin(), chunks);
  Value sentIds =
      subtract(nodes.reshape(nodes.take(sortedIds, 0, rowOfSlot), shape),
               nodes.reshape(counted.get(0, own, ranks), {ranks, 1}));
  sentIds = nodes.select(nodes.reshape(exists, shape), sentIds,
                         static_cast<double>(own));

  // The slots of the rows. Those of no expert, and those that are missing, get
  // any.
  Value rank = nodes.countBelow(counted.get(own, own, ranks - 1),
                                nodes.shift(sortedIds, 1));
  Value part = addByChunk(rank, ranks);
  Value column = subtract(counted.get(0, 1, rows), nodes.take(starts, 0, part));
  Value fits = both(nodes.compare(NodeTarget::AtenGeScalar, column, 0),
                    nodes.compare(NodeTarget::AtenLtScalar, column, room));
  slotOfRow = add(nodes.multiply(part, room), nodes.select(fits, column, 0));
  if (chunks > 1) {
    rowOfSlot = nodes.take(places, 0, rowOfSlot);
    slotOfRow = nodes.place(slotOfRow, places);
  }
  return sentIds;
}

void RowExchange::receive(Value sentIds) {
  int64_t chunks = sizes.chunks, ranks = sizes.ranks, room = sizes.room,
          slots = sizes.getSlots();
  if (chunks > 1)
    sentIds = nodes.swapOuter(sentIds, {chunks, ranks, room});
  receivedIds = swap(nodes.reshape(sentIds, {chunks * slots}), 0);
  Value bySlot = receivedIds;
  if (chunks > 1)
    bySlot = nodes.reshape(nodes.swapOuter(bySlot, {ranks, chunks, room}),
                           {chunks, slots});
  std::tie(ids, order) = nodes.sort(bySlot);
  ids = nodes.reshape(ids, {chunks * slots});
  order = nodes.reshape(order, {chunks * slots});
  mask = nodes.compare(NodeTarget::AtenLtScalar, ids, sizes.own);
  placeOfSlot =
      nodes.place(counted.get(0, 1, chunks * slots), addByChunk(order, slots));
  inverse = subtractByChunk(placeOfSlot, slots);
}

void RowExchange::receiveAll() {
  if (merged)
    return;
  Value allOrder;
  std::tie(allIds, allOrder) = nodes.sort(receivedIds);
  Value bySender =
      nodes.swapOuter(placeOfSlot, {sizes.chunks, sizes.ranks, sizes.room});
  merged =
      nodes.take(nodes.reshape(bySender, {countSlots(getAll())}), 0, allOrder);
}

Value RowExchange::getEnds(unsigned chunk, Type element) {
  bool isOne = chunk < getNumChunks();
  Value &known = isOne ? ends[element] : allEnds[element];
  if (!known) {
    if (!isOne)
      receiveAll();
    Value behind = counted.getRepeated(isOne ? sizes.chunks : 1, sizes.own + 1,
                                       1, 1, sizes.own);
    Value count = nodes.countBelow(
        isOne ? addByChunk(ids, sizes.own + 1) : allIds, behind);
    if (isOne)
      count = subtractByChunk(count, sizes.getSlots());
    known = communication.castTo(count, element);
  }
  return isOne ? takeChunk(known, chunk) : known;
}

Value RowExchange::getMask(unsigned chunk) {
  if (chunk < getNumChunks())
    return takeChunk(mask, chunk);
  receiveAll();
  if (!allMask)
    allMask = nodes.compare(NodeTarget::AtenLtScalar, allIds, sizes.own);
  return allMask;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

Value RowExchange::swap(Value value, int64_t dim) {
  return communication.swap(value, dim, axes);
}

Value RowExchange::sort(Value received, int64_t dim, unsigned chunk) {
  Value rows = nodes.take(received, dim, takeChunk(order, chunk));
  auto type = cast<RankedTensorType>(rows.getType());
  if (!sizes.isPoisoned || !isa<FloatType>(type.getElementType()))
    return rows;
  SmallVector<int64_t> shape(type.getRank(), 1);
  shape[dim] = type.getDimSize(dim);
  return nodes.select(nodes.reshape(getMask(chunk), shape), rows,
                      std::numeric_limits<double>::quiet_NaN());
}

Value RowExchange::send(Value rows, int64_t dim, unsigned chunk) {
  Value slots = nodes.take(rows, dim, takeChunk(rowOfSlot, chunk));
  return sort(swap(slots, dim), dim, chunk);
}

Value RowExchange::sendFrom(Value batch, Value numbers, unsigned chunk) {
  Value rows =
      nodes.take(batch, 0, nodes.take(numbers, 0, takeChunk(rowOfSlot, chunk)));
  return sort(swap(rows, 0), 0, chunk);
}

Value RowExchange::merge(ValueRange sorted, int64_t dim) {
  if (sizes.chunks == 1)
    return sorted.front();
  receiveAll();
  return nodes.take(nodes.concatenate(sorted, dim), dim, merged);
}

Value RowExchange::returnSlots(ValueRange sorted, int64_t dim) {
  SmallVector<Value> returned;
  for (auto [chunk, rows] : llvm::enumerate(sorted)) {
    Value slots = takeChunk(inverse, static_cast<unsigned>(chunk));
    returned.push_back(swap(nodes.take(rows, dim, slots), dim));
  }
  return nodes.concatenate(returned, dim);
}

Value RowExchange::readSlots(Value returned, int64_t dim) {
  return nodes.take(returned, dim, slotOfRow);
}

Value RowExchange::findSlots(Value numbers) {
  return nodes.take(slotOfRow, 0, numbers);
}
