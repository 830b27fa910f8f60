//===- InPlace.cpp - Results that may take the place of arguments ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Target/CPU/CompileKernels.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

/// True if the rule says that each element of the only result is computed from
/// the element of the operand at the same place, as far as this operand goes.
static bool isElementwiseByRule(Operation *op, unsigned operand) {
  auto interface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!interface || op->getNumResults() != 1)
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

/// True if the body computes result `result` from operand `operand`.
static bool dependsOn(linalg::GenericOp op, unsigned result, unsigned operand) {
  llvm::DenseSet<Value> dependent;
  dependent.insert(op.getBlock()->getArgument(operand));
  for (Operation &inner : op.getBlock()->without_terminator())
    if (llvm::any_of(inner.getOperands(),
                     [&](Value value) { return dependent.contains(value); }))
      dependent.insert(inner.result_begin(), inner.result_end());
  return dependent.contains(op.getBlock()->getTerminator()->getOperand(result));
}

/// True if the result may be written over the operand. An operation with
/// several results computes one element of each at a time.
static bool isElementwise(Operation *op, unsigned operand, unsigned result) {
  if (op->getOperand(operand).getType() != op->getResult(result).getType())
    return false;
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || op->getNumResults() == 1)
    return isElementwiseByRule(op, operand);
  return generic.getNumParallelLoops() == generic.getNumLoops() &&
         llvm::all_of(generic.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isIdentity(); }) &&
         dependsOn(generic, result, operand);
}

// Code reads the argument at the latest where it writes the result, element by
// element, since all that is computed from the one ends in the other.
bool cpu::isInPlaceSafe(KernelOp kernel, unsigned argument, unsigned result) {
  Block &body = kernel.getBody().front();
  Value value = body.getArgument(argument);
  Value target = body.getTerminator()->getOperand(result);
  // A copy of the argument itself has nothing to compute.
  if (value == target)
    return false;
  while (value != target) {
    if (!value.hasOneUse())
      return false;
    OpOperand &use = *value.getUses().begin();
    Operation *user = use.getOwner();
    // A use inside of a region is one of the operation around it.
    if (user->getBlock() != &body || user->hasTrait<OpTrait::IsTerminator>() ||
        user->getNumResults() == 0)
      return false;
    // Of several results the path goes on with the one that is wanted.
    auto reached = dyn_cast<OpResult>(target);
    unsigned next =
        reached && reached.getOwner() == user ? reached.getResultNumber() : 0;
    if (!isElementwise(user, use.getOperandNumber(), next))
      return false;
    value = user->getResult(next);
  }
  return true;
}
