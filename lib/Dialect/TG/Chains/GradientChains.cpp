//===- GradientChains.cpp - Which reductions make gradients ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Chains/GradientChains.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace regather::tg;

static int64_t getNumElements(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor && tensor.hasStaticShape() ? tensor.getNumElements() : -1;
}

/// The tensors that `op` reads, without constants.
static SmallVector<Value> getTensorInputs(Operation *op) {
  SmallVector<Value> inputs;
  forEachInput(op, [&](Value input) {
    Operation *def = input.getDefiningOp();
    if (isa<RankedTensorType>(input.getType()) &&
        !(def && def->hasTrait<OpTrait::ConstantLike>()))
      inputs.push_back(input);
  });
  return inputs;
}

/// The tensor that `value` is a view, a cast or a multiple of; null if it is
/// none.
static Value getOnlySource(Value value) {
  Operation *op = value.getDefiningOp();
  SmallVector<Value> inputs = getTensorInputs(op);
  auto costed = dyn_cast<CostOpInterface>(op);
  if (inputs.size() != 1 || (costed && costed.isLibraryCall()))
    return nullptr;
  bool isView = costed && costed.isView();
  return isView || getNumElements(inputs[0]) == getNumElements(value)
             ? inputs[0]
             : nullptr;
}

static bool isReduced(Value value) {
  auto wait = value.getDefiningOp<WaitOp>();
  return wait &&
         isa<ReduceScatterOp, AllReduceOp>(wait.getFuture().getDefiningOp());
}

/// What has to be looked at for the gradient that `value`, which an operation
/// other than a wait gives, is made of.
static SmallVector<Value> getSources(Value value) {
  Operation *op = value.getDefiningOp();
  SmallVector<Value> sources;
  if (getPhase(op) == Phase::Optimizer) {
    // Norms and other numbers have fewer elements.
    llvm::copy_if(getTensorInputs(op), std::back_inserter(sources),
                  [&](Value input) {
                    return getNumElements(input) == getNumElements(value);
                  });
    return sources;
  }
  if (Value source = getOnlySource(value))
    return {source};
  sources = getTensorInputs(op);
  if (!llvm::all_of(sources, isReduced))
    sources.clear();
  return sources;
}

GradientChains::GradientChains(FunctionOpInterface func, const StepGraph &graph)
    : block(graph.getBlock()) {
  // A gradient says more than an update, which clipping makes depend on all of
  // them.
  for (RoleKind kind : {RoleKind::Gradient, RoleKind::Update})
    for (OpOperand &result : block.getTerminator()->getOpOperands()) {
      unsigned number = result.getOperandNumber();
      auto role = func.getResultAttrOfType<RoleAttr>(number, kRoleAttrName);
      if (!role || role.getKind() != kind)
        continue;
      auto argument =
          func.getArgAttrOfType<RoleAttr>(role.getArgument(), kRoleAttrName);
      if (argument && argument.getKind() == RoleKind::Parameter)
        follow(result.get(), block.getArgument(role.getArgument()));
    }
}

void GradientChains::follow(Value result, BlockArgument parameter) {
  SmallVector<Value> worklist = {result};
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != &block || !seen.insert(value).second)
      continue;
    auto wait = dyn_cast<WaitOp>(op);
    if (!wait) {
      llvm::append_range(worklist, getSources(value));
    } else if (isReduced(value)) {
      parameters[value] = parameter;
      unsigned member = cast<OpResult>(value).getResultNumber();
      auto reduction = wait.getFuture().getDefiningOp<CollectiveOpInterface>();
      worklist.push_back(reduction.getInputs()[member]);
    }
  }
}

SmallVector<BlockArgument>
GradientChains::getParameters(CollectiveOpInterface op) const {
  SmallVector<BlockArgument> members(op.getInputs().size());
  if (WaitOp wait = getWait(op))
    for (auto [tensor, member] : llvm::zip_equal(wait.getTensors(), members))
      member = getParameter(tensor);
  return members;
}
