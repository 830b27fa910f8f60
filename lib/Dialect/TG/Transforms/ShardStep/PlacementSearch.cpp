//===- PlacementSearch.cpp - Placements that nobody has fixed -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlacementSearch.h"

#include "AxisSharder.h"
#include "PlacementBound.h"

#include "regather/Dialect/TG/Targets/NodeTargets.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <map>
#include <set>

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::spmd;

/// What the step costs if it is cut as the seeds say.
static PlacementCost evaluate(const Step &step, const DataMesh &mesh,
                              const AxisSeeds &seeds,
                              const PlacementCosts &costs) {
  IRMapping mapping;
  auto copy = cast<func::FuncOp>(func::FuncOp(step.func)->clone(mapping));
  FailureOr<Step> copied =
      analyzeStep(copy, mesh, ElementTypes(), /*ignore=*/{}, BatchMode::Global);
  assert(succeeded(copied) && "the step has been analyzed");
  AxisSeeds mapped;
  mapped.arguments = seeds.arguments;
  for (auto [value, dim] : seeds.values)
    mapped.values[mapping.lookup(value)] = dim;
  AxisSharder sharder(*copied, mesh, mapped, /*isTrial=*/true);
  sharder.run();
  PlacementCost cost = costs.count(copy);
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

/// True if parts of a dimension that ranks do not divide are worth a try: each
/// rank computes with its padding, and sends it. That is nothing to a
/// vocabulary and a third of a window of three.
static bool isWorthPadding(int64_t size, int64_t ranks) {
  constexpr int64_t kLeastShare = 16;
  return (getShardSize(size, ranks) * ranks - size) * kLeastShare <= size;
}

/// The dimensions along which all of a group may be cut.
static SmallVector<int64_t>
listDims(const Step &step, const PlacementGroup &group, int64_t ranks) {
  SmallVector<int64_t> dims;
  for (auto [number, size] : llvm::enumerate(group.type.getShape())) {
    auto dim = static_cast<int64_t>(number);
    bool isPadded = size % ranks != 0;
    // Of a value, the sequence alone, in equal parts.
    if (!group.values.empty() && (dim != 1 || isPadded))
      continue;
    if (isPadded && (!isWorthPadding(size, ranks) ||
                     !llvm::all_of(group.arguments, [&](unsigned argument) {
                       return mayBeUneven(step, argument, dim);
                     })))
      continue;
    dims.push_back(dim);
  }
  return dims;
}

namespace {
using Choice = std::vector<std::optional<int64_t>>;

struct PricedChoice {
  Choice dims;
  PlacementCost cost;
};

/// What choices are compared by: bytes above the limit, then the cost.
using Rank = std::pair<double, double>;

/// Changes one group after the other.
class PlacementDescent {
public:
  PlacementDescent(const Step &step, const DataMesh &mesh,
                   ArrayRef<PlacementGroup> groups, const PlacementCosts &costs,
                   std::optional<int64_t> keptLimit)
      : step(step), mesh(mesh), groups(groups), costs(costs),
        keptLimit(keptLimit) {}

  /// Nothing if the beginning has been looked at.
  std::optional<PricedChoice> run(const Choice &begin);
  int64_t getNumTried() const { return numTried; }
  Rank rank(const PlacementCost &cost) const {
    double excess = keptLimit ? cost.keptBytes - *keptLimit : 0;
    return {std::max(excess, 0.0), cost.getTotal()};
  }

private:
  std::optional<PlacementCost> tryChoice(const Choice &choice);
  bool improve(PricedChoice &best);

  const Step &step;
  const DataMesh &mesh;
  ArrayRef<PlacementGroup> groups;
  const PlacementCosts &costs;
  std::optional<int64_t> keptLimit;
  std::set<Choice> tried;
  int64_t numTried = 0;
};
} // namespace

static AxisSeeds getSeeds(ArrayRef<PlacementGroup> groups,
                          const Choice &choice) {
  AxisSeeds seeds;
  for (auto [group, dim] : llvm::zip_equal(groups, choice))
    group.place(seeds, dim);
  return seeds;
}

std::optional<PlacementCost> PlacementDescent::tryChoice(const Choice &choice) {
  // The cost only falls, so what was tried once is never taken later.
  if (!tried.insert(choice).second)
    return std::nullopt;
  ++numTried;
  return evaluate(step, mesh, getSeeds(groups, choice), costs);
}

bool PlacementDescent::improve(PricedChoice &best) {
  bool isChanged = false;
  for (auto [number, group] : llvm::enumerate(groups)) {
    SmallVector<std::optional<int64_t>> options = {std::nullopt};
    for (int64_t dim : listDims(step, group, mesh.shardRanks))
      options.push_back(dim);
    for (std::optional<int64_t> dim : options) {
      Choice candidate = best.dims;
      candidate[number] = dim;
      std::optional<PlacementCost> cost = tryChoice(candidate);
      if (!cost || rank(*cost) >= rank(best.cost))
        continue;
      best = {std::move(candidate), *cost};
      isChanged = true;
    }
  }
  return isChanged;
}

std::optional<PricedChoice> PlacementDescent::run(const Choice &begin) {
  constexpr int rounds = 3;
  std::optional<PlacementCost> cost = tryChoice(begin);
  if (!cost)
    return std::nullopt;
  PricedChoice best = {begin, *cost};
  for (int round = 0; round != rounds && improve(best); ++round)
    ;
  return best;
}

/// As values of option `shard`.
static std::vector<std::string> annotate(ArrayRef<PlacementGroup> groups,
                                         const Choice &choice, StringRef axis) {
  std::vector<std::string> annotations;
  for (auto [group, dim] : llvm::zip_equal(groups, choice))
    if (dim)
      annotations.push_back(
          (group.pattern + "=[" + axis + "] shard " + Twine(*dim)).str());
  return annotations;
}

/// The groups of a folded step in the order of those of the whole one; nothing
/// if one has all its members in layers that were left out, such as a table of
/// each layer.
static std::optional<std::vector<PlacementGroup>>
matchGroups(ArrayRef<PlacementGroup> groups, ArrayRef<PlacementGroup> found) {
  // A table that is read twice makes two groups of one pattern.
  llvm::StringMap<SmallVector<const PlacementGroup *, 1>> byPattern;
  for (const PlacementGroup &group : llvm::reverse(found))
    byPattern[group.pattern].push_back(&group);
  std::vector<PlacementGroup> matched;
  for (const PlacementGroup &group : groups) {
    auto &known = byPattern[group.pattern];
    auto it = llvm::find_if(llvm::reverse(known), [&](const auto *other) {
      return other->type == group.type;
    });
    if (it == known.rend())
      return std::nullopt;
    matched.push_back(**it);
    known.erase(std::prev(it.base()));
  }
  return matched;
}

/// From a step in which nothing is cut, from one whose sequence is, and from
/// what a solver has chosen, if anything.
static std::vector<PricedChoice>
descend(const Step &step, const DataMesh &mesh, ArrayRef<PlacementGroup> groups,
        const PlacementCosts &costs, const std::optional<Choice> &solved,
        std::optional<int64_t> keptLimit, int64_t &numTried) {
  PlacementDescent descent(step, mesh, groups, costs, keptLimit);
  std::vector<PricedChoice> found;
  Choice nothing(groups.size()), sequence(groups.size());
  for (auto [number, group] : llvm::enumerate(groups))
    if (!group.values.empty() &&
        !listDims(step, group, mesh.shardRanks).empty())
      sequence[number] = 1;
  SmallVector<Choice, 3> begins = {nothing, sequence};
  if (solved)
    begins.push_back(*solved);
  for (const Choice &begin : begins)
    if (std::optional<PricedChoice> best = descent.run(begin))
      found.push_back(std::move(*best));
  llvm::sort(found, [&](const PricedChoice &a, const PricedChoice &b) {
    return std::make_pair(descent.rank(a.cost), a.dims) <
           std::make_pair(descent.rank(b.cost), b.dims);
  });
  found.erase(llvm::unique(found,
                           [](const PricedChoice &a, const PricedChoice &b) {
                             return a.dims == b.dims;
                           }),
              found.end());
  numTried += descent.getNumTried();
  return found;
}

/// All that may be placed, group by group.
static std::vector<PlacedValue> listPlaced(const Step &step,
                                           const DataMesh &mesh,
                                           ArrayRef<PlacementGroup> groups) {
  std::vector<PlacedValue> placed;
  for (const PlacementGroup &group : groups) {
    SmallVector<int64_t> dims = listDims(step, group, mesh.shardRanks);
    for (unsigned argument : group.arguments)
      placed.push_back({step.block->getArgument(argument), dims});
    for (Value value : group.values)
      placed.push_back({value, dims});
  }
  return placed;
}

/// What most of the step has of each group, counted as often as it is there.
static Choice readChoice(const Step &step, const FoldedStep &folded,
                         ArrayRef<PlacementGroup> groups,
                         ArrayRef<std::optional<int64_t>> dims) {
  Choice choice;
  for (const PlacementGroup &group : groups) {
    std::map<std::optional<int64_t>, double> votes;
    for (unsigned argument : group.arguments) {
      votes[dims.front()] += folded.countArgument(argument);
      dims = dims.drop_front();
    }
    for (size_t i = 0; i != group.values.size(); ++i) {
      votes[dims.front()] += 1;
      dims = dims.drop_front();
    }
    choice.push_back(llvm::max_element(votes, llvm::less_second())->first);
  }
  return choice;
}

PlacementChoice
regather::tg::spmd::searchPlacements(const Step &step, const DataMesh &axisMesh,
                                     const PlacementPrices *prices,
                                     std::optional<int64_t> keptLimit) {
  PlacementChoice choice;
  auto analyze = [&](const FoldedStep &folded) {
    FailureOr<Step> small = analyzeStep(*folded.func, axisMesh, ElementTypes(),
                                        /*ignore=*/{}, BatchMode::Global);
    assert(succeeded(small) && "the step has been analyzed");
    return std::move(*small);
  };
  FoldedStep folded = foldEqualLayers(step.func);
  std::optional<Step> small = analyze(folded);
  const std::vector<PlacementGroup> groups = findGroups(step);
  auto matched = matchGroups(groups, findGroups(*small));
  if (!matched) {
    folded = copyStep(step.func);
    small.emplace(analyze(folded));
    matched = matchGroups(groups, findGroups(*small));
  }
  ArrayRef<PlacementGroup> smallGroups = *matched;
  choice.numTied = folded.numUnits * folded.unitLayers;

  std::vector<PricedChoice> found;
  // Who asks for an axis wants it to be used: where no cut saves time, one may
  // save memory.
  for (const PlacementPrices *known :
       {prices, static_cast<const PlacementPrices *>(nullptr)}) {
    PlacementCosts costs(folded, axisMesh, known);
    choice.before = costs.count(small->func);
    choice.bound.reset();
    choice.countsSeconds = known != nullptr;
    std::optional<Choice> solved;
    // Sums of segments have forms of their own.
    std::optional<PlacementBound> bound;
    if (!axisMesh.segments)
      bound = boundPlacements(*small, axisMesh,
                              listPlaced(*small, axisMesh, smallGroups), costs,
                              keptLimit);
    if (bound) {
      choice.bound = bound->units;
      choice.relaxed = bound->relaxedUnits;
      solved = readChoice(*small, folded, smallGroups, bound->dims);
    }
    found = descend(*small, axisMesh, smallGroups, costs, solved, keptLimit,
                    choice.numTried);
    if (!known || found.front().dims != Choice(groups.size()))
      break;
  }

  StringRef axis = axisMesh.shardAxes.getNames().front().getValue();
  for (auto [number, priced] : llvm::enumerate(found)) {
    std::vector<std::string> annotations = annotate(groups, priced.dims, axis);
    if (number > 0) {
      if (!annotations.empty())
        choice.others.push_back({std::move(annotations), priced.cost});
      continue;
    }
    choice.seeds = getSeeds(groups, priced.dims);
    choice.annotations = std::move(annotations);
    choice.cost = priced.cost;
  }
  return choice;
}
