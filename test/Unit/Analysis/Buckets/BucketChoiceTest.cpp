//===- BucketChoiceTest.cpp - Buckets that shorten a schedule -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../OverlapSchedule/OverlapGraphs.h"

#include "regather/Analysis/Buckets/BucketChoice.h"
#include "regather/Analysis/OverlapSchedule/OverlapSchedule.h"

#include "llvm/Support/Error.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace regather;

using Buckets = std::vector<std::vector<uint32_t>>;

namespace {
/// A step whose collectives take a millisecond, and one for each byte.
class ChoiceBuilder {
public:
  uint32_t compute(double milliseconds, ArrayRef<uint32_t> needs = {}) {
    return builder.compute(milliseconds, needs);
  }
  /// Returns the wait.
  uint32_t gather(int64_t bytes) { return add(true, bytes, {}); }
  uint32_t reduce(int64_t bytes, uint32_t gradient) {
    return add(false, bytes, gradient);
  }
  BucketChoiceProblem build() {
    problem.graph = builder.build();
    problem.isEarly.resize(problem.graph.ops.size());
    problem.sizes.maxBytes = maxBytes;
    problem.sizes.unitBytes = unitBytes.value_or(maxBytes);
    problem.sizes.getSeconds = [](uint32_t, double bytes) {
      return (1 + bytes) / 1024;
    };
    return problem;
  }

  int64_t maxBytes = 1000;
  std::optional<int64_t> unitBytes;

private:
  uint32_t add(bool isGather, int64_t bytes, ArrayRef<uint32_t> needs) {
    uint32_t start = builder.start(1 + bytes, needs);
    uint32_t wait = builder.wait(start);
    SizedCollective sized;
    sized.key = isGather;
    sized.isGather = isGather;
    sized.receivedBytes = bytes;
    sized.wholeBytes = bytes;
    sized.saturatingBytes = 10;
    problem.sizes.collectives.push_back(sized);
    problem.collectives.push_back({start, wait});
    return wait;
  }

  ScheduleProgramBuilder builder;
  BucketChoiceProblem problem;
};
} // namespace

// Nothing hides the gathers of the first layer.
TEST(BucketChoiceTest, joinsWhatWaits) {
  ChoiceBuilder step;
  uint32_t a = step.gather(1), b = step.gather(1);
  uint32_t layer = step.compute(20, {a, b});
  step.compute(20, {layer, step.gather(1), step.gather(1)});
  BucketChoice choice = chooseScheduledBuckets(step.build());
  EXPECT_EQ(choice.buckets, (Buckets{{0, 1}, {2}, {3}}));
  EXPECT_EQ(choice.secondsWithout * 1024, 44);
  EXPECT_EQ(choice.seconds * 1024, 43);
}

// As one, they would delay the first layer by more than a latency.
TEST(BucketChoiceTest, doesNotDelayWhatIsNeededFirst) {
  ChoiceBuilder step;
  uint32_t layer = step.compute(20, step.gather(5));
  step.compute(20, {layer, step.gather(5)});
  EXPECT_EQ(chooseScheduledBuckets(step.build()).buckets, (Buckets{{0}, {1}}));
}

// The last gradients are there at the same time; the first of all are reduced
// beside the second layer.
TEST(BucketChoiceTest, joinsTheLastReductions) {
  ChoiceBuilder step;
  uint32_t first = step.compute(20);
  step.reduce(3, first);
  step.reduce(3, first);
  uint32_t second = step.compute(20, first);
  step.reduce(1, second);
  step.reduce(1, second);
  BucketChoice choice = chooseScheduledBuckets(step.build());
  EXPECT_TRUE(is_contained(choice.buckets, (std::vector<uint32_t>{2, 3})));
  EXPECT_EQ(choice.seconds * 1024, 40 + 1 + 2);
}

TEST(BucketChoiceTest, staysWithinMaxBytes) {
  ChoiceBuilder step;
  step.maxBytes = 5;
  std::vector<uint32_t> gathered;
  for (int i = 0; i != 12; ++i)
    gathered.push_back(step.gather(1 + i % 3));
  step.compute(1, gathered);
  BucketChoiceProblem problem = step.build();
  BucketChoice choice = chooseScheduledBuckets(problem);
  EXPECT_LT(choice.buckets.size(), 8U);
  for (const std::vector<uint32_t> &bucket : choice.buckets) {
    int64_t bytes = 0;
    for (uint32_t member : bucket)
      bytes += problem.sizes.collectives[member].wholeBytes;
    EXPECT_LE(bytes, 5);
  }
}

// Where large buckets take too much memory, smaller ones are tried.
TEST(BucketChoiceTest, isNeverWorseWithALargerCap) {
  std::mt19937 random(3);
  auto draw = [&](uint32_t limit) { return random() % limit; };
  unsigned numShorter = 0;
  for (int i = 0; i != 40; ++i) {
    ChoiceBuilder step;
    step.unitBytes = 8;
    uint32_t last = step.compute(1);
    for (int layer = 0; layer != 6; ++layer) {
      std::vector<uint32_t> needed = {last};
      for (uint32_t part = 1 + draw(4); part != 0; --part)
        needed.push_back(step.gather(1 + draw(4)));
      last = step.compute(1 + draw(12), needed);
    }
    BucketChoiceProblem problem = step.build();
    problem.memoryLimit = 8 + draw(10);
    double before = std::numeric_limits<double>::infinity();
    for (int64_t cap : {2, 3, 5, 8, 12, 20, 40, 1000}) {
      problem.sizes.maxBytes = cap;
      BucketChoice choice = chooseScheduledBuckets(problem);
      EXPECT_LE(choice.seconds, before * (1 + 1e-3)) << cap;
      before = choice.seconds;
      numShorter += cap == 1000 && choice.seconds < choice.secondsWithout;
    }
  }
  EXPECT_GT(numShorter, 20U);
}

TEST(BucketChoiceTest, neverTakesLonger) {
  std::mt19937 random(5);
  auto draw = [&](uint32_t limit) { return random() % limit; };
  unsigned numShorter = 0;
  for (int i = 0; i != 100; ++i) {
    ChoiceBuilder step;
    uint32_t last = step.compute(1);
    for (int layer = 0; layer != 6; ++layer) {
      std::vector<uint32_t> needed = {last};
      for (uint32_t part = 1 + draw(4); part != 0; --part)
        needed.push_back(step.gather(1 + draw(12)));
      last = step.compute(1 + draw(30), needed);
      step.reduce(1 + draw(12), last);
    }
    BucketChoiceProblem problem = step.build();
    problem.memoryLimit = 1;
    BucketChoice choice = chooseScheduledBuckets(problem);
    EXPECT_LE(choice.seconds, choice.secondsWithout);
    numShorter += choice.seconds < choice.secondsWithout;
    EXPECT_EQ(choice.buckets, chooseScheduledBuckets(problem).buckets);
  }
  EXPECT_GT(numShorter, 50U);
}

TEST(BucketChoiceTest, judgesAFewChoicesOfALargeStep) {
  ChoiceBuilder step;
  uint32_t last = step.compute(1);
  for (int layer = 0; layer != 100; ++layer)
    last = step.compute(1, {last, step.gather(3), step.gather(3)});
  BucketChoiceProblem problem = step.build();
  unsigned numJudged = chooseScheduledBuckets(problem).numJudged;
  problem.effort = 0;
  EXPECT_EQ(chooseScheduledBuckets(problem).numJudged, 2U);
  EXPECT_GT(numJudged, 2U);
}
