//===- InPlace.cpp - Results that may take the place of arguments ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Target/CPU/CompileKernels.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

/// True if each element of the only result is computed from the element of the
/// operand at the same place, as far as this operand goes.
static bool isElementwiseIn(Operation *op, unsigned operand) {
  auto interface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!interface || op->getNumResults() != 1 ||
      op->getOperand(operand).getType() != op->getResult(0).getType())
    return false;
  ShardingRule rule = interface.getShardingRule();
  if (!rule.unusable.empty() || rule.operands[operand] != rule.results[0])
    return false;
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  for (auto [size, factors] :
       llvm::zip_equal(type.getShape(), rule.results[0])) {
    if (size == 1)
      continue;
    if (factors.size() != 1 ||
        rule.factors[factors.front()].kind != FactorKind::Parallel)
      return false;
  }
  return true;
}

// Code reads the argument at the latest where it writes the result, element by
// element, since all that is computed from the one ends in the other.
bool cpu::isInPlaceSafe(KernelOp kernel, unsigned argument, unsigned result) {
  Block &body = kernel.getBody().front();
  Value value = body.getArgument(argument);
  Value target = body.getTerminator()->getOperand(result);
  while (value != target) {
    if (!value.hasOneUse())
      return false;
    OpOperand &use = *value.getUses().begin();
    // A use inside of a region is one of the operation around it.
    if (use.getOwner()->getBlock() != &body ||
        use.getOwner()->hasTrait<OpTrait::IsTerminator>() ||
        !isElementwiseIn(use.getOwner(), use.getOperandNumber()))
      return false;
    value = use.getOwner()->getResult(0);
  }
  // A copy of the argument itself has nothing to compute.
  return !isa<BlockArgument>(target);
}
