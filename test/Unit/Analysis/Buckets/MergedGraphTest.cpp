//===- MergedGraphTest.cpp - A step with buckets --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../OverlapSchedule/OverlapGraphs.h"

#include "regather/Analysis/Buckets/MergedGraph.h"
#include "regather/Analysis/OverlapSchedule/OverlapSchedule.h"

#include "llvm/Support/Error.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace regather;

/// Collectives that have a wait.
static std::vector<CollectiveOps> findCollectives(const TimedGraph &timed) {
  std::vector<CollectiveOps> collectives;
  for (uint32_t op = 0; op != timed.ops.size(); ++op)
    if (timed.ops[op].kind == TimedOpKind::Wait)
      collectives.push_back({timed.ops[op].collective, op});
  return collectives;
}

static TimedGraph merge(const TimedGraph &timed,
                        const std::vector<CollectiveBucket> &buckets) {
  std::vector<CollectiveOps> collectives = findCollectives(timed);
  std::vector<BucketPart> parts =
      cutCyclicBuckets(getDependencies(timed), collectives, buckets);
  return mergeCollectives(timed, collectives, parts,
                          std::vector<bool>(timed.ops.size()),
                          [](const BucketPart &part) {
                            return static_cast<double>(part.members.size());
                          });
}

TEST(MergedGraphTest, mergesStartsAndWaits) {
  ScheduleProgramBuilder builder;
  uint32_t a = builder.wait(builder.start(1, {}, 10));
  uint32_t first = builder.compute(1, a, 1);
  uint32_t b = builder.wait(builder.start(1, {}, 20));
  builder.compute(1, {first, b}, 1);
  TimedGraph merged = merge(builder.build(), {{0, 1}});
  ASSERT_EQ(merged.ops.size(), 4U);
  EXPECT_EQ(merged.ops[0].kind, TimedOpKind::Collective);
  EXPECT_EQ(merged.ops[0].seconds, 2);
  EXPECT_EQ(merged.ops[1].kind, TimedOpKind::Wait);
  EXPECT_EQ(merged.ops[1].collective, 0U);
  EXPECT_EQ(merged.predecessors[2], (ArrayRef<uint32_t>{1}));
  EXPECT_EQ(merged.predecessors[3], (ArrayRef<uint32_t>{1, 2}));
  // Both parameters are there from the start on.
  MemoryCurve curve = computeMemoryCurve(merged, merged.getStepOrder());
  EXPECT_EQ(curve.bytes.front(), 30);
}

TEST(MergedGraphTest, isWellFormedWhateverIsMerged) {
  std::mt19937 random(6);
  unsigned numMerged = 0;
  for (int i = 0; i != 200; ++i) {
    TimedGraph timed = makeRandomProgram(10 + random() % 60, random);
    std::vector<CollectiveOps> collectives = findCollectives(timed);
    // Of each stream a few, whether they depend on each other or not.
    std::vector<CollectiveBucket> buckets(4);
    for (uint32_t c = 0; c != collectives.size(); ++c) {
      uint32_t stream = timed.ops[collectives[c].start].stream;
      buckets[2 * stream + random() % 2].push_back(c);
    }
    llvm::erase_if(buckets, [](auto &bucket) { return bucket.empty(); });
    TimedGraph merged = merge(timed, buckets);
    Failure failure = checkTimedGraph(merged);
    EXPECT_FALSE(bool(failure)) << failure.getMessage();
    EXPECT_FALSE(findOrderViolation(merged, merged.getStepOrder()).has_value());
    EXPECT_EQ(merged.buffers.size(), timed.buffers.size());
    numMerged += timed.ops.size() - merged.ops.size();
  }
  EXPECT_GT(numMerged, 200U);
}
