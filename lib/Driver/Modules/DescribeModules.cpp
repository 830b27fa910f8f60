//===- DescribeModules.cpp - What each module of a model does -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/DescribeModules.h"

#include "regather/Dialect/TG/Modules/ModulePattern.h"
#include "regather/Dialect/TG/Steps/StepGraph.h"
#include "regather/Driver/Clusters.h"
#include "regather/Driver/PrepareStep.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

/// The modules to show: the model, or what the patterns match.
static FailureOr<std::vector<unsigned>>
findTops(ModuleOp module, const std::vector<std::string> &patterns,
         const ModuleNames &names) {
  if (patterns.empty())
    return std::vector<unsigned>{0};
  SmallVector<FunctionOpInterface> steps = getSteps(module);
  if (steps.empty())
    return module.emitError("expects a function whose modules --module names");
  std::vector<std::string> paths;
  for (unsigned number = 1; number < names.getNumModules(); ++number)
    paths.push_back(names.getPath(number));
  std::vector<StringRef> views(paths.begin(), paths.end());
  FailureOr<std::vector<PatternMatch>> matches =
      matchPatterns(steps.front(), "module", patterns, views, "module");
  if (failed(matches))
    return failure();
  std::vector<unsigned> tops;
  for (auto [i, match] : llvm::enumerate(*matches))
    if (match.pattern && match.prefix == views[i])
      tops.push_back(i + 1);
  return tops;
}

/// Shards the step, if a mesh is asked for.
static LogicalResult shardStep(ModuleOp module, const StepOptions &options) {
  if (options.shard.mesh.empty() && options.shard.replicateAxis.empty())
    return success();
  return success(succeeded(prepareStep(module, options)));
}

/// The tree, with seconds if a cluster is named.
static FailureOr<ModuleTree> buildTree(ModuleOp module,
                                       const std::string &cluster) {
  if (cluster.empty())
    return ModuleTree(module);
  FailureOr<CostModel> model = loadCostModel(module.getContext(), cluster);
  if (failed(model))
    return failure();
  FailureOr<StepCosts> costs = StepCosts::create(module, *model);
  if (failed(costs))
    return failure();
  return ModuleTree(module, &*costs);
}

FailureOr<ModuleDescription>
regather::describeModules(ModuleOp module, const ModulesRequest &request) {
  if (failed(shardStep(module, request.step)))
    return failure();
  FailureOr<ModuleTree> tree = buildTree(module, request.cluster);
  if (failed(tree))
    return failure();
  FailureOr<std::vector<unsigned>> tops =
      findTops(module, request.patterns, tree->getNames());
  if (failed(tops))
    return failure();
  return ModuleDescription{request.file, request.cluster, std::move(*tree),
                           std::move(*tops)};
}
