//===- PlacementProblem.h - A step as a problem of strategies ---*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The placements of a step as a problem for the solver of sharding: a node for
// each operation, whose strategies are the ways to carry it out on parts, and
// one for each value, whose strategies are how it is computed and into which
// forms it is converted. An edge forbids what does not fit together. A step
// that is carried out is one choice of the problem, which costs no more than
// the step; docs/sharding.md says why.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_PLACEMENTPROBLEM_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_PLACEMENTPROBLEM_H

#include "PlacementForms.h"

#include "PlacementCosts.h"

#include "llvm/ADT/MapVector.h"

namespace regather::tg::spmd {

/// What a strategy adds to the cost of a step.
struct StrategyCost {
  /// Of operations and collectives, in the unit of the total cost.
  double units = 0;
  double keptBytes = 0;
  double parameterBytes = 0;
};

/// A pair of strategies that does not exist.
inline constexpr double kNever = std::numeric_limits<double>::infinity();

struct PlacementProblem {
  struct Edge {
    uint32_t from, to;
    /// Row-major, by strategy of `from`, then of `to`.
    std::vector<double> units;
  };
  /// Where the form of a placed value is decided.
  struct Place {
    uint32_t node;
    /// By strategy, the dimension along which it is cut; nothing if it is
    /// whole.
    std::vector<std::optional<int64_t>> dims;
  };

  /// By node and strategy.
  std::vector<std::vector<StrategyCost>> nodes;
  std::vector<Edge> edges;
  llvm::MapVector<mlir::Value, Place> places;
};

/// The problem of cutting `step`, in which equal layers may be folded, along
/// the shard axis of `mesh`. Nothing if there are too many ways to cut a value.
/// Near-linear in the step, times the square of the ways of an operation.
std::optional<PlacementProblem>
buildPlacementProblem(const Step &step, const DataMesh &mesh,
                      llvm::ArrayRef<PlacedValue> placed,
                      const PlacementCosts &costs);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_PLACEMENTPROBLEM_H
