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

#include "regather/Dialect/TG/Targets/NodeTargets.h"

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

/// Makes a tangent of its shape alone: PyTorch hands it to backward, which does
/// not need the value of the loss.
static void detachTangent(NodeOp op) {
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  Builder builder(op.getContext());
  Attribute fill = builder.getI64IntegerAttr(1);
  if (ArrayAttr args = op.getArgsAttr(); args && args.size() > 1)
    fill = args[1];
  ArrayAttr shape = builder.getArrayAttr(
      llvm::map_to_vector(type.getShape(), [&](int64_t size) -> Attribute {
        return builder.getI64IntegerAttr(size);
      }));
  op.setTarget(getName(NodeTarget::AtenFullDefault));
  op.getInputsMutable().clear();
  op.setArgsAttr(builder.getArrayAttr({shape, fill}));
  op.setKwargsAttr(builder.getDictionaryAttr(
      builder.getNamedAttr("dtype", TypeAttr::get(type.getElementType()))));
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
  llvm::for_each(joint->tangents, detachTangent);
  SavedValues saved;
  for (auto [value, isSaved] : llvm::zip(joint->values, cut->isSaved))
    if (isSaved)
      saved.insert(value);
  moveToForward(graph, saved);
  return saved;
}
