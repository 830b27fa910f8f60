//===- MemoryBound.cpp - Memory that every order takes --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is live at an operation, whatever the order:
//
//   bytes(op) = what op writes + the buffers that are written before op in
//               every order, and that op, something behind it in every order,
//               or the caller uses
//
// 64 operations are processed together, a bit for each: one walk up finds what
// comes before them, one walk down what comes behind them.
//
//===----------------------------------------------------------------------===//

#include "MemoryBound.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

using namespace llvm;
using namespace regather;
using namespace regather::overlap;

/// The operations of one walk.
static constexpr uint32_t kTogether = 64;
/// How many bits of buffers all walks together may visit.
static constexpr uint64_t kMemoryBoundEffort = uint64_t(1) << 27;

/// The most bytes that are live at one of `ops`, at most 64, in every order.
static int64_t getBoundAt(const Graph &graph, ArrayRef<uint32_t> ops) {
  std::vector<uint64_t> before(graph.size()), fromThere(graph.size());
  std::vector<int64_t> bytes;
  for (auto [bit, op] : enumerate(ops)) {
    fromThere[op] = uint64_t(1) << bit;
    bytes.push_back(graph.residentBytes + graph.writtenBytes[op]);
  }
  for (uint32_t op = graph.size(); op-- != 0;)
    for (uint32_t predecessor : graph.predecessors[op])
      before[predecessor] |= before[op] | fromThere[op];
  for (uint32_t op = 0; op != graph.size(); ++op)
    for (uint32_t predecessor : graph.predecessors[op])
      fromThere[op] |= fromThere[predecessor];
  for (const auto &[number, buffer] : enumerate(graph.buffers)) {
    uint64_t isUsed = buffer.isLiveOut ? ~uint64_t(0) : 0;
    for (uint32_t user : graph.users[number])
      isUsed |= fromThere[user];
    for (uint64_t live = before[buffer.writer] & isUsed; live != 0;
         live &= live - 1)
      bytes[countr_zero(live)] += buffer.bytes;
  }
  return *max_element(bytes);
}

int64_t overlap::computeMemoryBound(const Graph &graph) {
  // All results of the step are live at its end.
  int64_t bound = graph.residentBytes;
  for (const TimedBuffer &buffer : graph.buffers)
    bound += buffer.isLiveOut ? buffer.bytes : 0;
  uint64_t most =
      kMemoryBoundEffort / std::max<size_t>(graph.buffers.size(), 1);
  uint64_t stride =
      divideCeil(graph.size(), std::max<uint64_t>(most, kTogether));
  std::vector<uint32_t> ops;
  for (uint64_t op = 0; op < graph.size(); op += stride)
    ops.push_back(op);
  for (ArrayRef<uint32_t> left = ops; !left.empty();
       left = left.drop_front(std::min<size_t>(left.size(), kTogether)))
    bound = std::max(bound, getBoundAt(graph, left.take_front(kTogether)));
  return bound;
}
