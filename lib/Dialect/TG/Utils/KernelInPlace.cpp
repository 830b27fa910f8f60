//===- KernelInPlace.cpp - Results in the place of arguments --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Utils/KernelInPlace.h"

using namespace mlir;
using namespace regather::tg;

/// The parallel factors of a tensor in the order of its elements; nothing if
/// other factors are involved.
static std::optional<SmallVector<unsigned>>
getElementOrder(const ShardingRule &rule, const TensorFactors &tensor) {
  SmallVector<unsigned> order;
  for (const DimFactors &dim : tensor)
    for (unsigned factor : dim) {
      if (rule.factors[factor].kind != FactorKind::Parallel)
        return std::nullopt;
      order.push_back(factor);
    }
  return order;
}

/// True if element i of operand `operand` reaches element i of the results
/// only.
static bool isElementwise(Operation *op, unsigned operand) {
  auto interface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!interface)
    return false;
  ShardingRule rule = interface.getShardingRule();
  auto order = getElementOrder(rule, rule.operands[operand]);
  auto type = dyn_cast<RankedTensorType>(op->getOperand(operand).getType());
  if (!order || !type)
    return false;
  for (auto [result, factors] : llvm::zip(op->getResults(), rule.results)) {
    auto resultType = dyn_cast<RankedTensorType>(result.getType());
    if (!resultType || resultType.getNumElements() != type.getNumElements() ||
        getElementOrder(rule, factors) != order)
      return false;
  }
  return true;
}

/// True if all that is made of `argument` is made element by element. The body
/// of a kernel is one block: uses of its values outside of regions are enough.
static bool isUsedElementwise(BlockArgument argument) {
  SmallVector<Value> pending = {argument};
  llvm::SmallDenseSet<Value> seen = {argument};
  while (!pending.empty()) {
    for (OpOperand &use : pending.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (isa<ReturnOp>(user))
        continue;
      if (user->getBlock() != argument.getOwner() ||
          !isElementwise(user, use.getOperandNumber()))
        return false;
      for (Value result : user->getResults())
        if (seen.insert(result).second)
          pending.push_back(result);
    }
  }
  return true;
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
  SmallVector<InPlacePair> pairs;
  for (unsigned argument : arguments) {
    // What every block reads as a whole is needed until the last is done.
    if ((hasRows && getArgRows(argument) < 0) ||
        !isUsedElementwise(kernel.getArgument(argument)))
      continue;
    for (unsigned result : results)
      if (kernel.getResultTypes()[result] ==
              kernel.getArgumentTypes()[argument] &&
          getResultRows(result) == getArgRows(argument))
        pairs.emplace_back(argument, result);
  }
  return pairs;
}

ArrayRef<InPlacePair> InPlaceTable::lookup(FlatSymbolRefAttr kernel) {
  auto [it, inserted] = pairs.try_emplace(kernel);
  if (inserted)
    it->second = getInPlacePairs(symbols.lookup<KernelOp>(kernel.getAttr()));
  return it->second;
}
