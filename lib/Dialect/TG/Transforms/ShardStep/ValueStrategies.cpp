//===- ValueStrategies.cpp - Forms in which a value exists ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ValueStrategies.h"

#include "OperationStrategies.h"

#include "regather/Dialect/TG/Targets/NodeTargets.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

bool regather::tg::spmd::isViewedWhole(Operation *op) {
  auto node = dyn_cast<NodeOp>(op);
  bool isCopy =
      node && findNodeOperator(node.getTarget()) == NodeOperator::AtenClone;
  return op->getNumOperands() == 1 && (isCopy || getOpCost(op).view);
}

//===----------------------------------------------------------------------===//
// Readers
//===----------------------------------------------------------------------===//

bool regather::tg::spmd::serves(const ValueStrategy &strategy,
                                const ValueReader &reader, bool isKept) {
  auto isIn = [&](Phase phase) {
    return reader.op && getPhase(reader.op) == phase;
  };
  bool isBackward = isKept && isIn(Phase::Backward);
  // A view may be carried out later than where it stands.
  bool isForward = isKept && isIn(Phase::Forward) && !isViewedWhole(reader.op);
  const ValueState &demand = reader.demand;
  bool isWhole =
      strategy.state.isWhole() || strategy.conversions == Conversions::Whole;
  if (demand.isWhole())
    return isWhole && !(isBackward && !strategy.backwardReadsWhole) &&
           !(isForward && !strategy.forwardReadsWhole);
  if (demand == strategy.state)
    return !(isBackward && !strategy.backwardReadsOwn);
  if (demand.isPartial())
    return false;
  if (isSomeParts(strategy.state))
    return true;
  switch (strategy.conversions) {
  case Conversions::None:
    return strategy.state.isWhole();
  case Conversions::One:
    return demand == strategy.other;
  case Conversions::Parts:
  case Conversions::Whole:
    return true;
  }
  llvm_unreachable("unknown kind of conversion");
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

namespace {
class ValueStrategyLister {
public:
  ValueStrategyLister(const ValueUses &uses, PartPrices &prices,
                      const DataMesh &mesh)
      : uses(uses), prices(prices), mesh(mesh),
        type(dyn_cast<RankedTensorType>(uses.value.getType())) {}

  std::vector<ValueStrategy> list();

private:
  void add(const ValueState &state);
  void addConverted(const ValueState &state);
  void addWhole(const ValueState &state, double units);
  double convert(const ValueState &from, const ValueState &to) const {
    return prices.priceConversion(type, from, to).value_or(kNever);
  }
  double makeWhole(const ValueState &state) const;
  double makeOne(const ValueState &state, const ValueState &other) const;
  double makeParts(const ValueState &state) const;
  double getBytes(const ValueState &state) const {
    return getTensorBytes(state.isSplit() ? mesh.getLocalType(type, state)
                                          : type);
  }
  double getReadBytes(const ValueState &from, const ValueState &to) const;
  void push(ValueStrategy strategy, double units, double keptBytes);

  const ValueUses &uses;
  PartPrices &prices;
  const DataMesh &mesh;
  RankedTensorType type;
  std::vector<ValueStrategy> strategies;
};
} // namespace

/// Parts may be made first, and put together.
double ValueStrategyLister::makeWhole(const ValueState &state) const {
  double units = convert(state, ValueState::getWhole());
  if (state.isPartial())
    for (const ValueState &part : uses.demands)
      if (part.isSplit())
        units = std::min(units, convert(state, part) +
                                    convert(part, ValueState::getWhole()));
  return units;
}

double ValueStrategyLister::makeOne(const ValueState &state,
                                    const ValueState &other) const {
  double units = std::min(convert(state, other), makeWhole(state));
  if (state.isPartial())
    for (const ValueState &part : uses.demands)
      if (part.isSplit() && !(part == other))
        units = std::min(units, convert(state, part) + convert(part, other));
  return units;
}

/// Two forms at least, beside that in which it is computed.
double ValueStrategyLister::makeParts(const ValueState &state) const {
  double units = makeWhole(state);
  for (const ValueState &a : uses.demands)
    for (const ValueState &b : uses.demands) {
      if (!a.isSplit() || !b.isSplit() || a == b || a == state || b == state)
        continue;
      units = std::min(units, convert(state, a) + convert(state, b));
      units = std::min(units, convert(state, a) + convert(a, b));
    }
  return units;
}

/// Bytes of a value that was converted and that backward reads, at least. A
/// slice of the whole is not counted, nor what a view gives that makes one
/// dimension of two.
double ValueStrategyLister::getReadBytes(const ValueState &from,
                                         const ValueState &to) const {
  bool isResult = from.isContiguous() && to.isContiguous() &&
                  prices.priceConversion(type, from, to);
  return isResult ? getBytes(to) : 0;
}

//===----------------------------------------------------------------------===//
// Strategies
//===----------------------------------------------------------------------===//

void ValueStrategyLister::push(ValueStrategy strategy, double units,
                               double keptBytes) {
  strategy.cost.units = units * uses.readerTimes;
  strategy.cost.keptBytes = uses.isKept ? keptBytes : 0;
  strategies.push_back(std::move(strategy));
}

void ValueStrategyLister::addWhole(const ValueState &state, double units) {
  ValueStrategy strategy;
  strategy.state = state;
  strategy.conversions = Conversions::Whole;
  if (!uses.isKept)
    return push(strategy, units, 0);
  double own = uses.times * getBytes(state);
  double converted =
      std::min(uses.times, uses.readerTimes) * getBytes(ValueState::getWhole());
  auto pushReads = [&](bool forwardWhole, bool backwardWhole, bool backwardOwn,
                       double bytes) {
    strategy.forwardReadsWhole = forwardWhole;
    strategy.backwardReadsWhole = backwardWhole;
    strategy.backwardReadsOwn = backwardOwn;
    push(strategy, units, bytes);
  };
  if (state.isPartial()) {
    double bytes = uses.isScattered ? 0 : std::min(own, converted);
    pushReads(true, true, true, bytes);
    pushReads(true, false, false, 0);
    return;
  }
  // A value that forward gathers is kept whole if backward reads the whole;
  // one that backward gathers is kept as it was computed.
  double whole =
      getReadBytes(state, ValueState::getWhole()) > 0 ? converted : 0;
  pushReads(true, true, true, whole + own);
  pushReads(true, true, false, whole);
  pushReads(true, false, true, own);
  pushReads(true, false, false, 0);
  pushReads(false, true, true, own);
}

void ValueStrategyLister::addConverted(const ValueState &state) {
  SmallVector<ValueState, 4> others;
  bool isWhole = false;
  for (const ValueState &demand : uses.demands) {
    isWhole |= demand.isWhole();
    if (demand.isSplit() && !(demand == state))
      others.push_back(demand);
  }
  double least = uses.times * getBytes(state);
  double times = std::min(uses.times, uses.readerTimes);
  for (const ValueState &other : others) {
    ValueStrategy strategy;
    strategy.state = state;
    strategy.conversions = Conversions::One;
    strategy.other = other;
    double kept = std::min(uses.times * getBytes(state),
                           times * getReadBytes(state, other));
    least = std::min(least, kept);
    push(strategy, makeOne(state, other), kept);
  }
  if (others.size() > 1) {
    ValueStrategy strategy;
    strategy.state = state;
    strategy.conversions = Conversions::Parts;
    push(strategy, makeParts(state), least);
  }
  if (isWhole)
    addWhole(state, makeWhole(state));
}

void ValueStrategyLister::add(const ValueState &state) {
  ValueStrategy own;
  own.state = state;
  if (!type)
    return push(own, 0, 0);
  if (isSomeParts(state))
    return push(own, 0,
                uses.times * getBytes(ValueState::getWhole()) /
                    mesh.getRanks(Group::Shard));
  double bytes = uses.times * getBytes(state);
  push(own, 0, bytes);
  if (!state.isWhole())
    return addConverted(state);
  if (!uses.isKept)
    return;
  // Backward reads slices that forward has made.
  own.backwardReadsWhole = own.backwardReadsOwn = false;
  push(own, 0, 0);
}

std::vector<ValueStrategy> ValueStrategyLister::list() {
  for (const ValueState &state : uses.states)
    add(state);
  return std::move(strategies);
}

std::vector<ValueStrategy> regather::tg::spmd::listValueStrategies(
    const ValueUses &uses, PartPrices &prices, const DataMesh &mesh) {
  return ValueStrategyLister(uses, prices, mesh).list();
}
