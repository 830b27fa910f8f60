//===- ProgramAccesses.cpp - What a program touches and when --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/Exec/Analysis/ProgramAccesses.h"

#include "regather/Dialect/Exec/Analysis/MemoryChecks.h"

using namespace mlir;
using namespace regather;
using namespace regather::exec;

llvm::BitVector regather::exec::findCopyStreams(ProgramOp program) {
  llvm::BitVector copying(program.getStreams()), other(program.getStreams());
  // A graph has streams of its own.
  std::vector<Block *> blocks(program.getStreams());
  program.walk([&](StreamOpInterface op) {
    uint64_t stream = op.getStream();
    Block *&block = blocks[stream];
    if (!block)
      block = op->getBlock();
    bool copies = isa<TransferOp>(op) && block == op->getBlock();
    (copies ? copying : other).set(stream);
  });
  return copying.reset(other);
}

ProgramAccesses::ProgramAccesses(ProgramOp program, BufferCuts cuts)
    : program(program), cuts(std::move(cuts)) {
  program.walk([&](SliceOp slice) { addBuffer(slice.getBuffer()); });
  program.walk([&](HostSliceOp slice) { addBuffer(slice.getBuffer()); });
  for (BlockArgument argument : program.getArguments()) {
    uint32_t first = buffers.size();
    addBuffer(argument);
    for (uint32_t part = first; part != buffers.size(); ++part)
      stream.liveIn.push_back(part);
  }
  stream.numBuffers = buffers.size();
  stream.numStreams = program.getStreams();
  llvm::BitVector copying = findCopyStreams(program);
  for (uint32_t i = 1; i < stream.numStreams; ++i)
    if (!copying.test(i))
      stream.overlapping.push_back(i);
  for (Operation &op : program.getBody().front())
    addOp(&op);
}

void ProgramAccesses::addBuffer(Value value) {
  numbers[value] = buffers.size();
  auto it = cuts.find(value);
  buffers.append(it == cuts.end() ? 1 : it->second.size() + 1, value);
}

/// Adds the parts that `value` has bytes of.
void ProgramAccesses::addPlaces(Value value,
                                std::vector<uint32_t> &list) const {
  std::optional<uint32_t> number = getNumber(value);
  if (!number)
    return;
  BufferPlace place = getPlace(value);
  auto it = cuts.find(place.base);
  if (it == cuts.end()) {
    list.push_back(*number);
    return;
  }
  int64_t bytes = getBufferBytes(cast<MemRefType>(value.getType()));
  int64_t end = place.offset + std::max<int64_t>(bytes, 1);
  ArrayRef<int64_t> offsets = it->second;
  auto first = llvm::upper_bound(offsets, place.offset) - offsets.begin();
  auto last = llvm::lower_bound(offsets, end) - offsets.begin();
  for (auto part = first; part <= last; ++part)
    list.push_back(*number + static_cast<uint32_t>(part));
}

std::optional<uint32_t> ProgramAccesses::getNumber(Value value) const {
  auto it = numbers.find(getPlace(value).base);
  return it == numbers.end() ? std::nullopt : std::optional(it->second);
}

void ProgramAccesses::addAccesses(Operation *op, StreamOp &step) {
  auto add = [&](ValueRange values, std::vector<uint32_t> &list) {
    for (Value value : values)
      addPlaces(value, list);
  };
  if (auto access = dyn_cast<StreamOpInterface>(op)) {
    add(access.getReads(), step.reads);
    add(access.getWrites(), step.writes);
  } else if (isa<IfOp>(op)) {
    add(op->getOperands(), step.reads);
  } else if (auto loop = dyn_cast<ForOp>(op)) {
    add({loop.getLower(), loop.getUpper(), loop.getStep()}, step.reads);
    add(loop.getIndex(), step.writes);
  } else if (isa<ReturnOp>(op)) {
    add(op->getOperands(), stream.liveOut);
  }
}

void ProgramAccesses::addOp(Operation *op) {
  if (auto graph = dyn_cast<GraphOp>(op)) {
    // Control flow has no place in a graph, so this goes one level deep.
    for (Operation &inner : graph.getBody().front())
      addOp(&inner);
    return;
  }
  StreamOp step;
  if (auto access = dyn_cast<StreamOpInterface>(op)) {
    step.stream = access.getStream();
  } else if (auto record = dyn_cast<RecordOp>(op)) {
    step.stream = record.getStream();
    step.records = stream.numEvents;
    events[record.getEvent()] = stream.numEvents++;
  } else if (auto wait = dyn_cast<WaitOp>(op)) {
    step.stream = wait.getStream();
    step.waits.push_back(events.lookup(wait.getEvent()));
  } else if (!isa<IfOp, ForOp, ReturnOp>(op)) {
    return;
  }
  addAccesses(op, step);
  if (op->getNumRegions() > 0) {
    // Whatever happens inside is done when the operation is.
    StreamOp inner;
    for (Region &region : op->getRegions())
      region.walk([&](Operation *nested) { addAccesses(nested, inner); });
    llvm::append_range(step.writes, inner.reads);
    llvm::append_range(step.writes, inner.writes);
    llvm::sort(step.writes);
    step.writes.erase(llvm::unique(step.writes), step.writes.end());
  }
  stream.ops.push_back(std::move(step));
  ops.push_back(op);
}

FailureOr<std::vector<BufferLifetime>> ProgramAccesses::computeLifetimes() {
  Result<std::vector<BufferLifetime>> lifetimes =
      regather::computeLifetimes(stream);
  if (lifetimes)
    return std::move(*lifetimes);
  // The checks name values and places instead of numbers.
  if (failed(verifyMemory(program)))
    return failure();
  return program.emitError()
         << "cannot tell when buffers are in use: " << lifetimes.getMessage();
}
