//===- Relaxation.h - What no choice can undercut ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bytes that live at each time have a price, and the limit is paid back:
// the least cost at any prices bounds that of all choices within the limit.
// What is left are costs of nodes and of edges, whose least sum is bounded by
// sending parts of the costs along the edges:
//
//   repeat:
//     for each node in order, then in reverse order:
//       for each edge to a node before it: move the least cost of each of its
//         strategies from the edge to the node
//       add the least cost of the node to the bound, take it off its strategies
//       share what they have left among the edges to nodes behind it
//     raise the prices of times at which the cheapest choice takes too much,
//       lower those of times at which it leaves room
//
// Every round ends with a valid bound: all that remains in nodes and edges is
// at least zero.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_ANALYSIS_SHARDING_RELAXATION_H
#define REGATHER_LIB_ANALYSIS_SHARDING_RELAXATION_H

#include "MemoryRuns.h"

namespace regather::sharding {

class Relaxation {
public:
  Relaxation(const CoreProblem &core, const MemoryRuns &memory);

  /// One round, with steps in the prices that would reach the cost `target` if
  /// they went straight there.
  void improve(double target);

  /// The best of all rounds, recomputed from costs, messages and prices, less
  /// what rounding may have added.
  double certify() const;

  double getBest() const { return best; }
  /// The cheapest strategies of the last round, each given those before it, by
  /// core node.
  llvm::ArrayRef<uint32_t> getChoice() const { return choice; }
  /// By time, the price of a byte in the best round.
  llvm::ArrayRef<double> getPrices() const { return bestState.prices; }
  /// The steps of the inner loops of one round.
  uint64_t getWorkPerRound() const { return workPerRound; }

private:
  /// What the bound follows from.
  struct State {
    std::vector<double> prices;
    /// By edge, what moved to each of its ends.
    std::vector<double> messages;
  };

  /// One end of an edge, as the node there sees it.
  struct Arc {
    uint32_t other;
    /// In `messages`: what moved from the edge to here, and to the other end.
    uint32_t in;
    uint32_t out;
    /// In `tables`: costs by strategy of the other end, then of this.
    size_t table;
  };

  void addEdge(const CoreEdge &edge);
  void priceNodes();
  template <bool isForward> void pass();
  void movePrices(double target);

  uint32_t getSize(uint32_t node) const {
    return firstStrategy[node + 1] - firstStrategy[node];
  }

  const CoreProblem &core;
  const MemoryRuns &memory;
  /// By node, where its strategies lie in what is by node and strategy.
  std::vector<uint32_t> firstStrategy;
  /// By node: arcs to nodes before it, then to those behind it.
  std::vector<std::vector<Arc>> before, behind;
  std::vector<double> tables;
  /// By node and strategy, with the prices.
  std::vector<double> costs;
  std::vector<double> sums, shown;
  State state, bestState;
  std::vector<uint32_t> choice;
  /// By time: how much more than the room choices take, on average over the
  /// last rounds.
  std::vector<double> excess;
  double bound = 0;
  double best;
  double stepScale = 0.1;
  uint32_t roundsSinceBest = 0;
  uint32_t roundsAveraged = 0;
  uint64_t workPerRound = 0;
};

} // namespace regather::sharding

#endif // REGATHER_LIB_ANALYSIS_SHARDING_RELAXATION_H
