//===- Search.cpp - Choices that cost little ------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>
#include <utility>

using namespace llvm;
using namespace regather;
using namespace regather::sharding;

/// A forbidden cost counts as this much in sums, a thousand of which fit.
static constexpr int64_t kForbiddenTerm = kForbiddenCost / 1000;

Search::Search(const CoreProblem &core, const MemoryRuns &memory, uint64_t seed)
    : core(core), memory(memory), random(seed), arcs(core.costs.size()),
      numTimes(core.costs.size(), 0), seenBy(core.costs.size(), 0),
      placeInTree(core.costs.size(), 0) {
  for (const CoreEdge &edge : core.edges) {
    uint32_t columns = core.costs[edge.to].size();
    arcs[edge.from].push_back({edge.to, edge.costs.data(), columns, 1});
    arcs[edge.to].push_back({edge.from, edge.costs.data(), 1, columns});
  }
  for (uint32_t node = 0; node != core.costs.size(); ++node) {
    if (core.costs[node].size() > 1)
      open.push_back(node);
    for (const MemoryRun &run : memory.runs[node])
      numTimes[node] += run.end - run.begin;
  }
}

double Search::drawUnit() {
  return (double(random() >> 11) + 1) / double(uint64_t(1) << 53);
}

uint32_t Search::drawBelow(uint32_t end) {
  return (uint64_t(uint32_t(random())) * end) >> 32;
}

void Search::setChoice(ArrayRef<uint32_t> start) {
  choice = start.vec();
  costs = core.costs;
  left = memory.room;
  cost = excess = 0;
  for (uint32_t node = 0; node != choice.size(); ++node) {
    cost += core.costs[node][choice[node]];
    for (const Arc &arc : arcs[node]) {
      const int64_t *column = arc.costs + choice[arc.other] * arc.stepOfOther;
      for (uint32_t s = 0; s != costs[node].size(); ++s)
        costs[node][s] += std::min(column[s * arc.stepOfThis], kForbiddenTerm);
      if (arc.other < node)
        cost += std::min(column[choice[node] * arc.stepOfThis], kForbiddenTerm);
    }
    for (const MemoryRun &run : memory.runs[node])
      for (uint32_t time = run.begin; time != run.end; ++time)
        left[time] -= run.bytes[choice[node]];
  }
  for (int64_t bytes : left)
    excess += std::max<int64_t>(0, -bytes);
  record();
}

double Search::offer(ArrayRef<uint32_t> start, double penalty) {
  setChoice(start);
  return double(cost) + penalty * double(excess);
}

void Search::record() {
  if (excess != 0 || cost >= bestCost || cost >= kForbiddenTerm)
    return;
  best = choice;
  bestCost = cost;
}

/// How many more bytes are above the limit after a move.
int64_t Search::getExcessOfMove(uint32_t node, uint32_t strategy) const {
  int64_t sum = 0;
  for (const MemoryRun &run : memory.runs[node]) {
    int64_t more = run.bytes[strategy] - run.bytes[choice[node]];
    if (more == 0)
      continue;
    for (uint32_t time = run.begin; time != run.end; ++time)
      sum += std::max<int64_t>(0, more - left[time]) -
             std::max<int64_t>(0, -left[time]);
  }
  return sum;
}

void Search::move(uint32_t node, uint32_t strategy) {
  uint32_t old = choice[node];
  cost += costs[node][strategy] - costs[node][old];
  for (const Arc &arc : arcs[node]) {
    const int64_t *after = arc.costs + strategy * arc.stepOfThis;
    const int64_t *before = arc.costs + old * arc.stepOfThis;
    std::vector<int64_t> &sums = costs[arc.other];
    for (uint32_t s = 0; s != sums.size(); ++s)
      sums[s] += std::min(after[s * arc.stepOfOther], kForbiddenTerm) -
                 std::min(before[s * arc.stepOfOther], kForbiddenTerm);
  }
  for (const MemoryRun &run : memory.runs[node]) {
    int64_t more = run.bytes[strategy] - run.bytes[old];
    if (more == 0)
      continue;
    for (uint32_t time = run.begin; time != run.end; ++time) {
      excess -= std::max<int64_t>(0, -left[time]);
      left[time] -= more;
      excess += std::max<int64_t>(0, -left[time]);
    }
  }
  choice[node] = strategy;
}

void Search::priceStrategies(ArrayRef<double> prices) {
  std::vector<double> sums(memory.room.size() + 1, 0);
  for (auto [time, price] : enumerate(prices))
    sums[time + 1] = sums[time] + price;
  priced.clear();
  for (auto [nodeCosts, runs] : zip_equal(core.costs, memory.runs)) {
    std::vector<double> &own = priced.emplace_back(nodeCosts.size(), 0);
    for (const MemoryRun &run : runs)
      for (auto [s, bytes] : enumerate(run.bytes))
        own[s] += bytes * (sums[run.end] - sums[run.begin]);
  }
}

/// Proposes another strategy for one node; returns the work.
uint64_t Search::proposeNode(double temperature, double penalty) {
  uint64_t work = 4;
  uint32_t node = open[drawBelow(open.size())];
  ArrayRef<int64_t> nodeCosts = costs[node];
  uint32_t strategy = drawBelow(nodeCosts.size() - 1);
  strategy += strategy >= choice[node];
  double allowed = -temperature * std::log(drawUnit());
  double more = nodeCosts[strategy] - nodeCosts[choice[node]];
  // Within the limit, no move can save a penalty.
  if (excess == 0 && more > allowed)
    return work;
  work += 1 + numTimes[node] / 4;
  more += penalty * getExcessOfMove(node, strategy);
  if (more > allowed)
    return work;
  for (const Arc &arc : arcs[node])
    work += 4 + costs[arc.other].size();
  move(node, strategy);
  record();
  return work + numTimes[node] / 2;
}

/// Grows a tree from `root` by random neighbours, each of which has an edge to
/// one node of it alone.
void Search::growTree(uint32_t root, uint32_t size) {
  constexpr uint32_t kRefused = ~0u;
  ++treeNumber;
  treeSize = 0;
  std::vector<uint32_t> frontier{root};
  while (!frontier.empty() && treeSize != size) {
    uint32_t picked = drawBelow(frontier.size());
    uint32_t node = frontier[picked];
    frontier[picked] = frontier.back();
    frontier.pop_back();
    if (seenBy[node] == treeNumber)
      continue;
    seenBy[node] = treeNumber;
    placeInTree[node] = kRefused;
    const Arc *parent = nullptr;
    bool isCycle = false;
    for (const Arc &arc : arcs[node])
      if (seenBy[arc.other] == treeNumber &&
          placeInTree[arc.other] != kRefused) {
        isCycle |= parent != nullptr;
        parent = &arc;
      }
    if (isCycle)
      continue;
    if (tree.size() == treeSize)
      tree.emplace_back();
    TreeNode &added = tree[treeSize];
    added.node = node;
    added.arc = parent;
    added.parent = parent ? placeInTree[parent->other] : 0;
    placeInTree[node] = treeSize++;
    for (const Arc &arc : arcs[node])
      if (seenBy[arc.other] != treeNumber)
        frontier.push_back(arc.other);
  }
}

/// Finds the best strategies of the tree, in `bestOf`; returns the work.
uint64_t Search::solveTree(double temperature, double priceScale) {
  uint64_t work = 0;
  for (uint32_t i = 0; i != treeSize; ++i) {
    TreeNode &place = tree[i];
    ArrayRef<int64_t> own = costs[place.node];
    place.costs.resize(own.size());
    for (uint32_t s = 0; s != own.size(); ++s)
      place.costs[s] = own[s] + priceScale * priced[place.node][s] +
                       temperature * std::log(-std::log(drawUnit() * 0.999999));
    work += 16 * own.size();
  }
  // The edges of the tree are no longer to what the nodes have now.
  for (uint32_t i = 1; i < treeSize; ++i) {
    TreeNode &place = tree[i];
    TreeNode &parent = tree[place.parent];
    const Arc &arc = *place.arc;
    const int64_t *row = arc.costs + choice[parent.node] * arc.stepOfOther;
    const int64_t *column = arc.costs + choice[place.node] * arc.stepOfThis;
    for (uint32_t s = 0; s != place.costs.size(); ++s)
      place.costs[s] -= std::min(row[s * arc.stepOfThis], kForbiddenTerm);
    for (uint32_t s = 0; s != parent.costs.size(); ++s)
      parent.costs[s] -= std::min(column[s * arc.stepOfOther], kForbiddenTerm);
  }
  for (uint32_t i = treeSize; i-- > 1;) {
    TreeNode &place = tree[i];
    TreeNode &parent = tree[place.parent];
    const Arc &arc = *place.arc;
    uint32_t size = place.costs.size();
    place.bestOf.resize(parent.costs.size());
    for (uint32_t p = 0; p != parent.costs.size(); ++p) {
      const int64_t *row = arc.costs + p * arc.stepOfOther;
      double least = std::numeric_limits<double>::infinity();
      for (uint32_t s = 0; s != size; ++s) {
        double sum = place.costs[s] + double(row[s * arc.stepOfThis]);
        if (sum < least) {
          least = sum;
          place.bestOf[p] = s;
        }
      }
      parent.costs[p] += least;
    }
    work += uint64_t(size) * parent.costs.size();
  }
  return work;
}

/// Proposes the best strategies of a tree; returns the work.
uint64_t Search::proposeTree(double temperature, const Cooling &cooling) {
  // As many small trees as large ones, on a logarithmic scale.
  uint32_t size = std::ceil(std::pow(double(cooling.largestTree), drawUnit()));
  growTree(open[drawBelow(open.size())], std::max(size, 2u));
  uint64_t work = 16 * treeSize;
  work += solveTree(temperature, 1.5 * drawUnit());
  double allowed = -temperature * std::log(drawUnit());
  double before = cost + cooling.penalty * excess;
  std::vector<std::pair<uint32_t, uint32_t>> undone;
  std::vector<uint32_t> chosen(treeSize);
  for (uint32_t i = 0; i != treeSize; ++i) {
    TreeNode &place = tree[i];
    chosen[i] = i == 0
                    ? std::min_element(place.costs.begin(), place.costs.end()) -
                          place.costs.begin()
                    : place.bestOf[chosen[place.parent]];
    if (chosen[i] == choice[place.node])
      continue;
    undone.emplace_back(place.node, choice[place.node]);
    move(place.node, chosen[i]);
    for (const Arc &arc : arcs[place.node])
      work += 4 + costs[arc.other].size();
    work += numTimes[place.node] / 2;
  }
  if (cost + cooling.penalty * excess - before <= allowed) {
    record();
    return work;
  }
  for (auto [node, strategy] : reverse(undone))
    move(node, strategy);
  return 2 * work;
}

void Search::anneal(ArrayRef<uint32_t> start, ArrayRef<double> prices,
                    const Cooling &cooling, planner::Effort &effort) {
  setChoice(start);
  // There is nothing to search.
  if (open.empty()) {
    effort.spend(effort.getLeft());
    return;
  }
  priceStrategies(prices);
  // The temperature falls this often.
  constexpr uint64_t kStages = 200;
  // From this part of them on, the penalty is whole.
  constexpr double kFullPenalty = 0.8;
  double temperature = cooling.hottest;
  double factor = std::pow(cooling.coldest / cooling.hottest, 1.0 / kStages);
  Cooling now = cooling;
  for (uint64_t stage = 0; stage != kStages; ++stage, temperature *= factor) {
    double left = 1 - double(stage) / (kFullPenalty * kStages);
    now.penalty =
        cooling.penalty * std::pow(cooling.firstPenalty, std::max(0.0, left));
    uint64_t work = 0;
    uint64_t numTrees = cooling.numTrees / kStages + 1;
    uint64_t numNodes = cooling.numProposals / cooling.numTrees + 1;
    for (uint64_t i = 0; i != numTrees; ++i) {
      work += proposeTree(temperature, now);
      for (uint64_t j = 0; j != numNodes; ++j)
        work += proposeNode(temperature, now.penalty);
      if (work > 1000000) {
        if (!effort.spend(work))
          return;
        work = 0;
      }
    }
    if (!effort.spend(work))
      return;
  }
}
