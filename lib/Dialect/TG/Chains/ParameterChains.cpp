//===- ParameterChains.cpp - What is made of one parameter alone ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Chains/ParameterChains.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace regather::tg;

ParameterChains::ParameterChains(FunctionOpInterface func,
                                 const StepGraph &graph) {
  for (BlockArgument argument : graph.getBlock().getArguments()) {
    auto role =
        func.getArgAttrOfType<RoleAttr>(argument.getArgNumber(), kRoleAttrName);
    if (role && role.getKind() == RoleKind::Parameter)
      links[argument] = {argument, false};
  }
  for (Operation *op : graph.getOps())
    visit(op);
}

const ParameterChains::Link *ParameterChains::lookup(Value value) const {
  auto it = links.find(value);
  return it == links.end() ? nullptr : &it->second;
}

BlockArgument ParameterChains::getParameter(Value value) const {
  const Link *link = lookup(value);
  return link ? link->parameter : nullptr;
}

bool ParameterChains::isGathered(Value value) const {
  const Link *link = lookup(value);
  return link && link->isGathered;
}

bool ParameterChains::isConstant(Value value) const {
  const Link *link = lookup(value);
  return link && !link->parameter;
}

SmallVector<unsigned> ParameterChains::getMembers(AllGatherOp gather) const {
  SmallVector<unsigned> members;
  for (auto [i, input] : llvm::enumerate(gather.getInputs()))
    if (getParameter(input))
      members.push_back(i);
  return members;
}

/// True if the results hold too little of `inputElements` to stand for them: a
/// reduction, whose result is worth keeping.
static bool isReduction(Operation *op, int64_t inputElements) {
  int64_t elements = 0;
  for (Type type : op->getResultTypes())
    elements += cast<RankedTensorType>(type).getNumElements();
  return 2 * elements < inputElements;
}

void ParameterChains::visitWait(WaitOp wait) {
  auto gather = wait.getFuture().getDefiningOp<AllGatherOp>();
  if (!gather)
    return;
  for (auto [input, tensor] : llvm::zip(gather.getInputs(), wait.getTensors()))
    if (BlockArgument parameter = getParameter(input))
      links[tensor] = {parameter, true};
}

void ParameterChains::visit(Operation *op) {
  if (auto wait = dyn_cast<WaitOp>(op))
    return visitWait(wait);
  Link link;
  bool isChain = true, readsScalars = false;
  int64_t elements = 0;
  forEachInput(op, [&](Value input) {
    const Link *source = lookup(input);
    auto tensor = dyn_cast<RankedTensorType>(input.getType());
    if (!source) {
      // Numbers, such as the offset of a slice, are no data of the parameter.
      isChain &= input.getType().isIntOrIndexOrFloat();
      readsScalars |= !matchPattern(input, m_Constant());
      return;
    }
    if (!source->parameter)
      return;
    isChain &= tensor && tensor.hasStaticShape() &&
               (!link.parameter || link.parameter == source->parameter);
    link.parameter = source->parameter;
    link.isGathered |= source->isGathered;
    if (isChain)
      elements = std::max(elements, tensor.getNumElements());
  });
  // Most operations are in no chain; the rest is more to ask.
  if (!isChain || isa<CollectiveOpInterface>(op) || !isRepeatable(op))
    return;
  isChain = llvm::all_of(op->getResultTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  });
  auto costed = dyn_cast<CostOpInterface>(op);
  if (!isChain || (!link.parameter && readsScalars) ||
      (costed && costed.isLibraryCall()))
    return;
  // A rank that cuts its own part out of what was gathered has a shard again.
  link.isGathered &= !readsScalars;
  if (link.isGathered && !(costed && costed.isView()) &&
      isReduction(op, elements))
    return;
  for (Value result : op->getResults())
    links[result] = link;
}

std::string regather::tg::getParameterName(FunctionOpInterface func,
                                           BlockArgument parameter) {
  unsigned number = parameter.getArgNumber();
  auto name = func.getArgAttrOfType<StringAttr>(number, kNameAttrName);
  return name ? name.str() : "argument " + std::to_string(number);
}
