//===- StepStatistics.cpp - What a module consists of ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/StepStatistics.h"

#include "regather/Driver/BoundaryStatistics.h"

#include "regather/Dialect/TG/Steps/StepContents.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

static void countCollective(CollectiveOpInterface op, StepStatistics &stats) {
  MeshOp mesh = lookupMesh(op, op.getMeshAttr());
  CollectiveKey key;
  key.kind = op->getName().stripDialect().str();
  key.phase = op.getPhase();
  key.mesh = mesh.getSymName().str();
  for (StringAttr axis : op.getAxesAttr().getNames())
    key.axes.push_back(axis.str());
  key.ranks = mesh.getGroupSize(op.getAxesAttr());
  CollectiveCount &count = stats.collectives[key];
  ++count.ops;
  count.tensors += static_cast<int64_t>(op.getInputs().size());
  count.bytes += op.getReceivedBytes(key.ranks);
}

static void countParameters(ModuleOp module, ParameterCount &sum) {
  forEachParameterBuffer(module, [&](const ParameterBuffer &buffer) {
    sum.bytesPerRank += buffer.bytesPerRank;
    for (const StepParameter &parameter : buffer.parameters) {
      ++sum.count;
      sum.elements += parameter.type.getNumElements();
      sum.bytes += getTensorBytes(parameter.type);
    }
  });
}

StepStatistics regather::collectStatistics(ModuleOp module) {
  StepStatistics stats;
  stats.boundary = countBoundary(module);
  countParameters(module, stats.parameters);
  forEachStepOp(module, [&](Operation *op) {
    ++stats.ops;
    stats.nodes += isa<NodeOp>(op);
    ++stats.opsByDialect[op->getName().getDialectNamespace().str()];
    std::optional<Phase> phase = getPhase(op);
    std::string phaseName =
        phase ? stringifyPhase(*phase).str() : std::string("unmarked");
    ++stats.opsByPhase[phaseName];
    stats.flopsByPhase[phaseName] += getOpCost(op).flops;
    if (auto collective = dyn_cast<CollectiveOpInterface>(op))
      countCollective(collective, stats);
  });
  return stats;
}

std::vector<CollectiveSummary> regather::summarizeCollectives(ModuleOp module) {
  std::vector<CollectiveSummary> summaries;
  StepStatistics stats = collectStatistics(module);
  for (const auto &[key, count] : stats.collectives)
    summaries.push_back({key.kind, stringifyPhase(key.phase).str(), key.mesh,
                         key.axes, key.ranks, count.ops, count.tensors,
                         count.bytes});
  return summaries;
}
