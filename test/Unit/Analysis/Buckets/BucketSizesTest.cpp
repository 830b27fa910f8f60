//===- BucketSizesTest.cpp - How much to communicate at once --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Buckets/BucketSizes.h"

#include "gtest/gtest.h"

#include <random>

using namespace regather;

using Buckets = std::vector<std::vector<uint32_t>>;

/// One second of latency, and one for each byte.
static BucketSizeProblem makeProblem(double computeSeconds) {
  BucketSizeProblem problem;
  problem.computeSeconds = computeSeconds;
  problem.getSeconds = [](uint32_t, double bytes) { return 1 + bytes; };
  problem.maxBytes = 1000;
  return problem;
}

static SizedCollective makeGather(double need, double bytes) {
  SizedCollective gather;
  gather.need = need;
  gather.receivedBytes = bytes;
  gather.wholeBytes = static_cast<int64_t>(bytes);
  gather.saturatingBytes = 10;
  return gather;
}

static SizedCollective makeReduction(double ready, double bytes) {
  SizedCollective reduction = makeGather(0, bytes);
  reduction.key = 1;
  reduction.isGather = false;
  reduction.ready = ready;
  return reduction;
}

TEST(BucketSizesTest, DryRunStartsGathersAsBytesAllow) {
  BucketSizeProblem problem = makeProblem(10);
  problem.collectives = {makeGather(0, 1), makeGather(2, 1), makeGather(3, 1)};
  // All start at once. The last one ends at 6, when computation has come to 4.
  EXPECT_EQ(runDry(problem, {{0}, {1}, {2}}).seconds, 12 + 1);
  problem.collectives[2].need = 4;
  EXPECT_EQ(runDry(problem, {{0}, {1}, {2}}).seconds, 12);
  // Near miss: it starts at 4, when the second one is read.
  problem.maxBytes = 1;
  problem.collectives[2].need = 3;
  EXPECT_EQ(runDry(problem, {{0}, {1}, {2}}).seconds, 12 + 1);
  problem.collectives[2].receivedBytes = 2;
  EXPECT_EQ(runDry(problem, {{0}, {1}, {2}}).seconds, 12 + 2);
}

TEST(BucketSizesTest, DryRunStartsGathersOneAheadAtLeast) {
  BucketSizeProblem problem = makeProblem(10);
  problem.maxBytes = 0;
  problem.collectives = {makeGather(0, 1), makeGather(2, 1), makeGather(3, 1)};
  DryRun run = runDry(problem, {{0}, {1}, {2}});
  // The first takes 2 s. The second starts at once behind it, and ends at 4,
  // when computation has come to 2. The third is read a second later.
  EXPECT_EQ(run.seconds, 10 + 2 + 0 + 1);
  EXPECT_EQ(run.isExposed, (std::vector<bool>{true, false, true}));
}

TEST(BucketSizesTest, DryRunBlamesWhatALateOneStoodInLineBehind) {
  BucketSizeProblem problem = makeProblem(10);
  problem.collectives = {makeReduction(2, 1), makeReduction(8, 1),
                         makeReduction(9, 1)};
  DryRun run = runDry(problem, {{0}, {1}, {2}});
  EXPECT_EQ(run.seconds, 12);
  EXPECT_EQ(run.isExposed, (std::vector<bool>{false, true, true}));
}

TEST(BucketSizesTest, JoinsWhatWaits) {
  BucketSizeProblem problem = makeProblem(4);
  problem.collectives = {makeGather(0, 1), makeGather(0, 1), makeGather(1, 1),
                         makeGather(1, 1)};
  EXPECT_EQ(chooseBuckets(problem), (Buckets{{0, 1}, {2, 3}}));
}

TEST(BucketSizesTest, LeavesWhatIsHidden) {
  BucketSizeProblem problem = makeProblem(100);
  for (unsigned i = 0; i != 8; ++i)
    problem.collectives.push_back(makeGather(10 + 10 * i, 1));
  EXPECT_EQ(chooseBuckets(problem).size(), 8u);
}

TEST(BucketSizesTest, StopsWhereTheLinkIsSaturated) {
  BucketSizeProblem problem = makeProblem(0);
  for (unsigned i = 0; i != 8; ++i)
    problem.collectives.push_back(makeGather(0, 5));
  EXPECT_EQ(chooseBuckets(problem), (Buckets{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
}

TEST(BucketSizesTest, StaysWithinMaxBytes) {
  BucketSizeProblem problem = makeProblem(0);
  problem.maxBytes = 3;
  for (unsigned i = 0; i != 8; ++i)
    problem.collectives.push_back(makeGather(0, 1));
  for (const std::vector<uint32_t> &bucket : chooseBuckets(problem))
    EXPECT_LE(bucket.size(), 3u);
  EXPECT_EQ(chooseBuckets(problem).size(), 4u);
}

TEST(BucketSizesTest, BoundsTheComputationBetweenReductions) {
  BucketSizeProblem problem = makeProblem(6);
  problem.collectives = {makeReduction(4, 3), makeReduction(6, 1)};
  // Merged, they end a second earlier.
  problem.maxCompute = 2;
  EXPECT_EQ(chooseBuckets(problem).size(), 2u) << "the first one fits before";
  problem.collectives = {makeReduction(5.5, 3), makeReduction(6, 1)};
  EXPECT_EQ(chooseBuckets(problem), (Buckets{{0, 1}}));
  problem.maxCompute = 0.25;
  EXPECT_EQ(chooseBuckets(problem).size(), 2u);
}

TEST(BucketSizesTest, KeysAndStreamsStayApart) {
  BucketSizeProblem problem = makeProblem(0);
  for (unsigned i = 0; i != 4; ++i) {
    problem.collectives.push_back(makeGather(0, 1));
    problem.collectives.back().key = i % 2;
    problem.collectives.back().stream = i % 2;
  }
  for (const std::vector<uint32_t> &bucket : chooseBuckets(problem))
    for (uint32_t member : bucket)
      EXPECT_EQ(member % 2, bucket.front() % 2);
}

TEST(BucketSizesTest, NeverTakesLonger) {
  std::mt19937 random(1);
  for (unsigned run = 0; run != 200; ++run) {
    BucketSizeProblem problem = makeProblem(random() % 40);
    Buckets single;
    for (uint32_t i = 0; i != 30; ++i) {
      double instant = problem.computeSeconds * i / 30;
      problem.collectives.push_back(random() % 2
                                        ? makeGather(instant, random() % 4)
                                        : makeReduction(instant, random() % 4));
      single.push_back({i});
    }
    Buckets buckets = chooseBuckets(problem);
    EXPECT_LE(runDry(problem, buckets).seconds,
              runDry(problem, single).seconds);
    size_t members = 0;
    for (const std::vector<uint32_t> &bucket : buckets)
      members += bucket.size();
    EXPECT_EQ(members, 30u);
  }
}
