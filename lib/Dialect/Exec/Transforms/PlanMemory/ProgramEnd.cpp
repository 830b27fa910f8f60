//===- ProgramEnd.cpp - Where a program does its last copies --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramEnd.h"

using namespace mlir;
using namespace regather;
using namespace regather::exec;

/// The graph that holds everything the program does; null if there is none.
static GraphOp getWholeGraph(ProgramOp program) {
  GraphOp graph;
  for (Operation &op : program.getBody().front()) {
    if (isa<StreamOpInterface, IfOp, ForOp>(op))
      return nullptr;
    if (auto next = dyn_cast<GraphOp>(op)) {
      if (graph)
        return nullptr;
      graph = next;
    }
  }
  return graph;
}

OpBuilder regather::exec::buildAtEnd(ProgramOp program) {
  if (GraphOp graph = getWholeGraph(program))
    return OpBuilder(graph.getBody().front().getTerminator());
  Operation *end = &program.getBody().front().back();
  OpBuilder builder(end);
  for (uint64_t stream = 1; stream < program.getStreams(); ++stream) {
    Value event = RecordOp::create(builder, end->getLoc(), stream);
    WaitOp::create(builder, end->getLoc(), event, uint64_t(0));
  }
  return builder;
}
