//===- CoreProblem.cpp - What is left to decide ---------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CoreProblem.h"

#include "regather/Support/LLVM/MakeFailure.h"

#include <deque>
#include <map>

using namespace llvm;
using namespace regather;
using namespace regather::sharding;

namespace {
int64_t addCosts(int64_t a, int64_t b) {
  return a >= kForbiddenCost || b >= kForbiddenCost ? kForbiddenCost : a + b;
}

/// A node that took others over. `ids` are the strategies that it has left, as
/// the whole problem counts them.
struct OpenNode {
  std::vector<int64_t> costs;
  std::vector<uint32_t> ids;
  /// By neighbour, the edge; ordered, so that nothing depends on addresses.
  std::map<uint32_t, uint32_t> edges;
  bool isTaken = false;
};

/// `child` has strategy `strategies[s]` where `parent` has `s`, both as the
/// whole problem counts them.
struct Merge {
  uint32_t child;
  uint32_t parent;
  std::vector<uint32_t> strategies;
};

/// Examines edges until none ties, drops or splits anything.
class Tying {
public:
  explicit Tying(const ShardingProblem &problem) : problem(problem) {}

  Result<CoreProblem> run() {
    for (const ShardingNode &node : problem.nodes) {
      OpenNode &open = nodes.emplace_back();
      open.costs = node.costs;
      for (uint32_t id = 0; id != node.costs.size(); ++id)
        open.ids.push_back(id);
    }
    for (const ShardingEdge &edge : problem.edges)
      addEdge(edge.from, edge.to, edge.costs);
    for (uint32_t node = 0; node != nodes.size() && !failure; ++node)
      dropForbidden(node);
    while (!queue.empty() && !failure) {
      uint32_t edge = queue.front();
      queue.pop_front();
      isQueued[edge] = false;
      if (!edges[edge].costs.empty())
        examine(edge);
    }
    if (failure)
      return std::move(failure);
    return finish();
  }

private:
  void enqueue(uint32_t edge) {
    if (isQueued[edge])
      return;
    isQueued[edge] = true;
    queue.push_back(edge);
  }

  static std::vector<int64_t> transpose(const CoreEdge &edge, size_t rows) {
    std::vector<int64_t> result(edge.costs.size());
    size_t columns = edge.costs.size() / rows;
    for (size_t row = 0; row != rows; ++row)
      for (size_t column = 0; column != columns; ++column)
        result[column * rows + row] = edge.costs[row * columns + column];
    return result;
  }

  void addEdge(uint32_t from, uint32_t to, std::vector<int64_t> costs) {
    if (from == to) {
      size_t size = nodes[from].costs.size();
      for (size_t s = 0; s != size; ++s)
        nodes[from].costs[s] =
            addCosts(nodes[from].costs[s], costs[s * (size + 1)]);
      return;
    }
    auto [known, isNew] = nodes[from].edges.try_emplace(to, edges.size());
    if (isNew) {
      nodes[to].edges[from] = edges.size();
      edges.push_back({from, to, std::move(costs)});
      isQueued.push_back(false);
      enqueue(edges.size() - 1);
      return;
    }
    CoreEdge &edge = edges[known->second];
    if (edge.from != from)
      costs = transpose({from, to, std::move(costs)}, nodes[from].costs.size());
    for (auto [sum, cost] : zip_equal(edge.costs, costs))
      sum = addCosts(sum, cost);
    enqueue(known->second);
  }

  void removeEdge(uint32_t edge) {
    nodes[edges[edge].from].edges.erase(edges[edge].to);
    nodes[edges[edge].to].edges.erase(edges[edge].from);
    edges[edge].costs = {};
  }

  /// Keeps the strategies at the positions `kept`.
  void restrict(uint32_t index, ArrayRef<uint32_t> kept) {
    OpenNode &node = nodes[index];
    size_t before = node.costs.size();
    if (kept.size() == before)
      return;
    if (kept.empty()) {
      failure = makeFailure("every choice has a forbidden cost: no strategy of "
                            "node {0} goes with those of the others",
                            index);
      return;
    }
    for (auto [to, from] : enumerate(kept)) {
      node.costs[to] = node.costs[from];
      node.ids[to] = node.ids[from];
    }
    node.costs.resize(kept.size());
    node.ids.resize(kept.size());
    for (auto [neighbour, number] : node.edges) {
      CoreEdge &edge = edges[number];
      size_t columns = edge.costs.size() / before;
      std::vector<int64_t> costs;
      costs.reserve(kept.size() * columns);
      if (edge.from == index)
        for (uint32_t row : kept)
          costs.insert(costs.end(), edge.costs.begin() + row * columns,
                       edge.costs.begin() + (row + 1) * columns);
      else
        for (size_t row = 0; row != columns; ++row)
          for (uint32_t column : kept)
            costs.push_back(edge.costs[row * before + column]);
      edge.costs = std::move(costs);
      enqueue(number);
    }
  }

  void dropForbidden(uint32_t index) {
    std::vector<uint32_t> kept;
    for (auto [s, cost] : enumerate(nodes[index].costs))
      if (cost < kForbiddenCost)
        kept.push_back(s);
    restrict(index, kept);
  }

  void examine(uint32_t number) {
    const CoreEdge &edge = edges[number];
    uint32_t from = edge.from, to = edge.to;
    size_t rows = nodes[from].costs.size(), columns = nodes[to].costs.size();
    std::vector<uint32_t> ofRow(rows), ofColumn(columns);
    std::vector<uint32_t> partnerOfRow(rows), partnerOfColumn(columns);
    for (size_t row = 0; row != rows; ++row)
      for (size_t column = 0; column != columns; ++column)
        if (edge.costs[row * columns + column] < kForbiddenCost) {
          ++ofRow[row];
          ++ofColumn[column];
          partnerOfRow[row] = column;
          partnerOfColumn[column] = row;
        }
    if (dropLonely(from, ofRow) || dropLonely(to, ofColumn))
      return;
    auto isOne = [](uint32_t count) { return count == 1; };
    bool determinesTo = all_of(ofRow, isOne);
    bool determinesFrom = all_of(ofColumn, isOne);
    // If each determines the other, the one with fewer edges, which all move.
    if (determinesTo && determinesFrom)
      determinesTo = nodes[to].edges.size() <= nodes[from].edges.size();
    if (determinesTo)
      merge(to, from, partnerOfRow, transpose(edge, rows), number);
    else if (determinesFrom)
      merge(from, to, partnerOfColumn, edge.costs, number);
    else if (isSeparable(edge, columns))
      separate(number);
  }

  /// Drops strategies without a partner; their edges are examined again.
  bool dropLonely(uint32_t node, ArrayRef<uint32_t> partners) {
    std::vector<uint32_t> kept;
    for (auto [s, count] : enumerate(partners))
      if (count != 0)
        kept.push_back(s);
    restrict(node, kept);
    return kept.size() != partners.size();
  }

  /// True if the costs are a sum of one for each end.
  static bool isSeparable(const CoreEdge &edge, size_t columns) {
    for (size_t i = 0; i != edge.costs.size(); ++i)
      if (edge.costs[i] >= kForbiddenCost ||
          edge.costs[i] - edge.costs[i % columns] !=
              edge.costs[i - i % columns] - edge.costs.front())
        return false;
    return true;
  }

  void separate(uint32_t number) {
    const CoreEdge &edge = edges[number];
    std::vector<int64_t> &fromCosts = nodes[edge.from].costs;
    std::vector<int64_t> &toCosts = nodes[edge.to].costs;
    for (size_t column = 0; column != toCosts.size(); ++column)
      toCosts[column] += edge.costs[column] - edge.costs.front();
    for (size_t row = 0; row != fromCosts.size(); ++row)
      fromCosts[row] += edge.costs[row * toCosts.size()];
    removeEdge(number);
  }

  /// Ties `child` to `parent`, which leaves it one strategy for each of its
  /// own. `costs` are those of their edge, by strategy of the child first.
  void merge(uint32_t child, uint32_t parent, ArrayRef<uint32_t> partners,
             std::vector<int64_t> costs, uint32_t number) {
    OpenNode &taken = nodes[child];
    OpenNode &node = nodes[parent];
    std::vector<uint32_t> strategies(problem.nodes[parent].costs.size(), 0);
    for (auto [s, partner] : enumerate(partners)) {
      strategies[node.ids[s]] = taken.ids[partner];
      node.costs[s] = addCosts(addCosts(node.costs[s], taken.costs[partner]),
                               costs[partner * partners.size() + s]);
    }
    merges.push_back({child, parent, std::move(strategies)});
    removeEdge(number);
    std::map<uint32_t, uint32_t> moved = taken.edges;
    for (auto [neighbour, moving] : moved) {
      const CoreEdge &edge = edges[moving];
      std::vector<int64_t> rows =
          edge.from == child
              ? edge.costs
              : transpose(edge, edge.costs.size() / taken.costs.size());
      size_t columns = rows.size() / taken.costs.size();
      std::vector<int64_t> picked;
      picked.reserve(partners.size() * columns);
      for (uint32_t partner : partners)
        picked.insert(picked.end(), rows.begin() + partner * columns,
                      rows.begin() + (partner + 1) * columns);
      removeEdge(moving);
      addEdge(parent, neighbour, std::move(picked));
    }
    taken.isTaken = true;
    dropForbidden(parent);
  }

  CoreProblem finish() {
    CoreProblem core;
    core.ties.resize(nodes.size());
    std::vector<uint32_t> numbers(nodes.size());
    for (auto [index, node] : enumerate(nodes)) {
      if (node.isTaken)
        continue;
      numbers[index] = core.costs.size();
      core.ties[index] = {numbers[index], std::move(node.ids)};
      core.costs.push_back(std::move(node.costs));
    }
    for (CoreEdge &edge : edges)
      if (!edge.costs.empty())
        core.edges.push_back(
            {numbers[edge.from], numbers[edge.to], std::move(edge.costs)});
    // A parent was taken after its children.
    for (const Merge &merge : reverse(merges)) {
      const Tie &parent = core.ties[merge.parent];
      Tie &tie = core.ties[merge.child];
      tie.coreNode = parent.coreNode;
      for (uint32_t strategy : parent.strategies)
        tie.strategies.push_back(merge.strategies[strategy]);
    }
    return core;
  }

  const ShardingProblem &problem;
  std::vector<OpenNode> nodes;
  /// Without costs once they are removed.
  std::vector<CoreEdge> edges;
  std::deque<uint32_t> queue;
  std::vector<bool> isQueued;
  std::vector<Merge> merges;
  Failure failure;
};
} // namespace

Result<CoreProblem>
regather::sharding::tieStrategies(const ShardingProblem &problem) {
  return Tying(problem).run();
}

std::vector<uint32_t>
regather::sharding::expandChoice(const CoreProblem &core,
                                 ArrayRef<uint32_t> choice) {
  std::vector<uint32_t> strategies;
  strategies.reserve(core.ties.size());
  for (const Tie &tie : core.ties)
    strategies.push_back(tie.strategies[choice[tie.coreNode]]);
  return strategies;
}
