//===- FindPlacements.cpp - Parameters over model axes --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FindPlacements.h"

#include "regather/Conversion/Passes.h"
#include "regather/Dialect/TG/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace regather;

namespace {
/// Hears what the pass places, in the order of its remarks.
class PlacementStreamer : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit PlacementStreamer(std::vector<FoundPlacements> &choices)
      : choices(choices) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    StringRef name = remark.getRemarkName();
    if (name == "placed" && choices.empty())
      choices.emplace_back();
    else if (name == "other-placement")
      choices.emplace_back();
    if (name == "placed" || name == "other-placement")
      hearPlacements(remark);
    else if (name == "placement-cost" && !choices.empty())
      hearKept(remark);
    else if (name == "placement-bound" && !choices.empty())
      hearBound(remark);
  }

private:
  void hearPlacements(const remark::detail::Remark &remark) {
    FoundPlacements &choice = choices.back();
    for (const remark::detail::Remark::Arg &arg : remark.getArgs()) {
      if (arg.key == "cost")
        (void)StringRef(arg.val).getAsDouble(choice.costSeconds);
      if (arg.key == "kept_bytes")
        (void)StringRef(arg.val).getAsDouble(choice.keptBytes);
      if (arg.key != "Reason")
        continue;
      SmallVector<StringRef> placements;
      StringRef(arg.val).split(placements, "; ");
      for (StringRef placement : placements)
        choice.shard.push_back(placement.str());
    }
  }

  void hearKept(const remark::detail::Remark &remark) {
    for (const remark::detail::Remark::Arg &arg : remark.getArgs())
      if (arg.key == "kept_bytes")
        (void)StringRef(arg.val).getAsDouble(choices.front().keptBytes);
  }

  void hearBound(const remark::detail::Remark &remark) {
    double bound = 0, cost = 0;
    bool countsSeconds = false;
    for (const remark::detail::Remark::Arg &arg : remark.getArgs()) {
      if (arg.key == "unit")
        countsSeconds = arg.val == "seconds";
      if (arg.key == "bound")
        (void)StringRef(arg.val).getAsDouble(bound);
      if (arg.key == "cost")
        (void)StringRef(arg.val).getAsDouble(cost);
    }
    if (!countsSeconds)
      return;
    choices.front().costSeconds = cost;
    for (FoundPlacements &choice : choices)
      choice.boundSeconds = bound;
  }

  std::vector<FoundPlacements> &choices;
};
} // namespace

FailureOr<std::vector<FoundPlacements>>
regather::findPlacements(ModuleOp module, StringRef mesh,
                         const std::string &cluster,
                         std::optional<int64_t> keptLimit) {
  std::vector<FoundPlacements> choices;
  remark::RemarkCategories categories;
  categories.passed = categories.analysis = "tg-shard-step";
  MLIRContext *context = module.getContext();
  // Fails only for streamers that write files.
  (void)remark::enableOptimizationRemarks(
      *context, std::make_unique<PlacementStreamer>(choices),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
  OwningOpRef<ModuleOp> copy = module.clone();
  tg::ShardStepPassOptions options;
  for (StringRef axis : llvm::split(mesh, ','))
    options.mesh.push_back(axis.str());
  options.cluster = cluster;
  options.keptLimit = keptLimit.value_or(0);
  PassManager pm(context);
  pm.addPass(createExpandTGComplexNodesPass());
  pm.addPass(tg::createShardStepPass(options));
  LogicalResult result = pm.run(*copy);
  context->setRemarkEngine(nullptr);
  if (failed(result))
    return failure();
  return choices;
}
