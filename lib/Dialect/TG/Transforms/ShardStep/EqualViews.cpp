//===- EqualViews.cpp - Views that are made several times -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EqualViews.h"

#include "regather/Dialect/TG/IR/TG.h"

using namespace mlir;
using namespace regather::tg;

/// The node that makes the same of the same value, if one is among the users
/// before `view`.
static NodeOp findEqual(NodeOp view, ArrayRef<NodeOp> others) {
  for (NodeOp other : others)
    if (other.getTarget() == view.getTarget() &&
        other->getOperands() == view->getOperands() &&
        other->getResultTypes() == view->getResultTypes() &&
        other.getArgsAttr() == view.getArgsAttr() &&
        other.getKwargsAttr() == view.getKwargsAttr() &&
        getPhase(other) == getPhase(view))
      return other;
  return nullptr;
}

void regather::tg::spmd::mergeEqualViews(Block &block) {
  // By what is viewed; a value has few views.
  constexpr unsigned maxViews = 16;
  llvm::DenseMap<Value, SmallVector<NodeOp, 2>> views;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto node = dyn_cast<NodeOp>(op);
    if (!node || node->getNumOperands() != 1 || node->getNumResults() != 1 ||
        !getOpCost(node).view)
      continue;
    SmallVector<NodeOp, 2> &known = views[node->getOperand(0)];
    if (NodeOp equal = findEqual(node, known)) {
      node->getResult(0).replaceAllUsesWith(equal->getResult(0));
      node.erase();
    } else if (known.size() < maxViews) {
      known.push_back(node);
    }
  }
}
