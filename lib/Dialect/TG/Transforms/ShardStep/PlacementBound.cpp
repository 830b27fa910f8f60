//===- PlacementBound.cpp - What no placement undercuts -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cost of a step is no sum: of its operations with what is kept, and of
// what happens to parameters beside them, the longer counts. But for any share
// w between 0 and 1
//
//   max(operations, parameters) >= w * operations + (1 - w) * parameters
//
// which is a sum that the solver bounds. Where operations take longer, w = 1
// gives the whole of it.
//
//===----------------------------------------------------------------------===//

#include "PlacementBound.h"

#include "regather/Analysis/Sharding/ShardingSolver.h"

#include <cmath>

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::spmd;

namespace {
/// What a quantity adds up to at least and at most.
struct Extent {
  double least = 0, most = 0;
};

class PlacementBounder {
public:
  PlacementBounder(const PlacementProblem &problem, const PlacementCosts &costs,
                   std::optional<int64_t> keptLimit);

  std::optional<PlacementBound> run(ArrayRef<PlacedValue> placed);

private:
  struct Solved {
    double bound = 0;
    /// Of the choice that was found, both parts of the cost.
    double operations = 0, parameters = 0;
    std::vector<uint32_t> strategies;
  };

  Extent getExtent(double StrategyCost::*member) const;
  std::optional<Solved> solve(double share) const;

  const PlacementProblem &problem;
  std::optional<int64_t> keptLimit;
  LinearBound kept, data;
};
} // namespace

Extent PlacementBounder::getExtent(double StrategyCost::*member) const {
  Extent range;
  for (const std::vector<StrategyCost> &node : problem.nodes) {
    double least = kNever, most = 0;
    for (const StrategyCost &cost : node) {
      least = std::min(least, cost.*member);
      most = std::max(most, cost.*member);
    }
    range.least += least;
    range.most += most;
  }
  return range;
}

PlacementBounder::PlacementBounder(const PlacementProblem &problem,
                                   const PlacementCosts &costs,
                                   std::optional<int64_t> keptLimit)
    : problem(problem), keptLimit(keptLimit) {
  Extent bytes = getExtent(&StrategyCost::keptBytes);
  kept = costs.boundKept(bytes.least, bytes.most);
  Extent parameters = getExtent(&StrategyCost::parameterBytes);
  data = costs.boundData(parameters.least, parameters.most);
}

std::optional<PlacementBounder::Solved>
PlacementBounder::solve(double share) const {
  double dataShare = 1 - share + PlacementCosts::kExposedData;
  auto getCost = [&](const StrategyCost &cost) {
    return share * (cost.units + kept.slope * cost.keptBytes) +
           dataShare * data.slope * cost.parameterBytes;
  };
  // Costs are whole numbers there: of ten digits, so that what the bound leaves
  // out for rounding, a part of 1e-12, is less than one, and a choice that
  // meets it is known to be the best.
  double largest = 0;
  for (const std::vector<StrategyCost> &node : problem.nodes) {
    double most = 0;
    for (const StrategyCost &cost : node)
      if (cost.units != kNever)
        most = std::max(most, getCost(cost));
    largest += most;
  }
  if (!(largest > 0))
    return std::nullopt;
  constexpr int kBits = 34;
  double scale = std::ldexp(1, kBits - std::ilogb(largest));
  auto round = [&](double cost) {
    // Down, for what is summed up is a bound.
    constexpr double kRounding = 1 - 1e-12;
    return cost == kNever ? kForbiddenCost
                          : static_cast<int64_t>(cost * scale * kRounding);
  };
  ShardingProblem whole;
  whole.limit = keptLimit;
  for (const std::vector<StrategyCost> &node : problem.nodes) {
    ShardingNode &own = whole.nodes.emplace_back();
    for (const StrategyCost &cost : node)
      own.costs.push_back(cost.units == kNever ? kForbiddenCost
                                               : round(getCost(cost)));
    // All that is kept is there when forward ends.
    own.end = keptLimit ? 1 : 0;
    for (const StrategyCost &cost : node)
      own.bytes.push_back(static_cast<int64_t>(cost.keptBytes));
  }
  for (const PlacementProblem::Edge &edge : problem.edges) {
    ShardingEdge &own = whole.edges.emplace_back();
    own.from = edge.from;
    own.to = edge.to;
    for (double units : edge.units)
      own.costs.push_back(units == kNever ? kForbiddenCost
                                          : round(share * units));
  }
  ShardingSolverOptions options;
  constexpr uint64_t kWork = 60000000;
  options.work = kWork;
  Result<ShardingSolution> solution = solveSharding(whole, options);
  if (!solution)
    return std::nullopt;
  Solved solved;
  solved.bound = static_cast<double>(solution->bound) / scale +
                 share * kept.offset + dataShare * data.offset;
  solved.strategies = std::move(solution->strategies);
  double units = 0, keptBytes = 0, parameterBytes = 0;
  for (auto [node, strategy] :
       llvm::zip_equal(problem.nodes, solved.strategies)) {
    units += node[strategy].units;
    keptBytes += node[strategy].keptBytes;
    parameterBytes += node[strategy].parameterBytes;
  }
  for (const PlacementProblem::Edge &edge : problem.edges)
    units += edge.units[solved.strategies[edge.from] *
                            problem.nodes[edge.to].size() +
                        solved.strategies[edge.to]];
  solved.operations = units + kept.offset + kept.slope * keptBytes;
  solved.parameters = data.offset + data.slope * parameterBytes;
  return solved;
}

std::optional<PlacementBound>
PlacementBounder::run(ArrayRef<PlacedValue> placed) {
  std::optional<Solved> best;
  std::optional<PlacementBound> bound;
  // Between the share for which operations take longer in the choice that costs
  // least, and the one for which parameters do.
  double low = 0, high = 1;
  constexpr int kMostShares = 4;
  for (int i = 0; i != kMostShares; ++i) {
    double share = i == 0 ? 1 : (low + high) / 2;
    std::optional<Solved> solved = solve(share);
    if (!solved)
      break;
    bool operationsTakeLonger = solved->operations >= solved->parameters;
    double relaxed = std::max(solved->operations, solved->parameters) +
                     PlacementCosts::kExposedData * solved->parameters;
    if (!bound)
      bound = PlacementBound{solved->bound, kNever, {}};
    bound->units = std::max(bound->units, solved->bound);
    if (relaxed < bound->relaxedUnits) {
      bound->relaxedUnits = relaxed;
      best = std::move(solved);
    }
    if (i == 0 && operationsTakeLonger)
      break;
    (operationsTakeLonger ? low : high) = share;
  }
  if (!best)
    return std::nullopt;
  for (const PlacedValue &one : placed) {
    const PlacementProblem::Place &place =
        problem.places.find(one.value)->second;
    bound->dims.push_back(place.dims[best->strategies[place.node]]);
  }
  return bound;
}

std::optional<PlacementBound> regather::tg::spmd::boundPlacements(
    const Step &step, const DataMesh &mesh, ArrayRef<PlacedValue> placed,
    const PlacementCosts &costs, std::optional<int64_t> keptLimit) {
  std::optional<PlacementProblem> problem =
      buildPlacementProblem(step, mesh, placed, costs);
  if (!problem)
    return std::nullopt;
  return PlacementBounder(*problem, costs, keptLimit).run(placed);
}
