//===- OperationStrategies.cpp - How operations are carried out -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OperationStrategies.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

OperationStrategy StrategyLister::getWhole(Operation *op) const {
  OperationStrategy whole;
  const ShardingRule *rule = forms.getRule(op);
  for (OpOperand &operand : op->getOpOperands()) {
    bool isUnread =
        rule && llvm::is_contained(rule->unread, operand.getOperandNumber());
    whole.demands.push_back(isUnread ? std::nullopt
                                     : std::optional(ValueState::getWhole()));
  }
  whole.results.assign(op->getNumResults(), ValueState::getWhole());
  return whole;
}

void StrategyLister::addSplits(Operation *op, const ShardingRule &rule,
                               std::vector<OperationStrategy> &strategies) {
  for (const FactorSplit &split : forms.getSplits(op)) {
    OperationStrategy strategy = getWhole(op);
    for (auto [demand, cut] : llvm::zip_equal(strategy.demands, split.operands))
      if (demand && cut)
        demand = getSplit(*cut);
    for (auto [number, cut] : llvm::enumerate(split.results)) {
      if (!isDescribed(op, rule, number))
        continue;
      strategy.results[number] = cut ? getSplit(*cut) : getAnyPartial();
    }
    strategy.units = prices.priceSplit(op, rule, split);
    strategies.push_back(std::move(strategy));
  }
}

static int64_t countElements(ValueRange values) {
  int64_t count = 0;
  for (Value value : values)
    if (RankedTensorType type = getRuledTensor(value.getType()))
      count += type.getNumElements();
  return count;
}

void StrategyLister::addLinear(Operation *op, const ShardingRule &rule,
                               std::vector<OperationStrategy> &strategies) {
  double units = costs.getUnits(costs.price(op));
  int64_t resultSize = countElements(op->getResults());
  for (const llvm::SmallBitVector &set : rule.linear) {
    int64_t size = 0;
    for (unsigned i : set.set_bits())
      size += countElements(op->getOperand(i));
    // As the partitioner has it: larger sums would be reduced later.
    bool isPossible = size >= resultSize && set.any() &&
                      llvm::all_of(set.set_bits(), [&](unsigned i) {
                        return mayBePartial(op->getOperand(i));
                      });
    if (!isPossible)
      continue;
    OperationStrategy strategy = getWhole(op);
    for (unsigned i : set.set_bits())
      strategy.demands[i] = getAnyPartial();
    for (ValueState &state : strategy.results)
      state = getAnyPartial();
    strategy.units = units;
    strategies.push_back(std::move(strategy));
  }
}

void StrategyLister::addGradient(const IndexedGradient &gradient,
                                 std::vector<OperationStrategy> &strategies) {
  NodeOp node = gradient.node;
  for (DimCut cut : forms.getCuts(node.getResult(0))) {
    if (!canBuildPart(gradient, getSplit(cut)))
      continue;
    OperationStrategy strategy = getWhole(node);
    strategy.results.front() = getSplit(cut);
    SmallVector<bool> isCut(node.getNumOperands(), false);
    strategy.units = prices.priceGradient(gradient, cut, isCut);
    strategies.push_back(strategy);
    // What it is written into may lie so already.
    bool isAlike = true;
    for (auto [number, operand] : llvm::enumerate(node.getOperands())) {
      if (number == gradient.indices)
        continue;
      isAlike &= cast<RankedTensorType>(operand.getType()).getShape() ==
                 cast<RankedTensorType>(node.getResult(0).getType()).getShape();
      strategy.demands[number] = getSplit(cut);
      isCut[number] = true;
    }
    if (!isAlike)
      continue;
    strategy.units = prices.priceGradient(gradient, cut, isCut);
    strategies.push_back(std::move(strategy));
  }
}

void StrategyLister::addDivided(Operation *op,
                                std::vector<OperationStrategy> &strategies) {
  if (std::optional<Softmax> softmax = matchSoftmax(op))
    for (DimCut cut : forms.getCuts(op->getResult(0))) {
      if (cut.dim != softmax->dim)
        continue;
      OperationStrategy strategy;
      strategy.demands.resize(op->getNumOperands());
      for (unsigned number : softmax->operands)
        strategy.demands[number] = getSplit(cut);
      strategy.results = {getSplit(cut)};
      strategy.units = prices.priceSoftmax(*softmax, cut);
      strategies.push_back(std::move(strategy));
    }
  if (std::optional<Lookup> lookup = matchLookup(op))
    for (DimCut cut : forms.getCuts(op->getOperand(lookup->table))) {
      if (cut.dim != lookup->dim || cut.outer != 1)
        continue;
      OperationStrategy strategy = getWhole(op);
      strategy.demands[lookup->table] = getSplit(cut);
      strategy.results.front() = getAnyPartial();
      strategy.units = prices.priceLookup(*lookup, cut);
      strategies.push_back(std::move(strategy));
    }
  if (std::optional<IndexedGradient> gradient = matchIndexedGradient(op))
    addGradient(*gradient, strategies);
}

/// An operation that was computed whole may be computed again on parts, and
/// what nobody reads any more is erased: then there may be two parts, or more.
static void addRebuilt(Operation *op,
                       std::vector<OperationStrategy> &strategies) {
  if (op->getNumResults() != 1 || !isMemoryEffectFree(op))
    return;
  for (size_t i = 1, e = strategies.size(); i < e; ++i)
    for (size_t j = i + 1; j < e; ++j) {
      const OperationStrategy &a = strategies[i], &b = strategies[j];
      if (!a.results.front().isSplit() || !b.results.front().isSplit() ||
          a.results.front() == b.results.front())
        continue;
      OperationStrategy both;
      both.demands = a.demands;
      both.secondDemands = b.demands;
      both.results = {getSomeParts()};
      both.units = a.units + b.units;
      strategies.push_back(std::move(both));
    }
}

std::vector<OperationStrategy> StrategyLister::list(Operation *op) {
  std::vector<OperationStrategy> strategies = {getWhole(op)};
  // Bits are drawn anew for each part of them. What is done to sorted rows has
  // forms of its own: products alone count, as if ranks shared them.
  if (forms.isSorted(op) || isa<RandomOp>(op)) {
    for (std::optional<ValueState> &demand : strategies.front().demands)
      demand = std::nullopt;
    strategies.front().units = costs.boundProducts(op);
    return strategies;
  }
  strategies.front().units = costs.getUnits(costs.price(op));
  if (const ShardingRule *rule = forms.getRule(op)) {
    addSplits(op, *rule, strategies);
    addLinear(op, *rule, strategies);
    addDivided(op, strategies);
    addRebuilt(op, strategies);
  }
  for (const OperationStrategy &strategy : strategies)
    for (auto [result, state] :
         llvm::zip_equal(op->getResults(), strategy.results))
      if (state.isPartial())
        partial.insert(result);
  return strategies;
}
