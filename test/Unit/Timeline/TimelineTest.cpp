//===- TimelineTest.cpp - Timelines as files ------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Timeline/WriteTimeline.h"

#include "../Analysis/OneRankClass.h"

#include "llvm/Support/JSON.h"
#include "gtest/gtest.h"

using namespace regather;

namespace {
/// A step of layers: one gather, and computation in `numParts` parts.
struct Layers {
  TimedGraph graph;
  std::vector<TimelineOp> ops;

  explicit Layers(unsigned numParts, std::string name = "op") {
    graph.links.resize(1);
    graph.streams.resize(1);
    add({TimedOpKind::Collective, 0, 0, 1}, name, BoxKind::AllGather);
    add({TimedOpKind::Wait, 0, 0, 0}, name, BoxKind::Forward);
    for (unsigned i = 0; i != numParts; ++i)
      add({TimedOpKind::Compute, 0, 0, 1.0 / numParts}, name,
          i < numParts / 2 ? BoxKind::Forward : BoxKind::Backward);
  }

  Timeline simulateStep() const {
    std::vector<uint32_t> order = graph.getStepOrder();
    SimulationResult result = simulate(graph, order, makeOneRankClass(1));
    return makeTimeline(graph, order, result, 0, ops, {"dp"});
  }
  std::string draw() const {
    std::string text;
    llvm::raw_string_ostream os(text);
    writeTimelineFigure(os, simulateStep(), ops);
    return text;
  }

private:
  void add(TimedOp op, const std::string &name, BoxKind kind) {
    graph.ops.push_back(op);
    graph.predecessors.push({});
    TimelineOp shown;
    shown.name = name;
    shown.kind = kind;
    ops.push_back(shown);
  }
};
} // namespace

TEST(TimelineTest, LanesAndPhases) {
  Timeline timeline = Layers(4).simulateStep();
  EXPECT_EQ(timeline.seconds, 2);
  ASSERT_EQ(timeline.lanes.size(), 2u);
  // The wait, and what is computed.
  ASSERT_EQ(timeline.lanes[0].boxes.size(), 5u);
  EXPECT_EQ(timeline.lanes[0].boxes[0].kind, BoxKind::Exposed);
  EXPECT_FALSE(timeline.lanes[0].boxes[0].isCritical);
  EXPECT_TRUE(timeline.lanes[0].boxes[1].isCritical);
  EXPECT_EQ(timeline.lanes[1].name, "dp");
  EXPECT_TRUE(timeline.lanes[1].boxes[0].isCritical);
  ASSERT_EQ(timeline.phases.size(), 2u);
  EXPECT_EQ(timeline.phases[0].name, "forward");
  EXPECT_EQ(timeline.phases[0].begin, 0);
  EXPECT_EQ(timeline.phases[1].begin, 1.5);
  EXPECT_EQ(timeline.phases[1].end, 2);
}

TEST(TimelineTest, PicturesDoNotGrowWithTheStep) {
  EXPECT_LT(Layers(300000).draw().size(), 600000u);
  EXPECT_LT(Layers(300000).draw().size(), 2 * Layers(30000).draw().size());
}

TEST(TimelineTest, NamesEndNoScript) {
  std::string text = Layers(2, "</script><b>").draw();
  EXPECT_EQ(text.find("</script><b>"), std::string::npos);
  EXPECT_NE(text.find("\\u003c/script>"), std::string::npos);
}

TEST(TimelineTest, TraceIsJson) {
  Layers layers(2, "a \"name\"\n");
  std::string text;
  llvm::raw_string_ostream os(text);
  writeTrace(os, {layers.simulateStep()}, layers.graph, layers.ops);
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(text);
  ASSERT_TRUE(bool(json)) << llvm::toString(json.takeError());
  EXPECT_GE(json->getAsObject()->getArray("traceEvents")->size(), 8u);
}

TEST(TimelineTest, Numbers) {
  EXPECT_EQ(formatSeconds(0), "0 s");
  EXPECT_EQ(formatSeconds(1.5e-9), "1.50 ns");
  EXPECT_EQ(formatSeconds(12.34e-6), "12.3 us");
  EXPECT_EQ(formatSeconds(0.9994), "999 ms");
  EXPECT_EQ(formatSeconds(0.9996), "1.00 s");
  EXPECT_EQ(formatSeconds(1234), "1234 s");
  EXPECT_EQ(formatBytes(999), "999 B");
  EXPECT_EQ(formatBytes(1000), "1.00 kB");
  EXPECT_EQ(formatBytes(52'500'000'000), "52.5 GB");
  EXPECT_EQ(formatPercent(0.9876), "98.8 %");
  EXPECT_EQ(formatPercent(-1e-9), "0.0 %");
  EXPECT_EQ(formatPercent(-0.01), "-1.0 %");
}
