//===- Search.h - Choices that cost little ----------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Simulated annealing over choices of the core, in which bytes above the limit
// cost so much a byte and time. Moves change single nodes, or trees: nodes that
// grow from a random one, joined by one edge each, whose best strategies, given
// all other nodes and prices of memory, are found exactly from the leaves to
// the root. Random parts in their costs, as large as the temperature, make
// trees differ from one time to the next.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_SHARDING_SEARCH_H
#define REGATHER_LIB_ANALYSIS_SHARDING_SEARCH_H

#include "../Effort.h"
#include "MemoryRuns.h"

#include <random>

namespace regather::sharding {

class Search {
public:
  Search(const CoreProblem &core, const MemoryRuns &memory, uint64_t seed);

  struct Cooling {
    /// In units of cost.
    double hottest = 0;
    double coldest = 0;
    /// Of single nodes; and of trees.
    uint64_t numProposals = 0;
    uint64_t numTrees = 0;
    /// The most nodes of a tree.
    uint32_t largestTree = 0;
    /// What a byte above the limit costs at a time, in the end; and which part
    /// of that it costs at first, so that ways through choices that do not fit
    /// are open.
    double penalty = 0;
    double firstPenalty = 1;
  };

  /// Starts at `choice` and cools down; stops early when `effort` is spent.
  /// `prices` are by time.
  void anneal(llvm::ArrayRef<uint32_t> choice, llvm::ArrayRef<double> prices,
              const Cooling &cooling, planner::Effort &effort);

  /// Notes a choice that was found elsewhere; its cost, with that of the bytes
  /// above the limit.
  double offer(llvm::ArrayRef<uint32_t> choice, double penalty);

  /// The cheapest choice without forbidden costs that fits, of all that were
  /// seen; empty if there was none.
  llvm::ArrayRef<uint32_t> getBest() const { return best; }
  int64_t getBestCost() const { return bestCost; }
  /// True if the last search ended with a choice that fits.
  bool fits() const { return excess == 0; }
  /// Where the last search ended.
  llvm::ArrayRef<uint32_t> getChoice() const { return choice; }

private:
  /// One end of an edge; costs by strategy of the other end, then of this.
  struct Arc {
    uint32_t other;
    const int64_t *costs;
    uint32_t stepOfThis;
    uint32_t stepOfOther;
  };

  /// A node of a tree.
  struct TreeNode {
    uint32_t node;
    /// In the tree, before this; and the edge to it.
    uint32_t parent;
    const Arc *arc;
    /// By strategy, with the best of what hangs on it.
    std::vector<double> costs;
    /// The best strategy, by that of the parent.
    std::vector<uint32_t> bestOf;
  };

  uint64_t proposeNode(double temperature, double penalty);
  uint64_t proposeTree(double temperature, const Cooling &cooling);
  void growTree(uint32_t root, uint32_t size);
  uint64_t solveTree(double temperature, double priceScale);
  void priceStrategies(llvm::ArrayRef<double> prices);

  void setChoice(llvm::ArrayRef<uint32_t> start);
  int64_t getExcessOfMove(uint32_t node, uint32_t strategy) const;
  void move(uint32_t node, uint32_t strategy);
  void record();
  double drawUnit();
  uint32_t drawBelow(uint32_t end);

  const CoreProblem &core;
  const MemoryRuns &memory;
  std::mt19937_64 random;
  std::vector<std::vector<Arc>> arcs;
  /// Nodes with more than one strategy.
  std::vector<uint32_t> open;
  /// By node, the times that its runs cover.
  std::vector<uint32_t> numTimes;
  std::vector<uint32_t> choice;
  /// By node and strategy: what it would cost, with the edges to the others.
  std::vector<std::vector<int64_t>> costs;
  /// By time: what is left; negative where too much is taken.
  std::vector<int64_t> left;
  /// By node and strategy: what its bytes cost at the prices.
  std::vector<std::vector<double>> priced;
  int64_t cost = 0;
  int64_t excess = 0;
  std::vector<TreeNode> tree;
  uint32_t treeSize = 0;
  /// By node: the number of the last tree that took or refused it, and the
  /// place in that tree, if it took it.
  std::vector<uint64_t> seenBy;
  std::vector<uint32_t> placeInTree;
  uint64_t treeNumber = 0;
  std::vector<uint32_t> best;
  int64_t bestCost = kForbiddenCost;
};

} // namespace regather::sharding

#endif // REGATHER_LIB_ANALYSIS_SHARDING_SEARCH_H
