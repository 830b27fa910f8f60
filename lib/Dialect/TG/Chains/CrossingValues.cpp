//===- CrossingValues.cpp - Values that live on to backward ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Chains/CrossingValues.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

/// The tensor that a gathered value is a view of: one that has arrived, or that
/// has been taken out of a flat buffer.
static Value findRoot(const ParameterChains &chains, Value value) {
  while (true) {
    Operation *def = value.getDefiningOp();
    if (isa<WaitOp, UnflattenOp>(def))
      return value;
    Value source;
    forEachInput(def, [&](Value input) {
      if (!source && chains.isGathered(input))
        source = input;
    });
    if (!source)
      return value;
    value = source;
  }
}

std::vector<CrossingValue>
regather::tg::findCrossingValues(FunctionOpInterface func,
                                 const StepGraph &graph,
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
    for (Value value : op->getResults()) {
      if (!living.contains(value))
        continue;
      CrossingValue crosses{value, getValueBytes(value), nullptr, nullptr};
      if (chains.isGathered(value)) {
        crosses.gathered = chains.getParameter(value);
        crosses.root = findRoot(chains, value);
      }
      crossing.push_back(crosses);
    }
  }
  return crossing;
}

llvm::MapVector<BlockArgument, int64_t>
regather::tg::countGathered(ArrayRef<CrossingValue> crossing) {
  struct Views {
    BlockArgument parameter;
    int64_t largest = 0, sum = 0;
  };
  llvm::MapVector<Value, Views> byRoot;
  for (const CrossingValue &value : crossing) {
    if (!value.gathered)
      continue;
    Views &views = byRoot[value.root];
    views.parameter = value.gathered;
    views.largest = std::max(views.largest, value.bytes);
    views.sum += value.bytes;
  }
  llvm::MapVector<BlockArgument, int64_t> bytes;
  for (auto &[root, views] : byRoot)
    bytes[views.parameter] +=
        std::max(views.largest, std::min(views.sum, getValueBytes(root)));
  return bytes;
}
