//===- RecomputedBits.cpp - Marks on random bits --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecomputedBits.h"

#include "regather/Dialect/TG/Steps/Policies.h"
#include "regather/Dialect/TG/Steps/StepGraph.h"

using namespace mlir;
using namespace regather::tg;

/// The strongest mark of a reader in forward that may be computed again; null
/// if there is none.
static PolicyAttr getReadersMark(RandomOp bits, const StepGraph &graph) {
  PolicyAttr mark;
  for (Operation *user : bits->getUsers()) {
    if (user == graph.getBlock().getTerminator() || graph.isBackward(user))
      continue;
    PolicyAttr policy = getPolicyAttr(user);
    if (!policy)
      continue;
    if (policy.getValue() == Policy::MustRecompute)
      return policy;
    if (policy.getValue() == Policy::PreferRecompute)
      mark = policy;
  }
  return mark;
}

void regather::tg::markRecomputedBits(FunctionOpInterface func) {
  StepGraph graph(func.getFunctionBody().front());
  for (auto [number, op] : llvm::enumerate(graph.getOps())) {
    auto bits = dyn_cast<RandomOp>(op);
    if (!bits || graph.isBackward(number) || getPolicyAttr(bits))
      continue;
    if (PolicyAttr mark = getReadersMark(bits, graph))
      bits->setAttr(kPolicyAttrName, mark);
  }
}
