//===- BoundaryStatistics.cpp - What lives on to backward -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/BoundaryStatistics.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

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

/// Adds what lives on in one function.
static void countCrossing(FunctionOpInterface func, BoundaryCount &count) {
  StepGraph graph(func.getFunctionBody().front());
  ParameterChains chains(func, graph);
  std::vector<CrossingValue> crossing = findCrossingValues(func, graph, chains);
  for (const CrossingValue &value : crossing)
    if (!value.gathered)
      count.savedBytes += value.bytes;
  for (auto [parameter, bytes] : countGathered(crossing)) {
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
