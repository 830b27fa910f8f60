//===- FindPlacements.cpp - Parameters over model axes --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FindPlacements.h"

#include "regather/Conversion/Passes.h"
#include "regather/Dialect/TG/Transforms/PlacementReport.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace regather;

/// By how much more placements may cost than those that were chosen: costs
/// leave out what overlaps.
static constexpr double kMostCost = 1.25;

/// The first choice has what was chosen over all axes.
static void keep(const tg::PlacementReport &report,
                 std::vector<FoundPlacements> &choices) {
  if (choices.empty())
    choices.emplace_back();
  FoundPlacements &first = choices.front();
  llvm::append_range(first.shard, report.chosen.annotations);
  first.keptBytes = report.chosen.keptBytes;
  for (const tg::ReportedPlacements &other : report.others)
    if (other.cost <= kMostCost * report.chosen.cost ||
        other.keptBytes < report.chosen.keptBytes)
      choices.push_back({other.annotations,
                         report.countsSeconds ? other.cost : 0, 0,
                         other.keptBytes});
  if (!report.bound || !report.countsSeconds)
    return;
  choices.front().costSeconds = *report.wholeCost;
  for (FoundPlacements &choice : choices)
    choice.boundSeconds = *report.bound;
}

FailureOr<std::vector<FoundPlacements>>
regather::findPlacements(ModuleOp module, StringRef mesh,
                         const std::string &cluster,
                         std::optional<int64_t> keptLimit) {
  std::vector<FoundPlacements> choices;
  OwningOpRef<ModuleOp> copy = module.clone();
  tg::ShardStepPassOptions options;
  for (StringRef axis : llvm::split(mesh, ','))
    options.mesh.push_back(axis.str());
  options.cluster = cluster;
  options.keptLimit = keptLimit.value_or(0);
  PassManager pm(module.getContext());
  pm.addPass(createExpandTGComplexNodesPass());
  pm.addPass(
      tg::createShardStepPass(options, [&](const tg::PlacementReport &report) {
        keep(report, choices);
      }));
  if (failed(pm.run(*copy)))
    return failure();
  return choices;
}
