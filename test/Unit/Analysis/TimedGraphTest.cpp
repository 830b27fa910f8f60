//===- TimedGraphTest.cpp - Orders, memory and bounds ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TimedGraphBuilder.h"

#include "gtest/gtest.h"

using namespace regather;
using Kind = OrderViolation::Kind;

TEST(IndexListsTest, FromPairs) {
  IndexLists lists(4, {{2, 7}, {0, 5}, {2, 6}, {3, 1}});
  ASSERT_EQ(lists.size(), 4u);
  EXPECT_EQ(lists[0].vec(), (std::vector<uint32_t>{5}));
  EXPECT_TRUE(lists[1].empty());
  EXPECT_EQ(lists[2].vec(), (std::vector<uint32_t>{7, 6}));
  EXPECT_EQ(lists[3].vec(), (std::vector<uint32_t>{1}));
}

TEST(TimedGraphTest, Orders) {
  ProgramBuilder builder;
  uint32_t a = builder.compute(1);
  uint32_t gather = builder.collective(1);
  uint32_t wait = builder.wait(gather);
  builder.compute(1, {a, wait});
  const TimedGraph &graph = builder.graph;
  EXPECT_FALSE(findOrderViolation(graph, graph.getStepOrder()));
  EXPECT_FALSE(findOrderViolation(graph, {1, 0, 2, 3}));

  auto early = findOrderViolation(graph, {0, 2, 1, 3});
  ASSERT_TRUE(early);
  EXPECT_EQ(early->kind, Kind::TooEarly);
  EXPECT_EQ(early->op, 2u);
  EXPECT_EQ(early->other, 1u);
  EXPECT_EQ(early->place, 1u);

  auto repeated = findOrderViolation(graph, {0, 1, 0, 2, 3});
  ASSERT_TRUE(repeated);
  EXPECT_EQ(repeated->kind, Kind::Repeated);
  EXPECT_EQ(repeated->op, 0u);
  EXPECT_EQ(repeated->other, 0u);
  EXPECT_EQ(repeated->place, 2u);

  auto missing = findOrderViolation(graph, {0, 1, 3});
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->kind, Kind::Missing);
  EXPECT_EQ(missing->op, 2u);

  auto unknown = findOrderViolation(graph, {0, 9});
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->kind, Kind::Unknown);
  EXPECT_EQ(unknown->op, 9u);
}

TEST(TimedGraphTest, MemoryFollowsTheOrder) {
  // A gather of 8 bytes that a product reads, whose result is that of the step.
  ProgramBuilder builder;
  uint32_t other = builder.compute(1);
  uint32_t gather = builder.collective(1);
  uint32_t wait = builder.wait(gather);
  uint32_t product = builder.compute(1, {other, wait});
  builder.buffer(1, other, {product});
  builder.buffer(8, gather, {wait, product});
  builder.buffer(2, product, {}, /*isLiveOut=*/true);
  // Nobody reads it.
  builder.buffer(100, other, {});
  builder.graph.residentBytes = 1000;

  MemoryCurve curve = computeMemoryCurve(builder.graph, {0, 1, 2, 3});
  EXPECT_EQ(curve.bytes, (std::vector<int64_t>{1101, 1009, 1009, 1011}));
  EXPECT_EQ(curve.peakBytes, 1101);
  EXPECT_EQ(curve.peakPlace, 0u);

  curve = computeMemoryCurve(builder.graph, {1, 0, 2, 3});
  EXPECT_EQ(curve.bytes, (std::vector<int64_t>{1008, 1109, 1009, 1011}));
  EXPECT_EQ(curve.peakPlace, 1u);
}

TEST(TimedGraphTest, Bounds) {
  ProgramBuilder builder(/*numStreams=*/2);
  builder.graph.links.push_back({"network"});
  builder.graph.streams[1].link = 1;
  uint32_t a = builder.compute(3);
  uint32_t first = builder.collective(4, {a});
  uint32_t b = builder.compute(2);
  uint32_t second = builder.collective(7, {}, /*stream=*/1);
  builder.wait(second);
  builder.compute(5, {builder.wait(first), b});
  StepBounds bounds = computeStepBounds(builder.graph);
  EXPECT_EQ(bounds.computeSeconds, 10);
  EXPECT_EQ(bounds.linkSeconds, (std::vector<double>{4, 7}));
  EXPECT_EQ(bounds.pathSeconds, 12);
  EXPECT_EQ(bounds.getSeconds(), 12);
}
