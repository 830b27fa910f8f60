//===- PlacementBound.h - What no placement undercuts -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_PLACEMENTBOUND_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_PLACEMENTBOUND_H

#include "PlacementProblem.h"

namespace regather::tg::spmd {

struct PlacementBound {
  /// No step that follows from placements costs less, in the unit of the total
  /// cost, as long as equal layers that were folded are placed alike.
  double units = 0;
  /// The least that a choice of the problem costs of those that were found.
  double relaxedUnits = 0;
  /// By placed value, in the order in which they were given, how it lies in
  /// that choice: the dimension, or nothing if it is whole or as others want
  /// it.
  std::vector<std::optional<int64_t>> dims;
};

/// Bounds the cost of `step`, see `PlacementProblem`, and with a limit that of
/// steps that keep no more bytes. Nothing if there are too many ways to cut a
/// value, or if none was found that keeps as little. Deterministic; work is
/// counted.
std::optional<PlacementBound>
boundPlacements(const Step &step, const DataMesh &mesh,
                llvm::ArrayRef<PlacedValue> placed, const PlacementCosts &costs,
                std::optional<int64_t> keptLimit);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_PLACEMENTBOUND_H
