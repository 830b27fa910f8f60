//===- MemoryPlanner.cpp - Where buffers lie in one arena -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/MemoryPlanner/MemoryPlanner.h"
#include "../Effort.h"
#include "Greedy.h"
#include "PackingProblem.h"
#include "PackingSearch.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace regather;
using namespace regather::planner;

namespace {
/// Exact search is for components of at most so many blocks: each of its steps
/// looks at all blocks that are left.
constexpr size_t kMaxSearchBlocks = 4000;
/// The local search gets this fraction (one part in 8) of the effort.
constexpr uint64_t kLocalSearchShare = 8;
/// What each order of the exact search may spend at first.
constexpr uint64_t kFirstRound = 1 << 20;
constexpr uint64_t kMaxRound = uint64_t(1) << 60;
/// A component of more blocks is packed by the first descent of the search or
/// hardly ever: a descent looks at each pair of its blocks about once.
constexpr size_t kManyBlocks = 1000;

/// Packs one component as low as the effort allows.
class ComponentPlanner {
public:
  ComponentPlanner(const Problem &problem, const Component &component,
                   uint64_t target, Effort &effort)
      : problem(problem), component(component), target(target), effort(effort) {
  }

  void run();
  const Incumbent &getBest() const { return best; }
  /// No packing ends below this.
  uint64_t getProvenBound() const { return provenBound; }

private:
  /// True if the exact search ends before it has used up the effort.
  bool givesUp() const {
    return floor && component.blocks.size() > kManyBlocks;
  }
  SearchOutcome search(uint64_t capacity, uint64_t effortPerOrder);
  void searchBelowBest();

  const Problem &problem;
  const Component &component;
  uint64_t target;
  Effort &effort;
  /// Nothing if the fixed blocks leave holes, which the exact search cannot
  /// use.
  std::optional<std::vector<uint64_t>> floor;
  Incumbent best;
  uint64_t provenBound = 0;
};
} // namespace

SearchOutcome ComponentPlanner::search(uint64_t capacity,
                                       uint64_t effortPerOrder) {
  Incumbent found;
  SearchOutcome outcome = searchPacking(problem, component, *floor, capacity,
                                        effortPerOrder, effort, found.offsets);
  if (outcome == SearchOutcome::Impossible)
    provenBound = std::max(provenBound, capacity + problem.unit);
  if (outcome != SearchOutcome::Found)
    return outcome;
  found.peak = 0;
  for (auto [place, number] : enumerate(component.blocks))
    found.peak = std::max(found.peak,
                          found.offsets[place] + problem.blocks[number].size);
  found.strategy = "canonical search";
  best = std::move(found);
  return outcome;
}

/// Tries the least capacity that is not known to be impossible, since most
/// cases can be packed without a gap, and one halfway to the best peak with
/// less effort, since those with more room are much easier; then both again
/// with more.
void ComponentPlanner::searchBelowBest() {
  uint64_t unit = problem.unit;
  uint64_t low = target / unit;
  uint64_t numBlocks = component.blocks.size();
  uint64_t lastRound = givesUp() ? std::max(kFirstRound, numBlocks * numBlocks)
                                 : std::numeric_limits<uint64_t>::max();
  // All peaks are multiples of the unit, also the best one.
  auto tryCapacity = [&](uint64_t capacity, uint64_t effortPerOrder) {
    if (search(capacity * unit, effortPerOrder) == SearchOutcome::Impossible)
      low = capacity + 1;
    return low < best.peak / unit;
  };
  for (uint64_t round = kFirstRound; round <= lastRound && !effort.isSpent();
       round = std::min(round, kMaxRound) * 4)
    if (!tryCapacity(low, round) ||
        !tryCapacity(low + (best.peak / unit - low) / 2, round / 8))
      return;
}

void ComponentPlanner::run() {
  packInOrders(problem, component, target, best);
  if (best.peak <= target)
    return;
  if (component.blocks.size() <= kMaxSearchBlocks)
    floor = findFloor(problem, component);
  Effort reserve = effort.split(effort.getLeft() / kLocalSearchShare);
  if (floor)
    searchBelowBest();
  // What a search leaves that gave up early is not for the local one.
  Effort unused = effort.split(givesUp() ? effort.getLeft() : 0);
  effort.join(reserve);
  uint64_t wanted = std::max(target, provenBound);
  if (component.blocks.size() > 1)
    improveOrder(problem, component, wanted, effort, best);
  effort.join(unused);
}

Result<MemoryPlan> regather::planMemory(const MemoryPlanRequest &request,
                                        const MemoryPlannerOptions &options) {
  Effort::Clock::time_point start = Effort::Clock::now();
  Result<NormalizedRequest> normalized = normalizeRequest(request);
  if (!normalized)
    return normalized.getFailure();
  const Problem &problem = normalized->problem;
  std::optional<Effort::Clock::time_point> deadline;
  if (options.timeLimit)
    deadline = start + *options.timeLimit;
  Effort effort(options.effort, deadline);

  MemoryPlan plan;
  plan.lowerBound = problem.lowerBound;
  plan.peak = problem.lowerBound;
  plan.strategy = "none needed";
  uint64_t provenBound = problem.lowerBound;
  std::vector<uint64_t> offsets(problem.blocks.size());
  for (auto [number, block] : enumerate(problem.blocks))
    offsets[number] = block.offset;
  std::vector<Component> components = findComponents(problem);
  size_t blocksLeft = 0;
  for (const Component &component : components)
    blocksLeft += component.blocks.size();
  for (const Component &component : components) {
    // There is nothing to gain below the peak of another component.
    uint64_t target = std::max(plan.peak, options.capacity.value_or(0));
    // Components share the effort; what easy ones leave is for those that
    // follow.
    Effort share = effort.split(
        static_cast<uint64_t>(static_cast<double>(effort.getLeft()) *
                              static_cast<double>(component.blocks.size()) /
                              static_cast<double>(blocksLeft)));
    ComponentPlanner planner(problem, component, target, share);
    planner.run();
    effort.join(share);
    blocksLeft -= component.blocks.size();
    const Incumbent &best = planner.getBest();
    for (auto [place, number] : enumerate(component.blocks))
      offsets[number] = best.offsets[place];
    provenBound = std::max(provenBound, planner.getProvenBound());
    if (best.peak > plan.peak || plan.strategy == "none needed")
      plan.strategy = best.strategy;
    plan.peak = std::max(plan.peak, best.peak);
  }
  plan.isOptimal = plan.peak <= provenBound;
  for (auto [number, block] : enumerate(normalized->blockOfBuffer))
    plan.offsets.push_back(block < 0
                               ? request.buffers[number].fixedOffset.value_or(0)
                               : offsets[block]);
  plan.time = Effort::Clock::now() - start;
  return plan;
}
