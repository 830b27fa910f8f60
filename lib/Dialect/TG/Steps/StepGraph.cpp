//===- StepGraph.cpp - Forward and backward of a step ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Steps/StepGraph.h"

#include "regather/Dialect/TG/Nodes/RandomTargets.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

SmallVector<FunctionOpInterface> regather::tg::getSteps(ModuleOp module) {
  SmallVector<FunctionOpInterface> steps;
  for (auto func : module.getOps<FunctionOpInterface>())
    if (!isa<KernelOp>(func) && func.getFunctionBody().hasOneBlock())
      steps.push_back(func);
  return steps;
}

void regather::tg::forEachInput(Operation *op,
                                function_ref<void(Value)> visit) {
  llvm::for_each(op->getOperands(), visit);
  if (op->getNumRegions() > 0)
    visitUsedValuesDefinedAbove(
        op->getRegions(), [&](OpOperand *operand) { visit(operand->get()); });
}

/// True for a node that draws numbers which are not among its arguments.
static bool drawsNumbers(Operation *op) {
  auto node = dyn_cast<NodeOp>(op);
  return node && nodes::isRandomTarget(node.getTarget()) &&
         !(node.getKwargsAttr() && node.getKwargsAttr().get(nodes::kBitsName));
}

bool regather::tg::isRepeatable(Operation *op) {
  if (llvm::any_of(op->getResultTypes(), llvm::IsaPred<OpaqueType>))
    return false;
  if (isa<CollectiveOpInterface, WaitOp>(op))
    return true;
  return isMemoryEffectFree(op) && !drawsNumbers(op);
}

int64_t regather::tg::getValueBytes(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  if (!tensor || !tensor.hasStaticShape() || isOnHost(tensor))
    return 0;
  return getTensorBytes(tensor);
}

StepGraph::StepGraph(Block &block) : block(block) {
  for (Operation &op : block.without_terminator()) {
    // Data in flight does not cross: a wait stays with its collective.
    auto wait = dyn_cast<WaitOp>(op);
    std::optional<Phase> phase =
        getPhase(wait ? wait.getFuture().getDefiningOp() : &op);
    bool isAfter = phase && *phase != Phase::Forward;
    if (!phase)
      forEachInput(&op, [&](Value input) {
        auto it = numbers.find(input.getDefiningOp());
        isAfter |= it != numbers.end() && backward[it->second];
      });
    numbers[&op] = ops.size();
    ops.push_back(&op);
    backward.push_back(isAfter);
  }
}

unsigned StepGraph::getNumber(Operation *op) const {
  auto it = numbers.find(op);
  if (it == numbers.end())
    it = numbers.find(block.findAncestorOpInBlock(*op));
  return it->second;
}

bool StepGraph::isForwardValue(Value value) const {
  auto it = numbers.find(value.getDefiningOp());
  return it != numbers.end() && !backward[it->second];
}
