//===- PlacementSearch.cpp - Placements that nobody has fixed -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlacementSearch.h"

#include "AxisSharder.h"

#include "regather/Dialect/TG/Targets/NodeTargets.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <set>

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

double PlacementCost::getTotal() const {
  // About what a GPU computes while its links move a byte.
  constexpr double flopsPerByte = 1000;
  return sentBytes + keptBytes + flops / flopsPerByte;
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// Bytes of values of forward that backward reads.
static double getSavedBytes(Operation &op) {
  double bytes = 0;
  if (getPhase(&op).value_or(Phase::Forward) != Phase::Forward ||
      getOpCost(&op).view)
    return 0;
  for (Value result : op.getResults()) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (type && llvm::any_of(result.getUsers(), [](Operation *user) {
          return getPhase(user) == Phase::Backward;
        }))
      bytes += getTensorBytes(type);
  }
  return bytes;
}

static PlacementCost getCost(func::FuncOp func, const DataMesh &mesh) {
  PlacementCost cost;
  for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i) {
    auto type = dyn_cast<RankedTensorType>(func.getArgumentTypes()[i]);
    if (!type)
      continue;
    auto role = func.getArgAttrOfType<RoleAttr>(i, kRoleAttrName);
    // With its gradient and two states of an optimizer.
    bool isParameter = role && role.getKind() == RoleKind::Parameter;
    cost.keptBytes += (isParameter ? 4.0 : 1.0) * getTensorBytes(type);
  }
  for (Operation &op : func.getBody().front()) {
    if (auto collective = dyn_cast<CollectiveOpInterface>(op))
      cost.sentBytes += collective.getReceivedBytes(
          mesh.countRanks(collective.getAxesAttr()));
    cost.flops += getOpCost(&op).flops;
    cost.keptBytes += getSavedBytes(op);
  }
  return cost;
}

/// What the step costs if it is cut as the seeds say.
static PlacementCost evaluate(const Step &step, const DataMesh &mesh,
                              const AxisSeeds &seeds) {
  IRMapping mapping;
  auto copy = cast<func::FuncOp>(step.func->clone(mapping));
  FailureOr<Step> copied =
      analyzeStep(copy, mesh, ElementTypes(), /*ignore=*/{}, BatchMode::Global);
  assert(succeeded(copied) && "the step has been analyzed");
  AxisSeeds mapped;
  mapped.arguments = seeds.arguments;
  for (auto [value, dim] : seeds.values)
    mapped.values[mapping.lookup(value)] = dim;
  AxisSharder sharder(*copied, mesh, mapped, /*isTrial=*/true);
  sharder.run();
  PlacementCost cost = getCost(copy, mesh);
  copy->erase();
  return cost;
}

//===----------------------------------------------------------------------===//
// What there is to choose
//===----------------------------------------------------------------------===//

namespace {
/// Parameters, or values, that are placed alike.
struct PlacementGroup {
  /// As an annotation names it.
  std::string pattern;
  RankedTensorType type;
  SmallVector<unsigned> arguments;
  SmallVector<Value> values;
  int64_t bytes = 0;

  void place(AxisSeeds &seeds, std::optional<int64_t> dim) const;
};
} // namespace

void PlacementGroup::place(AxisSeeds &seeds, std::optional<int64_t> dim) const {
  for (unsigned argument : arguments) {
    seeds.arguments.erase(argument);
    if (dim)
      seeds.arguments[argument] = dim;
  }
  for (Value value : values) {
    seeds.values.erase(value);
    if (dim)
      seeds.values[value] = dim;
  }
}

/// `layers.*.wq.weight` for `layers.3.wq.weight`.
static std::string getPattern(StringRef name) {
  SmallVector<StringRef> parts;
  name.split(parts, '.');
  for (StringRef &part : parts)
    if (llvm::all_of(part, llvm::isDigit))
      part = "*";
  return llvm::join(parts, ".");
}

/// Matrices by pattern, those with most bytes first, then what embeddings give:
/// the sequence of what lives from layer to layer.
static std::vector<PlacementGroup> findGroups(const Step &step) {
  std::vector<PlacementGroup> ordered;
  llvm::StringMap<SmallVector<unsigned, 1>> byPattern;
  for (const Parameter &parameter : step.parameters) {
    if (parameter.type.getRank() < 2)
      continue;
    std::string pattern = getPattern(parameter.name);
    SmallVector<unsigned, 1> &known = byPattern[pattern];
    auto *same = llvm::find_if(known, [&](unsigned number) {
      return ordered[number].type == parameter.type;
    });
    if (same == known.end()) {
      known.push_back(ordered.size());
      same = &known.back();
      ordered.push_back({pattern, parameter.type, {}, {}});
    }
    ordered[*same].arguments.push_back(parameter.argument);
    ordered[*same].bytes += getTensorBytes(parameter.type);
  }
  llvm::sort(ordered, [](const PlacementGroup &a, const PlacementGroup &b) {
    return std::make_tuple(-a.bytes, a.arguments.front()) <
           std::make_tuple(-b.bytes, b.arguments.front());
  });
  for (Operation *op : step.operations) {
    auto node = dyn_cast<NodeOp>(op);
    auto module = op->getAttrOfType<StringAttr>(kModuleAttrName);
    if (!node ||
        node.getTarget() != getName(NodeTarget::AtenEmbeddingDefault) ||
        !module || getPhase(op) != Phase::Forward)
      continue;
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    if (type.getRank() == 3)
      ordered.push_back({("output(" + module.getValue() + ")").str(),
                         type,
                         {},
                         {op->getResult(0)}});
  }
  return ordered;
}

/// The dimensions along which all of a group may be cut.
static SmallVector<int64_t>
listDims(const Step &step, const PlacementGroup &group, int64_t ranks) {
  SmallVector<int64_t> dims;
  for (auto [dim, size] : llvm::enumerate(group.type.getShape()))
    // Of a value, the sequence alone.
    if (size % ranks == 0 && (group.values.empty() || dim == 1))
      dims.push_back(dim);
  return dims;
}

PlacementChoice regather::tg::spmd::searchPlacements(const Step &step,
                                                     const DataMesh &axisMesh) {
  PlacementChoice choice;
  choice.before = choice.cost = getCost(step.func, axisMesh);
  std::vector<PlacementGroup> groups = findGroups(step);
  std::vector<std::optional<int64_t>> chosen(groups.size());
  // The cost only falls, so what was tried once is never taken later.
  std::set<std::vector<std::optional<int64_t>>> tried = {chosen};
  constexpr int rounds = 2;
  for (int round = 0; round < rounds; ++round) {
    bool isChanged = false;
    for (auto [number, group] : llvm::enumerate(groups)) {
      SmallVector<std::optional<int64_t>> options = {std::nullopt};
      for (int64_t dim : listDims(step, group, axisMesh.shardRanks))
        options.push_back(dim);
      for (std::optional<int64_t> dim : options) {
        std::vector<std::optional<int64_t>> candidate = chosen;
        candidate[number] = dim;
        if (!tried.insert(candidate).second)
          continue;
        AxisSeeds seeds = choice.seeds;
        group.place(seeds, dim);
        PlacementCost cost = evaluate(step, axisMesh, seeds);
        ++choice.numTried;
        if (cost.getTotal() >= choice.cost.getTotal())
          continue;
        choice.seeds = std::move(seeds);
        choice.cost = cost;
        chosen = std::move(candidate);
        isChanged = true;
      }
    }
    if (!isChanged)
      break;
  }
  StringRef axis = axisMesh.shardAxes.getNames().front().getValue();
  for (auto [group, dim] : llvm::zip_equal(groups, chosen))
    if (dim)
      choice.annotations.push_back(
          (group.pattern + "=[" + axis + "] shard " + Twine(*dim)).str());
  return choice;
}
