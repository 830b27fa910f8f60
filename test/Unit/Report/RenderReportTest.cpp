//===- RenderReportTest.cpp - Reports as pages and numbers ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Report/RenderReport.h"

#include "llvm/Support/JSON.h"

#include "gtest/gtest.h"

using namespace regather::report;

namespace {
/// Forward and backward, as many instructions of each, with `bytes` in use.
MemoryCurve makeCurve(unsigned forward, unsigned backward, int64_t bytes) {
  MemoryCurve curve;
  for (std::vector<int64_t> &use : curve.bytes)
    use.assign(forward + backward, 0);
  auto &saved = curve.bytes[static_cast<unsigned>(MemoryUse::Saved)];
  std::fill(saved.begin(), saved.end(), bytes);
  curve.phases = {{"forward", 0, forward},
                  {"backward", forward, forward + backward}};
  return curve;
}

StepReport makeReport() {
  StepReport report;
  report.overview.file = "a/b<c>.mlir";
  report.overview.entry = "step";
  report.before.memory = makeCurve(10, 10, 2000);
  report.after.memory = makeCurve(10, 30, 1000);
  for (const char *layer : {"layers.0.up", "layers.1.up", "head"}) {
    SavedValue value;
    value.id = "mm & more";
    value.op = "aten.mm.default";
    value.module = layer;
    value.bytes = 1500;
    report.after.boundary.saved.push_back(value);
  }
  return report;
}

/// A step that waits for two layers, and what would help it.
StepReport makeTimedReport() {
  StepReport report = makeReport();
  StepTiming &timing = report.timing;
  timing.cluster = "h100-8";
  timing.seconds = 4;
  timing.computeSeconds = 3;
  timing.communicationSeconds = timing.exposedSeconds = 1;
  timing.hiddenPart = 0;
  timing.peakBytes = 90;
  timing.deviceBytes = 80;
  timing.bounds = {{"computation", 3}, {"nvlink", 1}};
  for (const char *layer : {"layers.0", "layers.1"}) {
    TimedCollective collective;
    collective.kind = "all_gather";
    collective.module = layer;
    collective.phase = "forward";
    collective.seconds = collective.exposedSeconds = 0.5;
    collective.reason = "busy with <layers.7>";
    timing.collectives.push_back(collective);
  }
  timing.ops.resize(1);
  timing.timeline.name = "Rank 0";
  timing.timeline.lanes.push_back({"compute", {}});
  Advice advice;
  advice.title = "Two & more";
  advice.flags = "--schedule=auto";
  advice.batches = 2;
  advice.seconds = 6;
  advice.peakBytes = 45;
  report.advice.push_back(advice);
  report.decisions.push_back({"tg-schedule", "order by <hand>"});
  return report;
}

size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1))
    ++found;
  return found;
}
} // namespace

TEST(RenderReport, EscapesNames) {
  std::string page = renderHtml(makeReport());
  EXPECT_EQ(page.find("b<c>"), std::string::npos);
  EXPECT_NE(page.find("<h1>b&lt;c&gt;.mlir</h1>"), std::string::npos);
  EXPECT_NE(page.find("mm &amp; more"), std::string::npos);
}

TEST(RenderReport, PutsEqualLayersTogether) {
  std::string page = renderHtml(makeReport());
  EXPECT_EQ(count(page, "layers.*.up"), 1u);
  // Each of them is still there.
  EXPECT_EQ(count(page, ">layers.0.up<"), 1u);
  EXPECT_EQ(count(page, ">layers.1.up<"), 1u);
  EXPECT_NE(page.find("3.00 kB"), std::string::npos);
  EXPECT_NE(page.find("<span title=\"3,000 bytes\">"), std::string::npos);
}

TEST(RenderReport, ComparesBeforeAndAfter) {
  std::string page = renderHtml(makeReport());
  EXPECT_NE(page.find("was 2.00 kB"), std::string::npos);
  EXPECT_NE(page.find("<span class=\"better\">−50 %</span>"),
            std::string::npos);
  EXPECT_EQ(count(page, "<svg viewBox=\"0 0 986"), 2u);
  // In both charts, backward begins after a quarter of the width.
  EXPECT_EQ(count(page, "<line class=\"boundary\" x1=\"299\""), 2u);
}

TEST(RenderReport, PutsExposedWaitsOfEqualLayersTogether) {
  std::string page = renderHtml(makeTimedReport());
  EXPECT_EQ(count(page, "busy with &lt;layers.*&gt;"), 1u);
  EXPECT_EQ(page.find("<layers.7>"), std::string::npos);
  EXPECT_NE(page.find("33.3 % above the lower bound"), std::string::npos);
  EXPECT_NE(page.find("the step takes 4.00 times that"), std::string::npos);
}

TEST(RenderReport, ComparesAdviceForTheSameRows) {
  std::string page = renderHtml(makeTimedReport());
  EXPECT_NE(page.find("Two &amp; more"), std::string::npos);
  EXPECT_NE(page.find("3.00 s <span class=\"better\">−25 %</span>"),
            std::string::npos);
  EXPECT_NE(page.find("45 B <span class=\"better\">−50 %</span>"),
            std::string::npos);
  EXPECT_NE(page.find("It needs 90 B, but a device has 80 B."),
            std::string::npos);
  EXPECT_NE(page.find("For 25.0 % of the step the device waits"),
            std::string::npos);
  EXPECT_NE(page.find("order by &lt;hand&gt;"), std::string::npos);
}

TEST(RenderReport, SaysWhyThereIsNoTimeline) {
  StepReport report = makeReport();
  report.timing.obstacle = "a & b";
  std::string page = renderHtml(report);
  EXPECT_NE(page.find("The step cannot be simulated: a &amp; b."),
            std::string::npos);
  EXPECT_NE(page.find("Nothing can be said without a simulation."),
            std::string::npos);
}

TEST(RenderReport, RendersAnEmptyStep) {
  std::string page = renderHtml(StepReport());
  EXPECT_NE(page.find("The program is empty."), std::string::npos);
  EXPECT_EQ(page.find("nan"), std::string::npos);
  EXPECT_TRUE(bool(llvm::json::parse(renderJson(StepReport()))));
}

TEST(RenderReport, WritesAllNumbers) {
  auto json = llvm::json::parse(renderJson(makeReport()));
  ASSERT_TRUE(bool(json));
  const llvm::json::Object &report = *json->getAsObject();
  EXPECT_EQ(*report.getString("file"), "a/b<c>.mlir");
  const llvm::json::Object &after = *report.getObject("after");
  EXPECT_EQ(after.getArray("saved_values")->size(), 3u);
  const llvm::json::Object &memory = *after.getObject("memory");
  EXPECT_EQ(*memory.getInteger("peak_bytes"), 1000);
  EXPECT_EQ(memory.getObject("bytes")->getArray("saved for backward")->size(),
            40u);
  EXPECT_EQ(report.getObject("timing")->size(), 0u);
}

TEST(RenderReport, WritesTimesAndAdvice) {
  auto json = llvm::json::parse(renderJson(makeTimedReport()));
  ASSERT_TRUE(bool(json));
  const llvm::json::Object &report = *json->getAsObject();
  const llvm::json::Object &timing = *report.getObject("timing");
  EXPECT_EQ(*timing.getNumber("seconds"), 4);
  EXPECT_EQ(*timing.getObject("lower_bounds")->getNumber("computation"), 3);
  EXPECT_EQ(timing.getArray("collectives")->size(), 2u);
  const llvm::json::Object &advice =
      *report.getArray("advice")->front().getAsObject();
  EXPECT_EQ(*advice.getString("flags"), "--schedule=auto");
  EXPECT_EQ(*advice.getNumber("batches"), 2);
}
