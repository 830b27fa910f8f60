//===- PlacementCosts.h - What a cut step costs -----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The costs that placements are compared by: a sum over the operations of the
// step that one rank carries out, a function of the bytes that it keeps, and
// one of its parameters. docs/sharding.md says what each stands for.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_PLACEMENTCOSTS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_PLACEMENTCOSTS_H

#include "../ShardParameters/DataMesh.h"

#include "regather/Dialect/TG/Steps/EqualLayers.h"
#include "regather/Dialect/TG/Steps/StepCosts.h"

namespace regather::tg::spmd {

/// What things take on a cluster.
struct PlacementPrices {
  StepCosts &costs;
  /// The ranks over which what is left of each parameter is sharded later: all
  /// of it is gathered twice, and its gradient reduced.
  GroupPlacement data;
};

/// What a choice of placements amounts to.
struct PlacementCost {
  /// What a rank receives in a step; what its arguments, gradients and states
  /// take, and what forward keeps for backward.
  double sentBytes = 0;
  double keptBytes = 0;
  double flops = 0;
  /// Of computation, of collectives, and of what is kept, written and read once
  /// again, as if nothing overlapped; or of the gathers and reductions of
  /// parameters, if they take longer. 0 without a cluster.
  double seconds = 0;

  /// What is to be least: seconds on a cluster. Without one, bytes: a byte that
  /// is kept costs what a byte that is sent does, and so do as many operations
  /// as a processor does while it sends one.
  double getTotal() const;
};

/// Of one operation, carried out once.
struct OperationPrice {
  double seconds = 0;
  double sentBytes = 0;
  double flops = 0;

  OperationPrice &operator+=(const OperationPrice &other);
};

/// `offset + slope * x`, which is nowhere above a function of x in a range.
struct LinearBound {
  double offset = 0;
  double slope = 0;
};

/// A parameter is kept with its gradient and two states of an optimizer.
inline constexpr double kKeptPerParameter = 4;

class PlacementCosts {
public:
  /// Bytes are counted if `prices` is null.
  PlacementCosts(const FoldedStep &folded, const DataMesh &mesh,
                 const PlacementPrices *prices)
      : folded(folded), mesh(mesh), prices(prices) {}

  PlacementCost count(mlir::func::FuncOp func) const;

  OperationPrice price(mlir::Operation *op) const;
  /// In the unit of `PlacementCost::getTotal`.
  double getUnits(const OperationPrice &price) const;
  /// What one of the ranks counts at least for products that all of them share
  /// somehow, in the same unit; 0 for other operations.
  double boundProducts(mlir::Operation *op) const;
  const FoldedStep &getFolded() const { return folded; }

  // The cost of a step is the larger of `operations + kept(bytes)` and
  // `data(bytes of parameters)`, and `kExposedData * data` on top.
  /// Below what bytes that are kept cost, if there are `least` to `most`.
  LinearBound boundKept(double least, double most) const;
  /// Below what gathers and reductions of parameters take.
  LinearBound boundData(double least, double most) const;
  static constexpr double kExposedData = 0.1;

private:
  double countSeconds(mlir::Operation *op) const;
  double countKeptSeconds(double bytes) const;
  double countDataSeconds(double parameterBytes) const;

  const FoldedStep &folded;
  const DataMesh &mesh;
  const PlacementPrices *prices;
};

/// True if what backward reads of the results of `op` is counted as kept.
bool mayKeepResults(mlir::Operation *op);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_PLACEMENTCOSTS_H
