//===- ProgramItems.cpp - The body of a program as a list -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramItems.h"

#include "regather/Dialect/Exec/Analysis/StreamOrder.h"

using namespace mlir;
using namespace regather::exec;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

ProgramItems::ProgramItems(ProgramOp program) : program(program) {
  using Kind = ProgramItem::Kind;
  // One more than the number of the last start on each stream.
  SmallVector<size_t> last(program.getStreams());
  for (Operation &op : program.getBody().front().without_terminator()) {
    if (isa<SliceOp, HostSliceOp, ViewOp, ConstantOp, DestinationOp,
            CommunicatorOp>(op)) {
      declarations.push_back(&op);
    } else if (auto access = dyn_cast<StreamOpInterface>(op)) {
      bool isStart = access.getStream() != 0;
      items.push_back({isStart ? Kind::Start : Kind::Compute, &op});
      if (isStart)
        last[access.getStream()] = items.size();
    } else if (auto record = dyn_cast<RecordOp>(op)) {
      addRecord(record, last);
    } else if (auto wait = dyn_cast<WaitOp>(op)) {
      addWait(wait);
    } else {
      items.push_back({Kind::Barrier, &op});
    }
  }
}

void ProgramItems::addRecord(RecordOp record, ArrayRef<size_t> last) {
  bool isUsedInRegion = llvm::any_of(record->getUsers(), [&](Operation *user) {
    return user->getBlock() != record->getBlock();
  });
  if (isUsedInRegion) {
    items.push_back({ProgramItem::Kind::Barrier, record});
    return;
  }
  records[record] = record.getStream() == 0 ? 0 : last[record.getStream()];
  erased.push_back(record);
}

void ProgramItems::addWait(WaitOp wait) {
  auto it = records.find(wait.getEvent().getDefiningOp());
  if (it == records.end()) {
    items.push_back({ProgramItem::Kind::Barrier, wait});
    return;
  }
  // Events of stream 0 are made where something starts.
  if (it->second != 0)
    items.push_back(
        {ProgramItem::Kind::Wait, wait, wait.getStream(), it->second - 1});
  erased.push_back(wait);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

namespace {
/// Writes items at the insertion point, with the events that they need.
class ItemWriter {
public:
  ItemWriter(ArrayRef<ProgramItem> items, Operation *end, uint64_t numStreams)
      : items(items), builder(end), order(numStreams), arrivals(items.size()) {}

  void write(const ItemGroup &group);

private:
  void write(size_t number);
  void writeWait(const ProgramItem &item);

  ArrayRef<ProgramItem> items;
  OpBuilder builder;
  StreamOrder order;
  /// By number of the start.
  std::vector<StreamOrder::Arrival> arrivals;
};
} // namespace

void ItemWriter::writeWait(const ProgramItem &item) {
  const StreamOrder::Arrival &arrival = arrivals[item.start];
  if (item.stream == 0)
    order.waitFor(builder, item.op->getLoc(), arrival);
  else
    WaitOp::create(builder, item.op->getLoc(), arrival.event, item.stream);
}

void ItemWriter::write(size_t number) {
  const ProgramItem &item = items[number];
  if (item.kind == ProgramItem::Kind::Wait)
    return writeWait(item);
  unsigned stream = 0;
  if (item.kind == ProgramItem::Kind::Start) {
    stream = cast<StreamOpInterface>(item.op).getStream();
    order.beginCollective(builder, item.op->getLoc(), stream);
  }
  item.op->moveBefore(builder.getInsertionBlock(), builder.getInsertionPoint());
  if (item.kind == ProgramItem::Kind::Start)
    arrivals[number] = order.endCollective(builder, item.op->getLoc(), stream);
  else
    order.addCompute();
}

void ItemWriter::write(const ItemGroup &group) {
  if (group.graph.empty()) {
    for (size_t item : group.items)
      write(item);
    return;
  }
  Location loc = items[group.items.front()].op->getLoc();
  auto graph = GraphOp::create(builder, loc, group.graph);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&graph.getBody().emplaceBlock());
  StreamOrder outer = order;
  order = outer.enterRegion();
  for (size_t item : group.items)
    write(item);
  order.leaveRegion(builder, loc);
  YieldOp::create(builder, loc);
  order = outer;
  order.addCompute();
}

void ProgramItems::rewrite(ArrayRef<ItemGroup> groups) {
  Block &body = program.getBody().front();
  Operation *end = body.getTerminator();
  // Buffers first: who uses them may come earlier than before.
  Operation *anchor = &body.front();
  for (Operation *op : declarations) {
    if (op == anchor)
      anchor = anchor->getNextNode();
    else
      op->moveBefore(anchor);
  }
  ItemWriter writer(items, end, program.getStreams());
  for (const ItemGroup &group : groups)
    writer.write(group);
  for (Operation *op : llvm::reverse(erased))
    op->erase();
}
