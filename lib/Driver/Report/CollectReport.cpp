//===- CollectReport.cpp - What a report says of a step -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CollectReport.h"

#include "regather/Driver/StepStatistics.h"

#include "regather/Program/CompileStep.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace regather;
using namespace regather::report;

static std::string describeMesh(tg::MeshOp mesh) {
  std::string text;
  if (mesh)
    for (auto [axis, size] :
         llvm::zip(mesh.getAxes().getNames(), mesh.getSizes()))
      text += (text.empty() ? "" : ", ") + axis.str() + " = " +
              std::to_string(size);
  return text;
}

Overview regather::collectOverview(const AnalyzedStep &step) {
  func::FuncOp entry = step.entry;
  StepStatistics stats = collectStatistics(entry->getParentOfType<ModuleOp>());
  Overview overview;
  overview.entry = entry.getName().str();
  overview.mesh = describeMesh(step.mesh);
  overview.ranks = step.signature.ranks;
  overview.parameters = stats.parameters.count;
  overview.parameterElements = stats.parameters.elements;
  overview.parameterBytes = stats.parameters.bytes;
  overview.parameterBytesPerRank = stats.parameters.bytesPerRank;
  overview.ops = stats.ops;
  for (const auto &[phase, flops] : stats.flopsByPhase)
    overview.flops += flops;
  return overview;
}

static std::vector<CollectiveGroup> collectCollectives(ModuleOp module) {
  std::vector<CollectiveGroup> groups;
  for (const auto &[key, count] : collectStatistics(module).collectives)
    groups.push_back({key.kind, tg::stringifyPhase(key.phase).str(),
                      llvm::join(key.axes, ", "), key.ranks, count.ops,
                      count.tensors, count.bytes});
  return groups;
}

FailureOr<StepState> regather::collectState(const AnalyzedStep &step,
                                            const DecisionRemarks &remarks,
                                            const ProgramOptions &options) {
  func::FuncOp entry = step.entry;
  StepState state;
  state.boundary = collectBoundary(entry, remarks);
  state.collectives = collectCollectives(entry->getParentOfType<ModuleOp>());
  FailureOr<OwningOpRef<ModuleOp>> module = lowerToProgram(entry, options);
  if (failed(module))
    return failure();
  FailureOr<report::MemoryCurve> memory =
      collectMemory((*module)->lookupSymbol<exec::ProgramOp>(entry.getName()));
  if (failed(memory))
    return failure();
  state.memory = std::move(*memory);
  return state;
}
