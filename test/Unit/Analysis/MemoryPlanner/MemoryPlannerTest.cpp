//===- MemoryPlannerTest.cpp - Where buffers lie in one arena -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/MemoryPlanner/MemoryPlanner.h"

#include "MemoryPlanner/Occupancy.h"
#include "PlanChecker.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <functional>
#include <random>

using namespace llvm;
using namespace regather;

static BufferRequest makeBuffer(uint64_t size, uint64_t begin, uint64_t end,
                                uint64_t alignment = 1) {
  return {size, alignment, begin, end, std::nullopt};
}

static MemoryPlanRequest makeRequest(std::vector<BufferRequest> buffers) {
  MemoryPlanRequest request;
  request.buffers = std::move(buffers);
  return request;
}

/// Plans, and compares every pair of buffers: shares nothing with the sweep of
/// `checkMemoryPlan`.
static MemoryPlan
planAndCheck(const MemoryPlanRequest &request,
             const MemoryPlannerOptions &options = MemoryPlannerOptions()) {
  Result<MemoryPlan> plan = planMemory(request, options);
  EXPECT_TRUE(bool(plan)) << plan.getMessage();
  if (!plan)
    return MemoryPlan();
  EXPECT_EQ(plan->offsets.size(), request.buffers.size());
  for (size_t i = 0; i != request.buffers.size(); ++i) {
    const BufferRequest &a = request.buffers[i];
    EXPECT_EQ(plan->offsets[i] % a.alignment, 0U) << i;
    if (a.begin < a.end) {
      EXPECT_LE(plan->offsets[i] + a.size, plan->peak) << i;
    }
    if (!request.groups.empty() || !request.inPlace.empty())
      continue;
    for (size_t j = 0; j != i; ++j) {
      const BufferRequest &b = request.buffers[j];
      if (std::max(a.begin, b.begin) < std::min(a.end, b.end)) {
        EXPECT_TRUE(plan->offsets[i] + a.size <= plan->offsets[j] ||
                    plan->offsets[j] + b.size <= plan->offsets[i])
            << i << " and " << j;
      }
    }
  }
  EXPECT_GE(plan->peak, plan->lowerBound);
  Failure failure = checkMemoryPlan(request, plan->offsets, plan->peak);
  EXPECT_FALSE(bool(failure)) << failure.getMessage();
  return std::move(*plan);
}

static std::string planError(const MemoryPlanRequest &request) {
  Result<MemoryPlan> plan = planMemory(request);
  return plan ? "" : plan.getMessage();
}

/// The least peak, by placing the buffers in every order as low as they go.
static uint64_t findOptimum(const MemoryPlanRequest &request) {
  const std::vector<BufferRequest> &buffers = request.buffers;
  std::vector<uint64_t> offsets(buffers.size());
  std::vector<size_t> order;
  uint64_t best = UINT64_MAX;
  std::function<void(uint64_t)> visit = [&](uint64_t peak) {
    if (peak >= best)
      return;
    if (order.size() == buffers.size()) {
      best = peak;
      return;
    }
    for (size_t i = 0; i != buffers.size(); ++i) {
      if (is_contained(order, i))
        continue;
      uint64_t offset = 0;
      for (size_t other : order)
        if (std::max(buffers[i].begin, buffers[other].begin) <
            std::min(buffers[i].end, buffers[other].end))
          offset = std::max(offset, offsets[other] + buffers[other].size);
      offsets[i] = alignTo(offset, buffers[i].alignment);
      order.push_back(i);
      visit(std::max(peak, offsets[i] + buffers[i].size));
      order.pop_back();
    }
  };
  visit(0);
  return best;
}

static MemoryPlanRequest makeRandom(uint64_t seed, size_t count,
                                    uint64_t maxSize, uint64_t steps,
                                    unsigned maxAlignmentLog) {
  std::mt19937_64 random(seed);
  MemoryPlanRequest request;
  for (size_t i = 0; i != count; ++i) {
    uint64_t begin = random() % steps;
    request.buffers.push_back(makeBuffer(
        1 + random() % maxSize, begin, begin + 1 + random() % (steps - begin),
        uint64_t(1) << random() % (maxAlignmentLog + 1)));
  }
  return request;
}

TEST(MemoryPlannerTest, NothingToPlan) {
  MemoryPlan plan = planAndCheck({});
  EXPECT_EQ(plan.peak, 0U);
  EXPECT_EQ(plan.lowerBound, 0U);
  EXPECT_TRUE(plan.isOptimal);
}

TEST(MemoryPlannerTest, EmptyBuffersNeedNoMemory) {
  MemoryPlan plan =
      planAndCheck(makeRequest({makeBuffer(0, 0, 5), makeBuffer(100, 3, 3),
                                makeBuffer(8, 0, 5), makeBuffer(0, 2, 2)}));
  EXPECT_EQ(plan.peak, 8U);
  EXPECT_TRUE(plan.isOptimal);
}

TEST(MemoryPlannerTest, LifetimesAreHalfOpen) {
  EXPECT_EQ(
      planAndCheck(makeRequest({makeBuffer(8, 0, 3), makeBuffer(8, 3, 5)}))
          .peak,
      8U);
  EXPECT_EQ(
      planAndCheck(makeRequest({makeBuffer(8, 0, 4), makeBuffer(8, 3, 5)}))
          .peak,
      16U);
}

TEST(MemoryPlannerTest, SmallCasesAreOptimal) {
  for (uint64_t seed = 0; seed != 150; ++seed) {
    MemoryPlanRequest request = makeRandom(seed, 2 + seed % 6, 9, 8, 0);
    MemoryPlan plan = planAndCheck(request);
    EXPECT_EQ(plan.peak, findOptimum(request)) << "seed " << seed;
    EXPECT_TRUE(plan.isOptimal) << "seed " << seed;
  }
}

TEST(MemoryPlannerTest, SmallAlignedCasesAreOptimal) {
  for (uint64_t seed = 0; seed != 150; ++seed) {
    MemoryPlanRequest request = makeRandom(seed, 2 + seed % 6, 9, 8, 3);
    // The planner rounds sizes up to the least alignment, and so does this.
    uint64_t granule = 8;
    for (const BufferRequest &buffer : request.buffers)
      granule = std::min(granule, buffer.alignment);
    MemoryPlan plan = planAndCheck(request);
    EXPECT_EQ(plan.peak, alignTo(findOptimum(request), granule))
        << "seed " << seed;
    EXPECT_TRUE(plan.isOptimal) << "seed " << seed;
  }
}

/// Buffers that fill an arena without a gap if they are packed as they were
/// cut.
static MemoryPlanRequest cutRectangle(uint64_t seed, size_t count,
                                      uint64_t bytes, uint64_t steps) {
  std::mt19937_64 random(seed);
  struct Piece {
    uint64_t low, high, begin, end;
  };
  std::vector<Piece> pieces = {{0, bytes, 0, steps}};
  while (pieces.size() < count) {
    Piece &piece = pieces[random() % pieces.size()];
    Piece other = piece;
    if (random() % 2 == 0 && piece.high - piece.low > 1) {
      piece.high = other.low =
          piece.low + 1 + random() % (piece.high - piece.low - 1);
      pieces.push_back(other);
    } else if (piece.end - piece.begin > 1) {
      piece.end = other.begin =
          piece.begin + 1 + random() % (piece.end - piece.begin - 1);
      pieces.push_back(other);
    }
  }
  MemoryPlanRequest request;
  for (const Piece &piece : pieces)
    request.buffers.push_back(makeBuffer((piece.high - piece.low) * 512,
                                         piece.begin, piece.end, 512));
  return request;
}

TEST(MemoryPlannerTest, FindsPackingsWithoutAGap) {
  for (uint64_t seed = 0; seed != 10; ++seed) {
    MemoryPlanRequest request = cutRectangle(seed, 60, 200, 100);
    MemoryPlan plan = planAndCheck(request);
    EXPECT_EQ(plan.lowerBound, 200U * 512);
    EXPECT_EQ(plan.peak, plan.lowerBound) << "seed " << seed;
  }
}

TEST(MemoryPlannerTest, StopsAtTheCapacity) {
  MemoryPlanRequest request = cutRectangle(3, 40, 200, 100);
  MemoryPlannerOptions options;
  options.capacity = 1000 * 512;
  options.effort = 0;
  MemoryPlan plan = planAndCheck(request, options);
  EXPECT_LE(plan.peak, *options.capacity);
  EXPECT_TRUE(plan.strategy.starts_with("first fit"));
}

TEST(MemoryPlannerTest, WithoutEffortOnlyTheOrdersAreTried) {
  bool differs = false;
  for (uint64_t seed = 0; seed != 10; ++seed) {
    MemoryPlanRequest request = cutRectangle(seed, 60, 200, 100);
    MemoryPlannerOptions options;
    options.effort = 0;
    MemoryPlan quick = planAndCheck(request, options);
    EXPECT_TRUE(quick.strategy.starts_with("first fit"));
    differs |= quick.peak > quick.lowerBound && !quick.isOptimal;
  }
  EXPECT_TRUE(differs);
}

TEST(MemoryPlannerTest, LargeRandomCases) {
  for (uint64_t seed = 0; seed != 4; ++seed) {
    MemoryPlanRequest request = makeRandom(seed, 400, 5000, 300, 6);
    MemoryPlannerOptions options;
    options.effort = 2'000'000;
    MemoryPlan plan = planAndCheck(request, options);
    EXPECT_LT(plan.peak, plan.lowerBound + plan.lowerBound / 4);
  }
}

TEST(MemoryPlannerTest, SameRequestSamePlan) {
  MemoryPlanRequest request = makeRandom(7, 200, 5000, 100, 4);
  MemoryPlannerOptions options;
  options.effort = 3'000'000;
  EXPECT_EQ(planAndCheck(request, options).offsets,
            planAndCheck(request, options).offsets);
}

TEST(MemoryPlannerTest, FixedBuffersStayWhereTheyAre) {
  MemoryPlanRequest request =
      makeRequest({makeBuffer(64, 0, 10, 64), makeBuffer(64, 0, 10, 64),
                   makeBuffer(64, 2, 4, 64), makeBuffer(128, 3, 6, 64)});
  request.buffers[0].fixedOffset = 128;
  request.buffers[1].fixedOffset = 0;
  MemoryPlan plan = planAndCheck(request);
  EXPECT_EQ(plan.offsets[0], 128U);
  EXPECT_EQ(plan.offsets[1], 0U);
  // The hole between the fixed ones is used.
  EXPECT_EQ(plan.offsets[2], 64U);
  EXPECT_EQ(plan.offsets[3], 192U);
  EXPECT_EQ(plan.peak, plan.lowerBound);
}

TEST(MemoryPlannerTest, SearchesAboveFixedBuffers) {
  for (uint64_t seed = 0; seed != 5; ++seed) {
    MemoryPlanRequest request = cutRectangle(seed, 30, 100, 60);
    for (uint64_t i = 0; i != 3; ++i) {
      request.buffers.push_back(makeBuffer(1024, 0, 60, 512));
      request.buffers.back().fixedOffset = i * 1024;
    }
    MemoryPlan plan = planAndCheck(request);
    EXPECT_EQ(plan.peak, 106U * 512) << "seed " << seed;
  }
}

TEST(MemoryPlannerTest, FixedBuffersThatClash) {
  MemoryPlanRequest request = makeRequest(
      {makeBuffer(8, 0, 9), makeBuffer(100, 0, 5), makeBuffer(50, 4, 6)});
  request.buffers[1].fixedOffset = 0;
  request.buffers[2].fixedOffset = 90;
  EXPECT_EQ(planError(request),
            "buffers 1 and 2 are live together, but fixed at overlapping "
            "places: offset 0, 100 bytes and offset 90, 50 bytes");
  request.buffers[2].begin = 5;
  planAndCheck(request);
}

TEST(MemoryPlannerTest, FixedOffsetMustBeAligned) {
  MemoryPlanRequest request = makeRequest({makeBuffer(8, 0, 9, 64)});
  request.buffers[0].fixedOffset = 32;
  EXPECT_EQ(planError(request), "fixed offset 32 of buffer 0 is not a multiple "
                                "of its alignment 64");
}

TEST(MemoryPlannerTest, GroupsLieAtOnePlace) {
  MemoryPlanRequest request = makeRequest(
      {makeBuffer(64, 0, 3), makeBuffer(32, 2, 6, 16), makeBuffer(8, 1, 5)});
  request.groups = {{0, 1}};
  MemoryPlan plan = planAndCheck(request);
  EXPECT_EQ(plan.offsets[0], plan.offsets[1]);
  EXPECT_EQ(plan.peak, 72U);
  request.groups.clear();
  EXPECT_EQ(planAndCheck(request).peak, 104U);
}

TEST(MemoryPlannerTest, GroupOfBuffersFixedApart) {
  MemoryPlanRequest request =
      makeRequest({makeBuffer(64, 0, 3), makeBuffer(64, 2, 6)});
  request.groups = {{0, 1}};
  request.buffers[0].fixedOffset = 64;
  EXPECT_EQ(planAndCheck(request).offsets[1], 64U);
  request.buffers[1].fixedOffset = 0;
  EXPECT_EQ(planError(request),
            "buffers 0 and 1 have to be at the same place, but are fixed at "
            "offsets 64 and 0");
}

TEST(MemoryPlannerTest, ResultTakesThePlaceOfItsOperand) {
  // A chain of three results, each computed from the one before.
  MemoryPlanRequest request = makeRequest(
      {makeBuffer(64, 0, 3), makeBuffer(64, 2, 6), makeBuffer(64, 5, 9)});
  request.inPlace = {{1, 0}, {2, 1}};
  EXPECT_EQ(planAndCheck(request).peak, 64U);
  request.inPlace.pop_back();
  EXPECT_EQ(planAndCheck(request).peak, 128U);
}

TEST(MemoryPlannerTest, NotInPlace) {
  // The operand is read once more after the result has been written.
  MemoryPlanRequest later =
      makeRequest({makeBuffer(64, 0, 4), makeBuffer(64, 2, 6)});
  later.inPlace = {{1, 0}};
  EXPECT_EQ(planAndCheck(later).peak, 128U);
  // One operand, two results: one of them takes its place.
  MemoryPlanRequest twice = makeRequest(
      {makeBuffer(64, 0, 3), makeBuffer(64, 2, 6), makeBuffer(64, 2, 6)});
  twice.inPlace = {{1, 0}, {2, 0}};
  EXPECT_EQ(planAndCheck(twice).peak, 128U);
  // Another size: the place would be taken for longer than needed.
  MemoryPlanRequest smaller = makeRequest(
      {makeBuffer(64, 0, 3), makeBuffer(8, 2, 6), makeBuffer(64, 3, 6)});
  smaller.inPlace = {{1, 0}};
  EXPECT_EQ(planAndCheck(smaller).peak, 72U);
}

TEST(MemoryPlannerTest, MalformedRequests) {
  EXPECT_EQ(planError(makeRequest({makeBuffer(8, 0, 9, 3)})),
            "alignment of buffer 0 must be a power of two, got 3");
  EXPECT_EQ(planError(makeRequest({makeBuffer(8, 0, 9, 0)})),
            "alignment of buffer 0 must be a power of two, got 0");
  EXPECT_EQ(planError(makeRequest({makeBuffer(8, 5, 4)})),
            "lifetime of buffer 0 ends at step 4, before it begins at step 5");
  MemoryPlanRequest request = makeRequest({makeBuffer(8, 0, 4)});
  request.groups = {{0, 1}};
  EXPECT_EQ(planError(request), "a group names buffer 1, but there are only 1");
  request.groups.clear();
  request.inPlace = {{2, 0}};
  EXPECT_EQ(planError(request),
            "an in-place pair names buffer 2, but there are only 1");
}

TEST(MemoryPlannerTest, SizesBeyondWhatCanBeAdded) {
  uint64_t huge = uint64_t(1) << 61;
  planAndCheck(
      makeRequest({makeBuffer(huge, 0, 9), makeBuffer(huge / 2, 0, 9)}));
  EXPECT_EQ(
      planError(makeRequest({makeBuffer(huge, 0, 9), makeBuffer(huge, 0, 9)})),
      "buffers up to number 1, of 2305843009213693952 bytes, need more "
      "than 4611686018427387904 bytes together");
  EXPECT_NE(planError(makeRequest({makeBuffer(UINT64_MAX, 0, 9)})), "");
  EXPECT_NE(planError(makeRequest({makeBuffer(1, 0, 9, uint64_t(1) << 63)})),
            "");
}

TEST(MemoryPlannerTest, ManyBuffersAreQuick) {
  // Nested lifetimes: all live together in the middle, so anything that visits
  // pairs would take 10^8 steps and more.
  MemoryPlanRequest request;
  for (uint64_t i = 0; i != 10000; ++i)
    request.buffers.push_back(makeBuffer((1 + i % 7) * 512, i, 20000 - i, 256));
  Result<MemoryPlan> nested = planMemory(request);
  ASSERT_TRUE(bool(nested));
  EXPECT_EQ(nested->peak, nested->lowerBound);
  EXPECT_FALSE(bool(checkMemoryPlan(request, nested->offsets, nested->peak)));
}

TEST(MemoryPlannerTest, SearchesAmongSmallGapsEnd) {
  // Every other byte is taken, but for three in a row.
  planner::Occupancy occupancy(1);
  for (uint64_t i = 0; i != 1000; ++i)
    if (i != 500)
      occupancy.insert(0, 1, 2 * i, 1);
  auto find = [&](uint64_t maxWork) {
    uint64_t work = 0;
    uint64_t offset =
        occupancy.findLowest(0, 1, /*size=*/2, /*alignment=*/1, work, maxWork);
    EXPECT_LE(work, maxWork + 1);
    return offset;
  };
  EXPECT_EQ(find(10000), 999u);
  EXPECT_EQ(find(10), 1999u);
}
