//===- ChunkedExchange.cpp - Rows that are sent in chunks -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChunkedExchange.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::spmd;

ChunkedExchange::ChunkedExchange(Communication &communication, AxesAttr axes,
                                 const ExchangeSizes &sizes)
    : communication(communication), nodes(communication), axes(axes),
      sizes(sizes) {
  for (int64_t chunk = 0; chunk != sizes.chunks; ++chunk)
    chunks.emplace_back(communication, axes, sizes);
}

Value ChunkedExchange::concatenate(ValueRange parts, int64_t dim) {
  return communication.getTreeSums().concatenate(parts, dim);
}

void ChunkedExchange::start(Value ids, Value order) {
  if (chunks.size() > 1) {
    startChunks(ids, order);
  } else {
    Value sent = chunks.front().plan(ids, Value());
    receivedIds =
        communication.swap(nodes.reshape(sent, {sizes.getSlots()}), 0, axes);
    chunks.front().receive(receivedIds);
    slotOfRow = chunks.front().getSlotOfRow();
  }
  Type ends = communication.getBuilder().getI32Type();
  for (unsigned number = 0; number != chunks.size(); ++number)
    getEnds(number, ends);
}

void ChunkedExchange::startChunks(Value ids, Value order) {
  Type i64 = communication.getBuilder().getI64Type();
  int64_t count = sizes.chunks, rows = sizes.rows, room = sizes.room,
          slots = sizes.getSlots();
  auto add = [&](Value a, Value b) {
    return nodes.makeBinary(NodeTarget::AtenAddTensor, a, b);
  };

  // The rows of each chunk. No two keys are equal, so that any sort will do.
  Value firsts = nodes.shift(nodes.countBy(rows, count - 1), rows);
  Value chunk = nodes.countBelow(
      firsts, nodes.shift(communication.castTo(order, i64), 1));
  Value places = nodes
                     .sort(add(nodes.multiply(chunk, count * rows),
                               nodes.countBy(1, count * rows)))
                     .second;
  Value sortedIds = nodes.take(communication.castTo(ids, i64), 0, places);

  // Where they go, and who comes from where.
  SmallVector<Value> sent, slotsOfRows;
  for (auto [number, exchange] : llvm::enumerate(chunks)) {
    auto first = static_cast<int64_t>(number) * rows;
    sent.push_back(exchange.plan(nodes.slice(sortedIds, 0, first, rows),
                                 nodes.slice(places, 0, first, rows)));
    slotsOfRows.push_back(nodes.shift(exchange.getSlotOfRow(),
                                      static_cast<int64_t>(number) * slots));
  }
  slotOfRow = nodes.place(concatenate(slotsOfRows, 0), places);
  Value flat = nodes.reshape(concatenate(sent, 1), {count * slots});
  receivedIds = communication.swap(flat, 0, axes);
  Value bySender = nodes.reshape(receivedIds, {sizes.ranks, count * room});
  for (auto [number, exchange] : llvm::enumerate(chunks)) {
    Value own =
        nodes.slice(bySender, 1, static_cast<int64_t>(number) * room, room);
    exchange.receive(nodes.reshape(own, {slots}));
  }
}

int64_t ChunkedExchange::getSlots(unsigned number) const {
  bool isOne = number < chunks.size();
  return isOne ? sizes.getSlots() : sizes.chunks * sizes.getSlots();
}

SortedSlots &ChunkedExchange::getReceived(unsigned number) {
  if (number < chunks.size())
    return chunks[number].getReceived();
  if (all)
    return *all;
  // Slots in the order of their ranks, as without chunks.
  all.emplace();
  all->sort(receivedIds, sizes.own, nodes);
  SmallVector<Value> places;
  for (auto [chunk, exchange] : llvm::enumerate(chunks))
    places.push_back(nodes.reshape(
        nodes.shift(exchange.getPlaceOfSlot(),
                    static_cast<int64_t>(chunk) * sizes.getSlots()),
        {sizes.ranks, sizes.room}));
  Value placeOfSlot =
      nodes.reshape(concatenate(places, 1), {getSlots(getAll())});
  merged = nodes.take(placeOfSlot, 0, all->getOrder());
  return *all;
}

Value ChunkedExchange::getEnds(unsigned number, Type element) {
  return getReceived(number).getEnds(element, nodes, communication);
}

Value ChunkedExchange::getMask(unsigned number) {
  return getReceived(number).getMask();
}

Value ChunkedExchange::merge(ValueRange sorted, int64_t dim) {
  if (sorted.size() == 1)
    return sorted.front();
  getReceived(getAll());
  return nodes.take(concatenate(sorted, dim), dim, merged);
}

Value ChunkedExchange::returnSlots(ValueRange sorted, int64_t dim) {
  SmallVector<Value> returned;
  for (auto [exchange, rows] : llvm::zip_equal(chunks, sorted))
    returned.push_back(exchange.returnSlots(rows, dim));
  return concatenate(returned, dim);
}

Value ChunkedExchange::readSlots(Value returned, int64_t dim) {
  return nodes.take(returned, dim, slotOfRow);
}

Value ChunkedExchange::findSlots(Value numbers) {
  return nodes.take(slotOfRow, 0, numbers);
}
