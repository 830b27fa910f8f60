//===- ModuleTree.cpp - What each module of a model does ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Modules/ModuleTree.h"

#include "regather/Dialect/TG/Steps/StepContents.h"

#include "llvm/ADT/bit.h"

#include <map>
#include <numeric>

using namespace mlir;
using namespace regather;
using namespace regather::tg;

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

int64_t ModuleWork::getNumCollectives() const {
  return std::accumulate(collectives.begin(), collectives.end(), int64_t(0));
}

ModuleWork &ModuleWork::operator+=(const ModuleWork &other) {
  ops += other.ops;
  flops += other.flops;
  for (auto [sum, count] : llvm::zip_equal(collectives, other.collectives))
    sum += count;
  receivedBytes += other.receivedBytes;
  computeSeconds += other.computeSeconds;
  collectiveSeconds += other.collectiveSeconds;
  return *this;
}

ModuleParameters &ModuleParameters::operator+=(const ModuleParameters &other) {
  count += other.count;
  elements += other.elements;
  bytes += other.bytes;
  bytesPerRank += other.bytesPerRank;
  return *this;
}

ModuleSummary &ModuleSummary::operator+=(const ModuleSummary &other) {
  parameters += other.parameters;
  for (auto [sum, part] : llvm::zip_equal(work, other.work))
    sum += part;
  return *this;
}

//===----------------------------------------------------------------------===//
// The tree
//===----------------------------------------------------------------------===//

StringRef regather::tg::getPhaseColumnName(unsigned column) {
  static_assert(getMaxEnumValForPhase() + 2 == kNumPhaseColumns);
  return column + 1 == kNumPhaseColumns
             ? "unmarked"
             : stringifyPhase(static_cast<Phase>(column));
}

ModuleSummary &ModuleTree::at(StringRef path) {
  unsigned module = names.add(path);
  if (summaries.size() < names.getNumModules())
    summaries.resize(names.getNumModules());
  return summaries[module];
}

void ModuleTree::addOp(Operation *op, StepCosts *costs) {
  Attribute module = op->getAttr(kModuleAttrName);
  if (auto wait = dyn_cast<WaitOp>(op); wait && !module)
    if (Operation *collective = wait.getFuture().getDefiningOp())
      module = collective->getAttr(kModuleAttrName);
  auto [it, isNew] = byAttribute.try_emplace(module);
  if (isNew) {
    auto path = dyn_cast_or_null<StringAttr>(module);
    it->second = names.add(path ? path.getValue() : "");
    summaries.resize(names.getNumModules());
  }
  std::optional<Phase> phase = getPhase(op);
  ModuleWork &work =
      summaries[it->second]
          .work[phase ? static_cast<unsigned>(*phase) : kNumPhaseColumns - 1];
  ++work.ops;
  work.flops += getOpCost(op).flops;
  // The operations that control flow repeats are visited themselves.
  if (costs && !isa<RegionBranchOpInterface>(op))
    work.computeSeconds += costs->getComputeSeconds(op);
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (!collective)
    return;
  ++work.collectives[static_cast<unsigned>(getCollectiveKind(collective))];
  MeshOp &mesh = meshes[collective.getMeshAttr()];
  if (!mesh)
    mesh = lookupMesh(op, collective.getMeshAttr());
  work.receivedBytes +=
      collective.getReceivedBytes(mesh.getGroupSize(collective.getAxesAttr()));
  if (costs)
    work.collectiveSeconds += costs->getCollective(collective).seconds;
}

ModuleTree::ModuleTree(ModuleOp module, StepCosts *costs) : summaries(1) {
  // First, so that modules are in the order of registration.
  forEachParameterBuffer(module, [&](const ParameterBuffer &buffer) {
    for (const StepParameter &parameter : buffer.parameters) {
      ModuleParameters &sum = at(parameter.module).parameters;
      ++sum.count;
      sum.elements += parameter.type.getNumElements();
      sum.bytes += getTensorBytes(parameter.type);
    }
    at(buffer.module).parameters.bytesPerRank += buffer.bytesPerRank;
  });
  forEachStepOp(module, [&](Operation *op) { addOp(op, costs); });
  addUp();
  classify();
}

void ModuleTree::addUp() {
  for (unsigned module = names.getNumModules(); --module > 0;)
    summaries[names.getParent(module)] += summaries[module];
}

/// All that is counted. Seconds follow from it up to rounding, in which equal
/// layers may differ.
static std::vector<int64_t> getCounts(const ModuleSummary &summary) {
  const ModuleParameters &parameters = summary.parameters;
  std::vector<int64_t> counts = {parameters.count, parameters.elements,
                                 parameters.bytes, parameters.bytesPerRank};
  for (const ModuleWork &work : summary.work) {
    llvm::append_values(counts, work.ops, llvm::bit_cast<int64_t>(work.flops),
                        work.receivedBytes);
    llvm::append_range(counts, work.collectives);
  }
  return counts;
}

/// Modules are alike if their counts, and the names and classes of their
/// children are. Classes are known by the first module in them.
void ModuleTree::classify() {
  using Children = std::vector<std::pair<StringRef, unsigned>>;
  std::map<std::pair<std::vector<int64_t>, Children>, unsigned> known;
  classes.resize(names.getNumModules());
  for (unsigned module = names.getNumModules(); module-- > 0;) {
    Children children;
    for (unsigned child : names.getChildren(module))
      children.emplace_back(names.getName(child), classes[child]);
    auto key = std::pair(getCounts(summaries[module]), std::move(children));
    classes[module] = known.try_emplace(std::move(key), module).first->second;
  }
}
