//===- ScoreTest.cpp - What a change of an order takes --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OverlapSchedule/Score.h"
#include "../OneRankClass.h"
#include "OverlapGraphs.h"

#include "regather/Analysis/Simulator/Simulator.h"

#include "gtest/gtest.h"

using namespace llvm;
using namespace regather;
using namespace regather::overlap;

namespace {
/// A part of an order, shuffled so that predecessors stay in front.
struct Change {
  uint32_t begin = 0;
  Order window;
};
} // namespace

static Change drawChange(const TimedGraph &timed, ArrayRef<uint32_t> order,
                         std::mt19937 &random) {
  Change change;
  change.begin = random() % order.size();
  size_t length =
      std::min<size_t>(1 + random() % 24, order.size() - change.begin);
  Order left(order.slice(change.begin, length));
  while (!left.empty()) {
    Order ready;
    for (uint32_t op : left)
      if (none_of(timed.predecessors[op], [&](uint32_t predecessor) {
            return is_contained(left, predecessor);
          }))
        ready.push_back(op);
    change.window.push_back(ready[random() % ready.size()]);
    left.erase(llvm::find(left, change.window.back()));
  }
  return change;
}

/// Evaluates random changes, accepts some of them, and runs the simulator for
/// each. Nothing is rounded: times are equal.
static void compareWithSimulator(TimedGraph timed, int64_t more,
                                 std::mt19937 &random) {
  Graph graph(timed, /*allowsConflicts=*/false);
  Order order = timed.getStepOrder();
  Limits limits{computeMemoryCurve(timed, order).peakBytes + more, 0};
  IncrementalScore score(graph, order, limits);
  RankClasses ranks = makeOneRankClass(timed.streams.size());
  unsigned numFitting = 0;
  for (int i = 0; i != 200; ++i) {
    Change change = drawChange(timed, order, random);
    Order changed = order;
    llvm::copy(change.window, changed.begin() + change.begin);
    std::optional<double> seconds = score.evaluate(change.begin, change.window);
    EXPECT_EQ(seconds.has_value(),
              computeMemoryCurve(timed, changed).peakBytes <= limits.bytes);
    if (!seconds)
      continue;
    ++numFitting;
    EXPECT_EQ(*seconds, simulate(timed, changed, ranks).seconds);
    if (i % 3 != 0)
      continue;
    score.accept(change.begin, change.window);
    order = changed;
    EXPECT_EQ(score.getSeconds(), *seconds);
  }
  EXPECT_GT(numFitting, 0U);
}

TEST(OverlapScheduleScoreTest, equalsTheSimulator) {
  std::mt19937 random(5);
  for (int i = 0; i != 20; ++i)
    compareWithSimulator(makeRandomProgram(150, random), i % 12, random);
}

TEST(OverlapScheduleScoreTest, equalsTheSimulatorWithContention) {
  std::mt19937 random(6);
  for (int i = 0; i != 8; ++i) {
    TimedGraph timed = makeRandomProgram(80, random);
    for (TimedStream &stream : timed.streams)
      stream.link = 0;
    timed.links[0].computeSlowdown = 1.25;
    compareWithSimulator(timed, i, random);
  }
}
