//===- OrderReader.cpp - Orders of steps ----------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JsonMutation.h"
#include "MemoryFile.h"
#include "Reader.h"

#include "Driver/Simulate/OrderFile.h"

#include "llvm/ADT/STLExtras.h"

using namespace regather;
using namespace regather::fuzz;

/// Each operation needs the last but one.
static TimedGraph makeGraph(size_t size) {
  TimedGraph graph;
  graph.ops.resize(size);
  for (uint32_t i = 0; i != size; ++i) {
    std::vector<uint32_t> before;
    if (i >= 2)
      before.push_back(i - 2);
    graph.predecessors.push(before);
  }
  return graph;
}

static std::string readOrderBytes(std::string_view bytes) {
  static const std::vector<std::string> kNames = {"a", "b", "c",
                                                  "d", "e", "%f#1"};
  static const TimedGraph kGraph = makeGraph(kNames.size());
  static MemoryFile input;
  input.write(bytes);
  Result<std::vector<uint32_t>> order =
      readOrder(input.getPath(), kGraph, kNames);
  if (!order)
    return order.getMessage();
  std::vector<uint32_t> sorted = *order;
  llvm::sort(sorted);
  if (sorted != kGraph.getStepOrder() || findOrderViolation(kGraph, *order))
    reportFind("an order in which the step cannot run");
  return std::string();
}

const Reader regather::fuzz::orderReader = {"order", readOrderBytes,
                                            mutateJson};
