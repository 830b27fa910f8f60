//===- BoundaryStatistics.cpp - What lives on to backward -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BoundaryStatistics.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

std::vector<CrossingValue>
regather::findCrossingValues(FunctionOpInterface func, const StepGraph &graph,
                             const ParameterChains &chains) {
  llvm::DenseSet<Value> living;
  for (auto [number, op] : llvm::enumerate(graph.getOps()))
    if (graph.isBackward(number))
      forEachInput(op, [&](Value value) { living.insert(value); });
  Operation *terminator = graph.getBlock().getTerminator();
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    auto role = func.getResultAttrOfType<RoleAttr>(i, kRoleAttrName);
    if (role && role.getKind() == RoleKind::Saved)
      living.insert(value);
  }
  std::vector<CrossingValue> crossing;
  for (auto [number, op] : llvm::enumerate(graph.getOps())) {
    if (graph.isBackward(number))
      continue;
    for (Value value : op->getResults())
      if (living.contains(value))
        crossing.push_back({value, getValueBytes(value),
                            chains.isGathered(value)
                                ? chains.getParameter(value)
                                : BlockArgument()});
  }
  return crossing;
}

std::vector<Operation *> regather::findRecomputed(ModuleOp module) {
  llvm::DenseSet<Attribute> forwardIds;
  std::vector<Operation *> backward;
  for (FunctionOpInterface func : getSteps(module)) {
    StepGraph graph(func.getFunctionBody().front());
    for (auto [number, op] : llvm::enumerate(graph.getOps())) {
      Attribute id = op->getAttr(kIdAttrName);
      if (!id)
        continue;
      if (graph.isBackward(number))
        backward.push_back(op);
      else
        forwardIds.insert(id);
    }
  }
  llvm::erase_if(backward, [&](Operation *op) {
    return !forwardIds.contains(op->getAttr(kIdAttrName));
  });
  return backward;
}

/// Adds what lives on in one function. A gathered parameter counts once,
/// however many views of it there are.
static void countCrossing(FunctionOpInterface func, BoundaryCount &count) {
  StepGraph graph(func.getFunctionBody().front());
  ParameterChains chains(func, graph);
  llvm::DenseMap<BlockArgument, int64_t> gathered;
  for (const CrossingValue &crossing :
       findCrossingValues(func, graph, chains)) {
    if (!crossing.gathered) {
      count.savedBytes += crossing.bytes;
      continue;
    }
    int64_t &largest = gathered[crossing.gathered];
    largest = std::max(largest, crossing.bytes);
  }
  for (auto [parameter, bytes] : gathered) {
    count.savedBytes += bytes;
    count.gatheredBytes += bytes;
  }
}

BoundaryCount regather::countBoundary(ModuleOp module) {
  BoundaryCount count;
  for (FunctionOpInterface func : getSteps(module))
    countCrossing(func, count);
  for (Operation *op : findRecomputed(module))
    count.recomputedFlops += getOpCost(op).flops;
  return count;
}
