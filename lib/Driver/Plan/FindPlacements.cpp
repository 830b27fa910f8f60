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
  explicit PlacementStreamer(std::vector<Placements> &choices)
      : choices(choices) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    bool isOther = remark.getRemarkName() == "other-placement";
    if (!isOther && remark.getRemarkName() != "placed")
      return;
    for (const remark::detail::Remark::Arg &arg : remark.getArgs()) {
      if (arg.key != "Reason")
        continue;
      if (isOther || choices.empty())
        choices.emplace_back();
      SmallVector<StringRef> placements;
      StringRef(arg.val).split(placements, "; ");
      for (StringRef placement : placements)
        choices.back().push_back(placement.str());
    }
  }

private:
  std::vector<Placements> &choices;
};
} // namespace

FailureOr<std::vector<Placements>>
regather::findPlacements(ModuleOp module, StringRef mesh,
                         const std::string &cluster) {
  std::vector<Placements> choices;
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
  PassManager pm(context);
  pm.addPass(createExpandTGComplexNodesPass());
  pm.addPass(tg::createShardStepPass(options));
  LogicalResult result = pm.run(*copy);
  context->setRemarkEngine(nullptr);
  if (failed(result))
    return failure();
  return choices;
}
