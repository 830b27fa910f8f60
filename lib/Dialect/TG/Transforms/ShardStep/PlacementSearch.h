//===- PlacementSearch.h - Placements that nobody has fixed -----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_PLACEMENTSEARCH_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_PLACEMENTSEARCH_H

#include "Annotations.h"
#include "PlacementCosts.h"

namespace regather::tg::spmd {

/// Where a search ended that another one beat.
struct OtherChoice {
  std::vector<std::string> annotations;
  PlacementCost cost;
};

struct PlacementChoice {
  AxisSeeds seeds;
  /// The same as values of option `shard`.
  std::vector<std::string> annotations;
  PlacementCost before, cost;
  /// Other choices that no change of one group makes less, by cost.
  std::vector<OtherChoice> others;
  /// No choice costs less than `bound`, if one was computed; of the choices of
  /// the relaxed problem that were found, the least costs `relaxed`. In the
  /// unit of the total cost.
  std::optional<double> bound;
  /// That unit is seconds, and not bytes.
  bool countsSeconds = false;
  double relaxed = 0;
  /// Number of choices that were carried out.
  int64_t numTried = 0;
  /// Number of equal layers that were carried out as one; 0 if none were.
  int64_t numTied = 0;
};

/// Chooses placements of parameters along an axis for which there are no
/// annotations. Parameters of equal layers, whose names differ in numbers only,
/// are placed alike. Starting with nothing, one group after the other gets the
/// placement with which the whole step costs least, all else following from it;
/// the step is cut on a copy to find out. Deterministic. Twice as many steps
/// are cut as there are dimensions of groups.
/// Places groups of parameters, and what embeddings give, one after the other
/// as the step costs least, until no change of one group costs less: from a
/// step in which nothing is cut, and from one whose sequence is. If no cut
/// takes less time, or `prices` is null because there is no cluster, bytes
/// decide. A choice is carried out on one of equal layers. With `keptLimit`,
/// choices that keep more bytes are worse than all that do not.
PlacementChoice searchPlacements(const Step &step, const DataMesh &axisMesh,
                                 const PlacementPrices *prices,
                                 std::optional<int64_t> keptLimit);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDSTEP_PLACEMENTSEARCH_H
