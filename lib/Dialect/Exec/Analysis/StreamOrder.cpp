//===- StreamOrder.cpp - Events between the streams of a program ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/Exec/Analysis/StreamOrder.h"

using namespace mlir;
using namespace regather::exec;

void StreamOrder::beginCollective(OpBuilder &builder, Location loc,
                                  unsigned stream) {
  if (!hasComputed)
    return;
  if (!recorded) {
    recorded = RecordOp::create(builder, loc, /*stream=*/0);
    for (Stream &other : streams)
      other.isUpToDate = false;
  }
  if (streams[stream].isUpToDate)
    return;
  WaitOp::create(builder, loc, recorded, stream);
  streams[stream].isUpToDate = true;
}

StreamOrder::Arrival StreamOrder::endCollective(OpBuilder &builder,
                                                Location loc, unsigned stream) {
  Stream &state = streams[stream];
  state.last = {stream, ++state.issued, RecordOp::create(builder, loc, stream)};
  return state.last;
}

void StreamOrder::waitFor(OpBuilder &builder, Location loc,
                          const Arrival &arrival) {
  Stream &state = streams[arrival.stream];
  if (state.known >= arrival.number)
    return;
  WaitOp::create(builder, loc, arrival.event, /*stream=*/0);
  state.known = arrival.number;
  // Events of stream 0 now stand for the collective as well.
  addCompute();
}

StreamOrder StreamOrder::enterRegion() const {
  StreamOrder inner = *this;
  inner.addCompute();
  for (Stream &stream : inner.streams)
    stream.last = Arrival();
  return inner;
}

void StreamOrder::leaveRegion(OpBuilder &builder, Location loc) {
  for (Stream &stream : streams)
    if (stream.last.event)
      waitFor(builder, loc, stream.last);
}
