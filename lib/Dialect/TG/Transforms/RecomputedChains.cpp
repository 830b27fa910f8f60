//===- RecomputedChains.cpp - Marks along chains of parameters ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecomputedChains.h"

#include "regather/Dialect/TG/Chains/ParameterChains.h"
#include "regather/Dialect/TG/Steps/Policies.h"

using namespace mlir;
using namespace regather::tg;

void regather::tg::markRecomputedChains(FunctionOpInterface func) {
  StepGraph graph(func.getFunctionBody().front());
  ParameterChains chains(func, graph);
  // Marks spread along the order of the program, from one operation of a chain
  // to the next.
  for (auto [number, op] : llvm::enumerate(graph.getOps())) {
    if (graph.isBackward(number) || isa<WaitOp>(op) ||
        op->getNumResults() == 0 || getPolicy(op) ||
        !chains.isGathered(op->getResult(0)))
      continue;
    PolicyAttr mark;
    forEachInput(op, [&](Value input) {
      if (mark || !chains.isGathered(input))
        return;
      PolicyAttr policy = getPolicyAttr(input.getDefiningOp());
      if (policy && policy.getValue() == Policy::MustRecompute)
        mark = policy;
    });
    if (mark)
      op->setAttr(kPolicyAttrName, mark);
  }
}
