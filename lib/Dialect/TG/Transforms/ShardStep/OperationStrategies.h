//===- OperationStrategies.h - How operations are carried out ---*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_OPERATIONSTRATEGIES_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_OPERATIONSTRATEGIES_H

#include "PartPrices.h"
#include "PlacementForms.h"

namespace regather::tg::spmd {

/// One way to carry an operation out.
struct OperationStrategy {
  /// By operand, how it has to lie; nothing if that does not matter.
  llvm::SmallVector<std::optional<ValueState>, 4> demands;
  /// The same for a second part, if it is computed twice; empty otherwise.
  llvm::SmallVector<std::optional<ValueState>, 4> secondDemands;
  /// By result, how it lies then.
  llvm::SmallVector<ValueState, 1> results;
  /// In the unit of the total cost, of the operation once.
  double units = 0;
};

/// Partial sums, whatever they are reduced by.
inline ValueState getAnyPartial() {
  return ValueState::getPartial(Group::Shard, Reduction::Sum);
}

/// Several parts, cut along different dimensions, of which no rank has the
/// whole.
inline ValueState getSomeParts() { return getSplit(DimCut(-1)); }
inline bool isSomeParts(const ValueState &state) {
  return state.isSplit() && state.dim < 0;
}

/// Lists the ways of operations in the order of the step.
class StrategyLister {
public:
  StrategyLister(const PlacementForms &forms, PartPrices &prices,
                 const PlacementCosts &costs)
      : forms(forms), prices(prices), costs(costs) {}

  /// All that the partitioner may do with `op`, at no more than its cost; the
  /// first is to compute all of it. Operations before it have been listed.
  std::vector<OperationStrategy> list(mlir::Operation *op);

private:
  bool mayBePartial(mlir::Value value) const { return partial.contains(value); }
  OperationStrategy getWhole(mlir::Operation *op) const;
  void addSplits(mlir::Operation *op, const ShardingRule &rule,
                 std::vector<OperationStrategy> &strategies);
  void addLinear(mlir::Operation *op, const ShardingRule &rule,
                 std::vector<OperationStrategy> &strategies);
  void addDivided(mlir::Operation *op,
                  std::vector<OperationStrategy> &strategies);
  void addGradient(const IndexedGradient &gradient,
                   std::vector<OperationStrategy> &strategies);

  const PlacementForms &forms;
  PartPrices &prices;
  const PlacementCosts &costs;
  /// Values that may be partial sums.
  llvm::DenseSet<mlir::Value> partial;
};

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_OPERATIONSTRATEGIES_H
