//===- ShardingSolver.cpp - Strategies of least cost ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Sharding/ShardingSolver.h"

#include "Relaxation.h"
#include "Search.h"

#include "regather/Support/LLVM/MakeFailure.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>

using namespace llvm;
using namespace regather;
using namespace regather::sharding;
using planner::Effort;

namespace {
/// Alternates between the relaxation and the search until the effort is spent
/// or the best choice meets the bound.
class CoreSolver {
public:
  CoreSolver(const CoreProblem &core, const MemoryRuns &memory, uint64_t seed,
             Effort &effort)
      : memory(memory), effort(effort), relaxation(core, memory),
        search(core, memory, seed), numStrategies(0) {
    for (const std::vector<int64_t> &costs : core.costs)
      numStrategies += costs.size() > 1 ? costs.size() : 0;
    numNodes = core.costs.size();
  }

  void run() {
    // Prices that are not good yet lead the search astray: it gets what a third
    // of the effort has left, and then three parts to one of relaxation.
    relax(std::max(effort.getLeft() / 3, relaxation.getWorkPerRound() * 50));
    // Many short searches, each from the best choice so far, find more than a
    // few long ones.
    uint64_t numProposals = numStrategies;
    for (uint32_t round = 0; !effort.isSpent() && !isProven(); ++round) {
      uint64_t before = effort.getLeft();
      anneal(round, numProposals);
      relax((before - effort.getLeft()) / 3);
      // Slower and slower.
      if (round % kNumTemperatures == kNumTemperatures - 1)
        numProposals *= 2;
    }
  }

  bool hasBest() const { return search.getBestCost() < kForbiddenCost; }
  ArrayRef<uint32_t> getBest() const { return search.getBest(); }
  /// Rounded up, as costs are whole.
  int64_t getBound() const {
    double bound = std::ceil(relaxation.certify() - 1e-6);
    return std::clamp(bound, 0.0, double(search.getBestCost()));
  }

private:
  bool isProven() const {
    return hasBest() &&
           relaxation.getBest() > double(search.getBestCost()) - 1 &&
           getBound() >= search.getBestCost();
  }

  double getPenalty() const {
    double highest = 0;
    for (double price : relaxation.getPrices())
      highest = std::max(highest, price);
    double scale = std::max(1.0, std::abs(relaxation.getBest()));
    double most = 1;
    for (int64_t room : memory.room)
      most = std::max(most, double(room));
    return penaltyScale * std::max(3 * highest, scale / most);
  }

  void relax(uint64_t work) {
    Effort part = effort.split(work);
    for (uint32_t round = 0;; ++round) {
      double target = !hasBest() ? relaxation.getBest() +
                                       0.01 * std::abs(relaxation.getBest()) + 1
                                 : double(search.getBestCost());
      if (!std::isfinite(target))
        target = 1;
      relaxation.improve(target);
      if (round % kRoundsPerOffer == 0)
        offer();
      if (!part.spend(relaxation.getWorkPerRound()) || isProven())
        break;
    }
    effort.join(part);
  }

  /// Keeps the choice of the relaxation if it is the best to start from.
  void offer() {
    double value = search.offer(relaxation.getChoice(), getPenalty());
    if (start.empty() || value < startValue) {
      start = relaxation.getChoice().vec();
      startValue = value;
    }
  }

  void anneal(uint32_t round, uint64_t numProposals) {
    // Parts of the cost at which to begin.
    static constexpr double kTemperatures[kNumTemperatures] = {1e-2, 1e-3, 1e-4,
                                                               3e-3};
    double scale = std::max(1.0, std::abs(relaxation.getBest()));
    Search::Cooling cooling;
    cooling.hottest = scale * kTemperatures[round % kNumTemperatures];
    cooling.coldest = std::min(cooling.hottest, scale * 1e-8);
    cooling.numProposals = numProposals;
    cooling.numTrees = numProposals / 50 + 1;
    cooling.largestTree = std::min(numNodes, kLargestTree);
    cooling.penalty = getPenalty();
    cooling.firstPenalty = firstPenalty;
    search.anneal(!hasBest() ? ArrayRef(start) : getBest(),
                  relaxation.getPrices(), cooling, effort);
    // As low as still leads back to choices that fit.
    firstPenalty = search.fits() ? std::max(firstPenalty / 2, 1e-4)
                                 : std::min(firstPenalty * 4, 1.0);
    if (!hasBest()) {
      penaltyScale *= 2;
      start = search.getChoice().vec();
      startValue = std::numeric_limits<double>::infinity();
    }
  }

  static constexpr uint32_t kNumTemperatures = 4;
  static constexpr uint32_t kRoundsPerOffer = 16;
  static constexpr uint32_t kLargestTree = 400;

  const MemoryRuns &memory;
  Effort &effort;
  Relaxation relaxation;
  Search search;
  uint64_t numStrategies;
  uint32_t numNodes;
  double penaltyScale = 1;
  double firstPenalty = 0.1;
  std::vector<uint32_t> start;
  double startValue = 0;
};
} // namespace

/// A choice with a low peak of all that have no forbidden cost; empty if none
/// was found.
static std::vector<uint32_t> findLowPeak(const ShardingProblem &problem,
                                         CoreProblem core, int64_t peak,
                                         Effort &effort) {
  for (std::vector<int64_t> &costs : core.costs)
    llvm::fill(costs, 0);
  for (CoreEdge &edge : core.edges)
    for (int64_t &cost : edge.costs)
      cost = cost < kForbiddenCost ? 0 : kForbiddenCost;
  std::vector<uint32_t> best;
  ShardingProblem limited = problem;
  int64_t lowest = 0, highest = peak;
  while (lowest <= highest && !effort.isSpent()) {
    limited.limit = best.empty() ? highest : lowest + (highest - lowest) / 2;
    MemoryRuns memory = findMemoryRuns(limited, core);
    bool isHopeless =
        any_of(memory.room, [](int64_t room) { return room < 0; });
    std::vector<uint32_t> found;
    if (!isHopeless) {
      Effort part = effort.split(effort.getLeft() / 8 + 1);
      CoreSolver solver(core, memory, 0, part);
      solver.run();
      effort.join(part);
      found = solver.getBest().vec();
    }
    if (!found.empty()) {
      best = expandChoice(core, found);
      highest = evaluateSharding(problem, best).peak - 1;
    } else if (best.empty()) {
      break;
    } else {
      lowest = *limited.limit + 1;
    }
  }
  return best;
}

/// Says why no choice fits, and what would.
static Failure explainMisfit(const ShardingProblem &problem,
                             const CoreProblem &core, const MemoryRuns &memory,
                             Effort effort) {
  int64_t most = 0;
  for (const ShardingNode &node : problem.nodes)
    most += *max_element(node.bytes);
  std::vector<uint32_t> low = findLowPeak(problem, core, most, effort);
  if (low.empty())
    return Failure("no choice without a forbidden cost was found");
  int64_t peak = evaluateSharding(problem, low).peak;
  auto tightest = llvm::min_element(memory.room);
  if (tightest != memory.room.end() && *tightest < 0)
    return makeFailure("no choice fits into {0} bytes: at time {1} live nodes "
                       "take at least {2}; a limit of {3} bytes would do",
                       *problem.limit,
                       memory.times[tightest - memory.room.begin()],
                       *problem.limit - *tightest, peak);
  return makeFailure(
      "found no choice that fits into {0} bytes; the least limit "
      "for which one was found is {1} bytes",
      problem.limit.value_or(0), peak);
}

Result<ShardingSolution>
regather::solveSharding(const ShardingProblem &problem,
                        const ShardingSolverOptions &options) {
  if (Failure failure = checkShardingProblem(problem))
    return failure;
  Result<CoreProblem> core = tieStrategies(problem);
  if (!core)
    return core.getFailure();
  MemoryRuns memory = findMemoryRuns(problem, *core);
  Effort effort(options.work, options.deadline);
  // What explains a failure if there is one.
  constexpr uint64_t kWorkToExplain = 400000000;
  Effort toExplain(kWorkToExplain);
  if (any_of(memory.room, [](int64_t room) { return room < 0; }))
    return explainMisfit(problem, *core, memory, toExplain);
  if (core->costs.empty())
    return ShardingSolution();
  CoreSolver solver(*core, memory, options.seed, effort);
  solver.run();
  if (!solver.hasBest())
    return explainMisfit(problem, *core, memory, toExplain);
  ShardingSolution solution;
  solution.strategies = expandChoice(*core, solver.getBest());
  solution.value = evaluateSharding(problem, solution.strategies);
  solution.bound = solver.getBound();
  return solution;
}
