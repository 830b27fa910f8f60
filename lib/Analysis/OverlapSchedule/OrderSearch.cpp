//===- OrderSearch.cpp - Local search for an order ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OrderSearch.h"

#include "Score.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <random>

using namespace llvm;
using namespace regather;
using namespace regather::overlap;

namespace {
/// Local search by threshold accepting around the waits that block the device.
/// A move takes an operation to another place together with those that depend
/// on it, or that it depends on, in between, so that every order is valid.
class LocalSearch {
public:
  LocalSearch(const Graph &graph, Order order, const Limits &limits,
              double bound, uint64_t effort);
  Order run();

private:
  /// Operations move over at most so many others.
  static constexpr uint32_t kReach = 96;

  /// The generators of standard libraries agree; their distributions do not.
  uint32_t draw(uint32_t limit) { return random() % limit; }
  void findExposed();
  void hoist(uint32_t from, uint32_t to);
  void sink(uint32_t from, uint32_t to);
  void propose();
  bool takes(double seconds, double temperature);

  const Graph &graph;
  IncrementalScore score;
  double bound;
  uint64_t effort;
  std::mt19937 random;
  std::vector<uint32_t> exposed;
  Order best;
  double bestSeconds;
  /// The move: the operations from `begin` on, in a new order.
  uint32_t begin = 0;
  Order window;
  std::vector<bool> marked;
};
} // namespace

LocalSearch::LocalSearch(const Graph &graph, Order order, const Limits &limits,
                         double bound, uint64_t effort)
    : graph(graph), score(graph, order, limits), bound(bound), effort(effort),
      best(std::move(order)), bestSeconds(score.getSeconds()),
      marked(graph.size()) {}

void LocalSearch::findExposed() {
  exposed.clear();
  for (uint32_t op : score.getOrder())
    if (score.getExposedSeconds(op) > 0)
      exposed.push_back(op);
}

/// Moves what is at `from` up to `to`, with all in between that it needs.
void LocalSearch::hoist(uint32_t from, uint32_t to) {
  ArrayRef<uint32_t> ops = score.getOrder().slice(to, from - to + 1);
  marked[ops.back()] = true;
  for (uint32_t op : llvm::reverse(ops))
    if (marked[op])
      for (uint32_t predecessor : graph.predecessors[op])
        marked[predecessor] = true;
  begin = to;
  window.clear();
  llvm::copy_if(ops, std::back_inserter(window),
                [&](uint32_t op) { return marked[op]; });
  llvm::copy_if(ops, std::back_inserter(window),
                [&](uint32_t op) { return !marked[op]; });
  for (uint32_t op : ops) {
    for (uint32_t predecessor : graph.predecessors[op])
      marked[predecessor] = false;
    marked[op] = false;
  }
}

/// Moves what is at `from` down to `to`, with all in between that needs it.
void LocalSearch::sink(uint32_t from, uint32_t to) {
  ArrayRef<uint32_t> ops = score.getOrder().slice(from, to - from + 1);
  marked[ops.front()] = true;
  for (uint32_t op : ops)
    if (any_of(graph.predecessors[op],
               [&](uint32_t predecessor) { return marked[predecessor]; }))
      marked[op] = true;
  begin = from;
  window.clear();
  llvm::copy_if(ops, std::back_inserter(window),
                [&](uint32_t op) { return !marked[op]; });
  llvm::copy_if(ops, std::back_inserter(window),
                [&](uint32_t op) { return marked[op]; });
  for (uint32_t op : ops)
    marked[op] = false;
}

/// Draws a move that may shorten an exposed wait.
void LocalSearch::propose() {
  uint32_t size = score.getOrder().size();
  uint32_t wait = exposed[draw(exposed.size())];
  uint32_t waitPlace = score.getPlace(wait);
  uint32_t startPlace = score.getPlace(graph.partner[wait]);
  auto before = [&](uint32_t place) {
    return place - 1 - draw(std::min(place, kReach));
  };
  auto behind = [&](uint32_t place) {
    return place + 1 + draw(std::min(size - 1 - place, kReach));
  };
  switch (draw(4)) {
  case 0: // Start it earlier.
    if (startPlace != 0)
      return hoist(startPlace, before(startPlace));
    break;
  case 1: // Compute something else while it is under way.
    if (waitPlace + 1 != size)
      return hoist(behind(waitPlace), waitPlace);
    break;
  case 2: // Let something else be computed later.
    if (startPlace != 0)
      return sink(before(startPlace), startPlace);
    break;
  default:
    break;
  }
  // Anything near the start or the wait.
  uint32_t around = draw(2) == 0 ? startPlace : waitPlace;
  uint32_t first = around - draw(std::min(around, kReach) + 1);
  uint32_t last = around + draw(std::min(size - 1 - around, kReach) + 1);
  if (draw(2) == 0)
    hoist(last, first);
  else
    sink(first, last);
}

/// At first, orders that are slightly longer are taken, too. Annealing would
/// need exponentials, which are not the same on all machines.
bool LocalSearch::takes(double seconds, double temperature) {
  double worse = seconds - score.getSeconds();
  return worse <= 0 || worse < temperature * std::ldexp(random(), -32);
}

Order LocalSearch::run() {
  findExposed();
  double startTemperature = 0.1 * (bestSeconds - bound);
  while (score.getWork() < effort && bestSeconds > bound && !exposed.empty()) {
    propose();
    // Moves that come to nothing count as work, too.
    double spent = static_cast<double>(score.getWork()) / effort;
    std::optional<double> seconds = score.evaluate(begin, window);
    if (!seconds || !takes(*seconds, startTemperature * (1 - spent)))
      continue;
    score.accept(begin, window);
    findExposed();
    if (score.getSeconds() < bestSeconds) {
      bestSeconds = score.getSeconds();
      best.assign(score.getOrder().begin(), score.getOrder().end());
    }
  }
  return std::move(best);
}

Order overlap::improveSchedule(const Graph &graph, Order order,
                               const Limits &limits, double bound,
                               uint64_t effort) {
  return LocalSearch(graph, std::move(order), limits, bound, effort).run();
}
