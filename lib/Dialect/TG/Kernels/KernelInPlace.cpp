//===- KernelInPlace.cpp - Results in the place of arguments --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Kernels/KernelInPlace.h"

#include "regather/Dialect/TG/Targets/NodeTargets.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace regather::tg;

/// True if the operation may have sums or the like in its results before it has
/// read all of its operands. Factors do not tell: a sum over one element has
/// none, and code adds it to a zero that lies in the result all the same.
static bool accumulates(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return linalgOp.getNumReductionLoops() != 0;
  auto node = dyn_cast<NodeOp>(op);
  if (!node)
    return false;
  switch (getOperatorClass(node.getTarget())
              .value_or(OperatorClass::Communication)) {
  case OperatorClass::Elementwise:
  case OperatorClass::Random:
  case OperatorClass::Rearrangement:
  case OperatorClass::Reshape:
  case OperatorClass::View:
    return false;
  default:
    return true;
  }
}

/// True if element i of each result is computed from element i of the operand,
/// as far as this operand goes, and all have one shape.
static bool isElementwise(Operation *op, unsigned operand) {
  auto interface = dyn_cast<ShardingRuleOpInterface>(op);
  auto type = dyn_cast<RankedTensorType>(op->getOperand(operand).getType());
  if (!interface || !type || accumulates(op))
    return false;
  ShardingRule rule = interface.getShardingRule();
  const TensorFactors &factors = rule.operands[operand];
  for (auto [size, dim] : llvm::zip_equal(type.getShape(), factors))
    if (size != 1 && (dim.size() != 1 ||
                      rule.factors[dim.front()].kind != FactorKind::Parallel))
      return false;
  return rule.unusable.empty() && op->getNumResults() > 0 &&
         llvm::all_of(op->getResultTypes(),
                      [&](Type result) {
                        auto tensor = dyn_cast<RankedTensorType>(result);
                        return tensor && tensor.getShape() == type.getShape();
                      }) &&
         llvm::all_of(rule.results, [&](const TensorFactors &result) {
           return result == factors;
         });
}

/// The only use of `value` that reads it; null if there are several. An
/// operation of linalg may take a tensor for its shape alone.
static OpOperand *getOnlyReader(Value value) {
  OpOperand *reader = nullptr;
  for (OpOperand &use : value.getUses()) {
    auto op = dyn_cast<linalg::LinalgOp>(use.getOwner());
    if (op && op.isDpsInit(&use) && !op.payloadUsesValueFromOperand(&use))
      continue;
    if (reader)
      return nullptr;
    reader = &use;
  }
  return reader;
}

/// The operations from the argument on, each of which is all that reads what
/// the one before makes, and works by element.
static SmallVector<Operation *> getElementwiseChain(BlockArgument argument) {
  SmallVector<Operation *> chain;
  for (OpOperand *use = getOnlyReader(argument); use;) {
    Operation *op = use->getOwner();
    // A use inside of a region is one of the operation around it.
    if (op->getBlock() != argument.getOwner() ||
        op->hasTrait<OpTrait::IsTerminator>() ||
        !isElementwise(op, use->getOperandNumber()))
      break;
    chain.push_back(op);
    if (op->getNumResults() != 1)
      break;
    use = getOnlyReader(op->getResult(0));
  }
  return chain;
}

/// True if nobody in the kernel reads what `op` makes. Whoever did would
/// compute on with what comes from the argument, and LLVM, which takes buffers
/// for disjoint, may load that again behind the store of a result.
static bool isOnlyReturned(Operation *op) {
  return llvm::all_of(op->getUsers(), [](Operation *user) {
    return user->hasTrait<OpTrait::IsTerminator>();
  });
}

/// True if `result` needs operands of its operation that go back to `argument`:
/// code may write an element early if nothing that it is computed from is read
/// later.
static bool dependsOn(OpResult result, ArrayRef<Operation *> chain,
                      BlockArgument argument) {
  Operation *op = result.getOwner();
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (op->getNumResults() == 1)
    return true;
  if (!generic)
    return false;
  // The chain arrives here from the argument or from the operation before.
  Value source = argument;
  if (chain.size() > 1)
    source = chain[chain.size() - 2]->getResult(0);
  llvm::SmallDenseSet<Value> dependent;
  for (OpOperand &operand : op->getOpOperands())
    if (operand.get() == source)
      dependent.insert(generic.getMatchingBlockArgument(&operand));
  for (Operation &inner : generic.getBlock()->without_terminator())
    if (llvm::any_of(inner.getOperands(),
                     [&](Value value) { return dependent.contains(value); }))
      dependent.insert(inner.result_begin(), inner.result_end());
  return dependent.contains(generic.getBlock()->getTerminator()->getOperand(
      result.getResultNumber()));
}

SmallVector<InPlacePair> regather::tg::getInPlacePairs(KernelOp kernel) {
  auto getRows = [](Attribute attr) {
    auto rows = dyn_cast_if_present<IntegerAttr>(attr);
    return rows ? rows.getInt() : -1;
  };
  auto getArgRows = [&](unsigned i) {
    return getRows(kernel.getArgAttr(i, kRowsAttrName));
  };
  auto getResultRows = [&](unsigned i) {
    return getRows(kernel.getResultAttr(i, kRowsAttrName));
  };
  auto arguments = llvm::seq<unsigned>(0, kernel.getNumArguments());
  auto results = llvm::seq<unsigned>(0, kernel.getNumResults());
  bool hasRows =
      llvm::any_of(arguments, [&](unsigned i) { return getArgRows(i) >= 0; }) ||
      llvm::any_of(results, [&](unsigned i) { return getResultRows(i) >= 0; });
  Operation *end = kernel.getBody().front().getTerminator();
  SmallVector<InPlacePair> pairs;
  for (unsigned argument : arguments) {
    // What every block reads as a whole is needed until the last is done.
    if (hasRows && getArgRows(argument) < 0)
      continue;
    SmallVector<Operation *> chain =
        getElementwiseChain(kernel.getArgument(argument));
    for (unsigned result : results) {
      auto value = dyn_cast<OpResult>(end->getOperand(result));
      if (value && value.getType() == kernel.getArgument(argument).getType() &&
          llvm::is_contained(chain, value.getOwner()) &&
          isOnlyReturned(value.getOwner()) &&
          dependsOn(value, chain, kernel.getArgument(argument)) &&
          getResultRows(result) == getArgRows(argument))
        pairs.emplace_back(argument, result);
    }
  }
  return pairs;
}

ArrayRef<InPlacePair> InPlaceTable::lookup(FlatSymbolRefAttr kernel) {
  auto [it, inserted] = pairs.try_emplace(kernel);
  if (inserted)
    it->second = getInPlacePairs(symbols.lookup<KernelOp>(kernel.getAttr()));
  return it->second;
}
