//===- PlacementReport.h - What tg-shard-step has chosen --------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_PLACEMENTREPORT_H
#define REGATHER_DIALECT_TG_TRANSFORMS_PLACEMENTREPORT_H

#include "regather/Dialect/TG/Transforms/Passes.h"

#include <functional>
#include <optional>

namespace regather::tg {

/// Placements of parameters and values over one axis, and what the pass counts
/// for them.
struct ReportedPlacements {
  /// As values of option `shard`.
  std::vector<std::string> annotations;
  /// In seconds, or in units of bytes without a cluster.
  double cost = 0;
  /// What a rank keeps, as if no other axis shared it.
  double keptBytes = 0;
};

/// What a search over one axis has ended with. Costs of the choices are those
/// of the equal layers that it was made on, in which each stands for several.
struct PlacementReport {
  ReportedPlacements chosen;
  /// The best first.
  std::vector<ReportedPlacements> others;
  /// Costs are in seconds.
  bool countsSeconds = false;
  /// What no choice costs less than, and what the chosen one costs where all
  /// layers are cut; nothing if nothing is proven.
  std::optional<double> bound, wholeCost;
};

using PlacementListener = std::function<void(const PlacementReport &)>;

/// The pass, which tells `listener` what it says in remarks, in the thread that
/// runs it.
std::unique_ptr<mlir::Pass>
createShardStepPass(const ShardStepPassOptions &options,
                    PlacementListener listener);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_TRANSFORMS_PLACEMENTREPORT_H
