//===- PyTorchPlan.cpp - Save what PyTorch saves --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Duplicates.h"
#include "PyTorchGraph.h"
#include "SavedValues.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::partition;

static void markForward(Operation *op) {
  auto phase = PhaseAttr::get(op->getContext(), Phase::Forward);
  if (isa<CollectiveOpInterface>(op))
    op->setAttr("phase", phase);
  if (!isa<CollectiveOpInterface>(op) || op->hasAttr(kPhaseAttrName))
    op->setAttr(kPhaseAttrName, phase);
}

/// Makes all that is saved, and what it is computed from, part of forward.
static void moveToForward(const StepGraph &graph, const SavedValues &saved) {
  std::vector<bool> isNeeded(graph.getOps().size());
  auto need = [&](Value value) {
    if (Operation *def = value.getDefiningOp())
      isNeeded[graph.getNumber(def)] = true;
  };
  llvm::for_each(saved, need);
  for (unsigned number = isNeeded.size(); number-- > 0;) {
    Operation *op = graph.getOps()[number];
    if (graph.isBackward(number)) {
      if (!isNeeded[number])
        continue;
      markForward(op);
    }
    forEachInput(op, need);
  }
}

FailureOr<SavedValues> partition::saveLikePyTorch(func::FuncOp func) {
  mergeDuplicates(func);
  StepGraph graph(func.getBody().front());
  FailureOr<PyTorchGraph> joint = buildPyTorchGraph(func, graph);
  if (failed(joint))
    return failure();
  llvm::Expected<PyTorchCut> cut = partitionLikePyTorch(joint->nodes);
  if (!cut)
    return func.emitError()
           << "PyTorch finds no partition: " << llvm::toString(cut.takeError());
  reportCut(func, cut->value);
  SavedValues saved;
  for (auto [value, isSaved] : llvm::zip(joint->values, cut->isSaved))
    if (isSaved)
      saved.insert(value);
  moveToForward(graph, saved);
  return saved;
}
