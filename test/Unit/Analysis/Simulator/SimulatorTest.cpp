//===- SimulatorTest.cpp - Timelines computed by hand ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../OneRankClass.h"
#include "../TimedGraphBuilder.h"

#include "regather/Analysis/Simulator/Simulator.h"

#include "gtest/gtest.h"

using namespace regather;
using Seconds = std::vector<double>;

static SimulationResult simulateStep(const TimedGraph &graph,
                                     const SimulationOptions &options = {}) {
  return simulate(graph, graph.getStepOrder(),
                  makeOneRankClass(graph.streams.size()), options);
}

static std::vector<uint32_t> getPath(const SimulationResult &result) {
  std::vector<uint32_t> path;
  for (const TimelineEntry &entry : result.criticalPath)
    path.push_back(entry.op);
  return path;
}

TEST(SimulatorTest, Nothing) {
  ProgramBuilder builder;
  SimulationResult result = simulateStep(builder.graph);
  EXPECT_EQ(result.seconds, 0);
  EXPECT_TRUE(result.criticalPath.empty());
}

TEST(SimulatorTest, WaitsExposeWhatIsNotHidden) {
  ProgramBuilder builder;
  uint32_t hidden = builder.collective(2);
  uint32_t a = builder.compute(3);
  builder.wait(hidden);
  uint32_t exposed = builder.collective(4, {a});
  uint32_t b = builder.compute(1);
  uint32_t wait = builder.wait(exposed);
  uint32_t c = builder.compute(5, {wait, b});
  SimulationResult result = simulateStep(builder.graph);
  const RankTimeline &times = result.ranks[0];
  EXPECT_EQ(times.issued, (Seconds{0, 0, 3, 3, 3, 4, 7}));
  EXPECT_EQ(times.begin, (Seconds{0, 0, 3, 3, 3, 4, 7}));
  EXPECT_EQ(times.end, (Seconds{2, 3, 3, 7, 4, 7, 12}));
  EXPECT_EQ(result.seconds, 12);
  EXPECT_EQ(times.computeSeconds, 9);
  EXPECT_EQ(times.exposedSeconds, 3);
  EXPECT_EQ(times.streamSeconds, (Seconds{6}));
  EXPECT_EQ(times.communicationSeconds, 6);
  EXPECT_EQ(getPath(result), (std::vector<uint32_t>{a, exposed, c}));
}

TEST(SimulatorTest, OneAtATimeOnAStream) {
  ProgramBuilder builder;
  uint32_t first = builder.collective(3);
  uint32_t second = builder.collective(2);
  builder.wait(second);
  builder.wait(first);
  SimulationResult result = simulateStep(builder.graph);
  EXPECT_EQ(result.ranks[0].issued, (Seconds{0, 0, 0, 5}));
  EXPECT_EQ(result.ranks[0].begin, (Seconds{0, 3, 0, 5}));
  EXPECT_EQ(result.ranks[0].end, (Seconds{3, 5, 5, 5}));
  EXPECT_EQ(result.ranks[0].exposedSeconds, 5);
  EXPECT_EQ(getPath(result), (std::vector<uint32_t>{first, second}));
}

TEST(SimulatorTest, CollectivesBeginWhenTheyAreIssued) {
  // The data is there from the beginning, but the operation is issued later.
  ProgramBuilder builder;
  uint32_t a = builder.compute(4);
  uint32_t gather = builder.collective(3);
  SimulationResult result = simulateStep(builder.graph);
  EXPECT_EQ(result.ranks[0].begin[gather], 4);
  // Nothing waits for it, but the step ends when it is done.
  EXPECT_EQ(result.seconds, 7);
  EXPECT_EQ(result.ranks[0].exposedSeconds, 3);
  EXPECT_EQ(getPath(result), (std::vector<uint32_t>{a, gather}));
}

TEST(SimulatorTest, Contention) {
  // Computation takes twice as long while a collective is in flight, and that
  // half as long again while there is computation.
  ProgramBuilder builder(1, {"link", 2, 1.5});
  uint32_t gather = builder.collective(4);
  uint32_t a = builder.compute(2);
  uint32_t wait = builder.wait(gather);
  uint32_t b = builder.compute(3);
  uint32_t scatter = builder.collective(2);
  uint32_t c = builder.compute(5);
  SimulationResult result = simulateStep(builder.graph);
  const RankTimeline &times = result.ranks[0];
  // a takes 4 seconds, in which 4 / 1.5 of the gather are done.
  EXPECT_DOUBLE_EQ(times.end[a], 4);
  double gathered = 4 + (4 - 4 / 1.5);
  EXPECT_DOUBLE_EQ(times.end[gather], gathered);
  EXPECT_DOUBLE_EQ(times.end[wait] - times.begin[wait], 4 - 4 / 1.5);
  EXPECT_DOUBLE_EQ(times.end[b], gathered + 3);
  // The scatter takes 3 seconds, in which 1.5 of c are done.
  EXPECT_DOUBLE_EQ(times.end[scatter], gathered + 6);
  EXPECT_DOUBLE_EQ(times.end[c], gathered + 6 + 3.5);
  EXPECT_DOUBLE_EQ(times.computeSeconds, 4 + 3 + 6.5);
}

TEST(SimulatorTest, StreamsShareALink) {
  ProgramBuilder builder(/*numStreams=*/2);
  uint32_t first = builder.collective(2, {}, 0);
  uint32_t second = builder.collective(3, {}, 1);
  builder.wait(first);
  builder.wait(second);
  SimulationResult result = simulateStep(builder.graph);
  EXPECT_EQ(result.ranks[0].end[first], 4);
  EXPECT_EQ(result.ranks[0].end[second], 5);
  EXPECT_EQ(result.ranks[0].linkSeconds, (Seconds{5}));
  EXPECT_EQ(result.ranks[0].streamSeconds, (Seconds{4, 5}));

  SimulationOptions options;
  options.sharesLinks = false;
  result = simulateStep(builder.graph, options);
  EXPECT_EQ(result.ranks[0].end[first], 2);
  EXPECT_EQ(result.ranks[0].end[second], 3);

  // Each has a link of its own.
  builder.graph.links.push_back({"network"});
  builder.graph.streams[1].link = 1;
  result = simulateStep(builder.graph);
  EXPECT_EQ(result.seconds, 3);
}

TEST(SimulatorTest, ConflictsWaitForEachOther) {
  ProgramBuilder builder(/*numStreams=*/3);
  builder.conflict(0, 1);
  builder.graph.links.push_back({"network"});
  builder.graph.streams[2].link = 1;
  uint32_t first = builder.collective(2, {}, 0);
  uint32_t free = builder.collective(9, {}, 2);
  uint32_t second = builder.collective(3, {}, 1);
  uint32_t third = builder.collective(4, {}, 0);
  SimulationResult result = simulateStep(builder.graph);
  EXPECT_EQ(result.ranks[0].end[first], 2);
  EXPECT_EQ(result.ranks[0].end[second], 5);
  EXPECT_EQ(result.ranks[0].end[third], 9);
  EXPECT_EQ(result.ranks[0].begin[free], 0);

  SimulationOptions options;
  options.serializesConflicts = false;
  options.sharesLinks = false;
  result = simulateStep(builder.graph, options);
  EXPECT_EQ(result.ranks[0].begin[second], 0);
  EXPECT_EQ(result.ranks[0].begin[third], 2);
}

TEST(SimulatorTest, RanksWaitForEachOther) {
  // Groups of six ranks on nodes of eight: some are slow, and the others meet
  // them later, along the other axis.
  ProgramBuilder builder(/*numStreams=*/2);
  builder.graph.links.push_back({"network"});
  builder.graph.streams[1].link = 1;
  uint32_t tp = builder.collective(0, {}, 0);
  uint32_t wait = builder.wait(tp);
  uint32_t a = builder.compute(1, {wait});
  uint32_t dp = builder.collective(2, {a}, 1);
  builder.wait(dp);
  auto place = [](uint32_t stream, llvm::ArrayRef<int64_t> group) {
    return stream == 0 && group.front() / 8 != group.back() / 8 ? 1u : 0u;
  };
  RankClasses classes = findRankClasses({3, 6}, {{1}, {0}}, place);
  ASSERT_EQ(classes.ranks.size(), 2u);
  SimulationOptions options;
  options.groupSeconds = [&](uint32_t op, uint32_t placement) {
    return op == tp ? (placement == 0 ? 1.0 : 5.0) : 2.0;
  };
  SimulationResult result =
      simulate(builder.graph, builder.graph.getStepOrder(), classes, options);
  EXPECT_EQ(result.ranks[0].end[tp], 1);
  EXPECT_EQ(result.ranks[1].end[tp], 5);
  EXPECT_EQ(result.ranks[0].issued[dp], 2);
  EXPECT_EQ(result.ranks[0].begin[dp], 6);
  EXPECT_EQ(result.ranks[1].begin[dp], 6);
  EXPECT_EQ(result.ranks[0].exposedSeconds, 1 + 6);
  EXPECT_EQ(result.ranks[1].exposedSeconds, 5 + 2);
  ASSERT_EQ(result.criticalPath.size(), 3u);
  EXPECT_EQ(result.criticalPath[0].rankClass, 1u);
  EXPECT_EQ(getPath(result), (std::vector<uint32_t>{tp, a, dp}));
}
