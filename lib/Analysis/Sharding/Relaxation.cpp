//===- Relaxation.cpp - What no choice can undercut -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Relaxation.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

using namespace llvm;
using namespace regather;
using namespace regather::sharding;

Relaxation::Relaxation(const CoreProblem &core, const MemoryRuns &memory)
    : core(core), memory(memory), before(core.costs.size()),
      behind(core.costs.size()), choice(core.costs.size(), 0),
      excess(memory.room.size(), 0),
      best(-std::numeric_limits<double>::infinity()) {
  firstStrategy.push_back(0);
  size_t mostStrategies = 0;
  for (const std::vector<int64_t> &nodeCosts : core.costs) {
    firstStrategy.push_back(firstStrategy.back() + nodeCosts.size());
    mostStrategies = std::max(mostStrategies, nodeCosts.size());
  }
  costs.resize(firstStrategy.back());
  sums.resize(mostStrategies);
  shown.resize(mostStrategies);
  for (const CoreEdge &edge : core.edges)
    addEdge(edge);
  state.prices.assign(memory.room.size(), 0);
  bestState = state;
  workPerRound = 1 + tables.size() + 2 * costs.size() + 4 * memory.room.size();
  for (const std::vector<MemoryRun> &runs : memory.runs)
    for (const MemoryRun &run : runs)
      workPerRound += run.bytes.size() + 2;
}

/// Tables lie in both orders, so that the inner loop runs over the strategies
/// that a message is for.
void Relaxation::addEdge(const CoreEdge &edge) {
  uint32_t first = std::min(edge.from, edge.to);
  uint32_t second = std::max(edge.from, edge.to);
  uint32_t rows = getSize(first), columns = getSize(second);
  size_t table = tables.size();
  tables.resize(table + 2 * size_t(rows) * columns);
  for (uint32_t row = 0; row != rows; ++row)
    for (uint32_t column = 0; column != columns; ++column) {
      double cost = edge.from == first ? edge.costs[row * columns + column]
                                       : edge.costs[column * rows + row];
      tables[table + row * columns + column] = cost;
      tables[table + size_t(rows) * columns + column * rows + row] = cost;
    }
  uint32_t toFirst = state.messages.size();
  uint32_t toSecond = toFirst + rows;
  state.messages.resize(toSecond + columns, 0);
  before[second].push_back({first, toSecond, toFirst, table});
  behind[first].push_back(
      {second, toFirst, toSecond, table + size_t(rows) * columns});
}

void Relaxation::priceNodes() {
  std::vector<double> sumOfPrices(state.prices.size() + 1, 0);
  for (auto [time, price] : enumerate(state.prices))
    sumOfPrices[time + 1] = sumOfPrices[time] + price;
  for (uint32_t node = 0; node != core.costs.size(); ++node) {
    double *priced = &costs[firstStrategy[node]];
    llvm::copy(core.costs[node], priced);
    for (const MemoryRun &run : memory.runs[node]) {
      double price = sumOfPrices[run.end] - sumOfPrices[run.begin];
      if (price != 0)
        for (auto [s, bytes] : enumerate(run.bytes))
          priced[s] += price * bytes;
    }
  }
}

template <bool isForward> void Relaxation::pass() {
  uint32_t numNodes = core.costs.size();
  double *messages = state.messages.data();
  bound = 0;
  for (auto [price, room] : zip_equal(state.prices, memory.room))
    bound -= price * room;
  for (uint32_t i = 0; i != numNodes; ++i) {
    uint32_t node = isForward ? i : numNodes - 1 - i;
    ArrayRef<Arc> sources = isForward ? before[node] : behind[node];
    ArrayRef<Arc> targets = isForward ? behind[node] : before[node];
    uint32_t size = getSize(node);
    const double *own = &costs[firstStrategy[node]];
    for (uint32_t s = 0; s != size; ++s) {
      sums[s] = own[s];
      shown[s] = own[s];
    }
    for (const Arc &arc : sources) {
      double *in = messages + arc.in;
      const double *out = messages + arc.out;
      std::fill(in, in + size, std::numeric_limits<double>::infinity());
      const double *row = &tables[arc.table];
      for (uint32_t other = 0, e = getSize(arc.other); other != e;
           ++other, row += size) {
        double moved = out[other];
        for (uint32_t s = 0; s != size; ++s) {
          double cost = row[s] - moved;
          in[s] = cost < in[s] ? cost : in[s];
        }
      }
      const double *chosen = &tables[arc.table + choice[arc.other] * size];
      for (uint32_t s = 0; s != size; ++s) {
        sums[s] += in[s];
        shown[s] += chosen[s];
      }
    }
    for (const Arc &arc : targets)
      for (uint32_t s = 0; s != size; ++s) {
        sums[s] += messages[arc.in + s];
        shown[s] += messages[arc.in + s];
      }
    choice[node] =
        std::min_element(shown.begin(), shown.begin() + size) - shown.begin();
    double least = *std::min_element(sums.begin(), sums.begin() + size);
    bound += least;
    double share =
        1.0 / std::max<size_t>({sources.size(), targets.size(), size_t(1)});
    for (const Arc &arc : targets)
      for (uint32_t s = 0; s != size; ++s)
        messages[arc.in + s] -= share * (sums[s] - least);
  }
}

void Relaxation::movePrices(double target) {
  if (memory.room.empty())
    return;
  // The bytes of the choice as differences from one time to the next.
  std::vector<double> changes(memory.room.size() + 1, 0);
  for (uint32_t node = 0; node != core.costs.size(); ++node)
    for (const MemoryRun &run : memory.runs[node]) {
      changes[run.begin] += run.bytes[choice[node]];
      changes[run.end] -= run.bytes[choice[node]];
    }
  double live = 0, norm = 0;
  // How much of the latest round enters the average.
  constexpr uint32_t kRoundsToAverage = 10;
  double weight = 1.0 / std::min(++roundsAveraged, kRoundsToAverage);
  for (uint32_t time = 0; time != memory.room.size(); ++time) {
    live += changes[time];
    excess[time] += weight * (live - memory.room[time] - excess[time]);
    if (excess[time] > 0 || state.prices[time] > 0)
      norm += excess[time] * excess[time];
  }
  if (norm == 0)
    return;
  double step = stepScale * std::max(target - bound, 0.0) / norm;
  for (uint32_t time = 0; time != memory.room.size(); ++time)
    state.prices[time] =
        std::max(0.0, state.prices[time] + step * excess[time]);
}

void Relaxation::improve(double target) {
  priceNodes();
  pass<true>();
  pass<false>();
  ++roundsSinceBest;
  if (bound > best) {
    // Tiny steps are progress too, but no reason to go on like that.
    if (!(bound - best < 1e-7 * std::abs(best))) {
      roundsSinceBest = 0;
      stepScale = std::min(1.0, stepScale * 1.05);
    }
    best = bound;
    bestState = state;
  }
  // Steps shrink where they do not help, and grow again from the best prices
  // once they are too short to lead anywhere.
  constexpr uint32_t kPatience = 30;
  constexpr double kShortestStep = 1e-4;
  if (roundsSinceBest > kPatience) {
    roundsSinceBest = 0;
    roundsAveraged = 0;
    stepScale = stepScale < kShortestStep ? 0.3 : stepScale * 0.7;
    state = bestState;
  }
  movePrices(target);
}

double Relaxation::certify() const {
  Relaxation copy(*this);
  copy.state = bestState;
  copy.priceNodes();
  double sum = 0, magnitude = 0;
  auto add = [&](double term) {
    sum += term;
    magnitude += std::abs(term);
  };
  for (uint32_t node = 0; node != core.costs.size(); ++node) {
    uint32_t size = getSize(node);
    std::vector<double> own(copy.costs.begin() + firstStrategy[node],
                            copy.costs.begin() + firstStrategy[node + 1]);
    for (ArrayRef<Arc> arcs : {ArrayRef(before[node]), ArrayRef(behind[node])})
      for (const Arc &arc : arcs)
        for (uint32_t s = 0; s != size; ++s)
          own[s] += bestState.messages[arc.in + s];
    add(*min_element(own));
    for (const Arc &arc : before[node]) {
      double least = std::numeric_limits<double>::infinity();
      const double *row = &tables[arc.table];
      for (uint32_t other = 0; other != getSize(arc.other); ++other)
        for (uint32_t s = 0; s != size; ++s)
          least = std::min(least, *row++ - bestState.messages[arc.out + other] -
                                      bestState.messages[arc.in + s]);
      add(least);
    }
  }
  for (auto [price, room] : zip_equal(bestState.prices, memory.room))
    add(-price * room);
  return sum - 1e-12 * magnitude;
}
