//===- BoundaryStatistics.cpp - What lives on to backward -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BoundaryStatistics.h"

#include "regather/Dialect/TG/Utils/ParameterChains.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

/// The forward values of `func` that live on: its backward part reads them, or
/// it saves them for another function.
static llvm::DenseSet<Value> findLiving(FunctionOpInterface func,
                                        const StepGraph &graph) {
  llvm::DenseSet<Value> living;
  auto add = [&](Value value) {
    if (graph.isForwardValue(value))
      living.insert(value);
  };
  for (Operation *op : graph.getOps())
    if (graph.isBackward(op))
      forEachInput(op, add);
  Operation *terminator = graph.getBlock().getTerminator();
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    auto role = func.getResultAttrOfType<RoleAttr>(i, kRoleAttrName);
    if (role && role.getKind() == RoleKind::Saved)
      add(value);
  }
  return living;
}

static void countLiving(FunctionOpInterface func, const StepGraph &graph,
                        BoundaryCount &count) {
  ParameterChains chains(func, graph);
  llvm::DenseMap<BlockArgument, int64_t> gathered;
  for (Value value : findLiving(func, graph)) {
    int64_t bytes = getValueBytes(value);
    if (!chains.isGathered(value)) {
      count.savedBytes += bytes;
      continue;
    }
    int64_t &largest = gathered[chains.getParameter(value)];
    largest = std::max(largest, bytes);
  }
  for (auto [parameter, bytes] : gathered) {
    count.savedBytes += bytes;
    count.gatheredBytes += bytes;
  }
}

BoundaryCount regather::countBoundary(ModuleOp module) {
  BoundaryCount count;
  llvm::DenseSet<Attribute> forwardIds;
  SmallVector<Operation *> backward;
  for (FunctionOpInterface func : getSteps(module)) {
    StepGraph graph(func.getFunctionBody().front());
    countLiving(func, graph, count);
    for (Operation *op : graph.getOps()) {
      Attribute id = op->getAttr(kIdAttrName);
      if (graph.isBackward(op))
        backward.push_back(op);
      else if (id)
        forwardIds.insert(id);
    }
  }
  for (Operation *op : backward)
    if (Attribute id = op->getAttr(kIdAttrName); id && forwardIds.contains(id))
      count.recomputedFlops += getOpCost(op).flops;
  return count;
}
