//===- SavingCut.cpp - Save the fewest bytes ------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Recomputation/SavingCut.h"

using namespace regather;

static constexpr uint32_t kSource = 0, kSink = 1, kFirstOp = 2;

static uint32_t getOpNode(uint32_t op) { return kFirstOp + op; }

static uint32_t getValueNode(const SavingProblem &problem, uint32_t value) {
  return kFirstOp + problem.ops.size() + value;
}

FlowNetwork regather::buildSavingNetwork(const SavingProblem &problem) {
  FlowNetwork network;
  network.source = kSource;
  network.sink = kSink;
  network.numNodes = kFirstOp + problem.ops.size() + problem.values.size();
  auto connect = [&](uint32_t from, uint32_t to, int64_t capacity) {
    network.edges.push_back({from, to, capacity});
  };
  // One more gather costs more than all bytes that it could save.
  int64_t gatherCost = 1;
  for (uint32_t value = 0, e = problem.values.size(); value != e; ++value) {
    const SavingProblem::Value &made = problem.values[value];
    if (made.cost < kInfiniteCapacity)
      gatherCost += made.cost;
    connect(getOpNode(made.op), getValueNode(problem, value), made.cost);
  }
  for (uint32_t number = 0, e = problem.ops.size(); number != e; ++number) {
    const SavingProblem::Op &op = problem.ops[number];
    if (!op.mayRecompute)
      connect(kSource, getOpNode(number), kInfiniteCapacity);
    else if (op.addsGather)
      connect(kSource, getOpNode(number), gatherCost);
    for (uint32_t input : op.inputs)
      connect(getValueNode(problem, input), getOpNode(number),
              kInfiniteCapacity);
  }
  for (uint32_t value : problem.needed)
    connect(getValueNode(problem, value), kSink, kInfiniteCapacity);
  return network;
}

Result<SavingCut> regather::cutSavings(const SavingProblem &problem) {
  Result<MinimumCut> cut = findMinimumCut(buildSavingNetwork(problem));
  if (!cut)
    return cut.getFailure();
  SavingCut result;
  result.value = cut->value;
  for (uint32_t value = 0, e = problem.values.size(); value != e; ++value)
    result.isSaved.push_back(
        !cut->onSinkSide[getOpNode(problem.values[value].op)] &&
        cut->onSinkSide[getValueNode(problem, value)]);
  return result;
}
