//===- BufferLifetimesTest.cpp - Lifetimes in a program of streams --------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/MemoryPlanner/BufferLifetimes.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <random>

using namespace llvm;
using namespace regather;

namespace {
using Steps = std::pair<uint64_t, uint64_t>;
using Numbers = std::vector<uint32_t>;
} // namespace

static StreamOp makeOp(uint32_t stream, Numbers reads, Numbers writes,
                       Numbers waits = {},
                       std::optional<uint32_t> records = std::nullopt) {
  return {stream, std::move(reads), std::move(writes), std::move(waits),
          records};
}

static std::vector<Steps> lifetimesOf(const StreamProgram &program) {
  Result<std::vector<BufferLifetime>> lifetimes = computeLifetimes(program);
  EXPECT_TRUE(bool(lifetimes)) << lifetimes.getMessage();
  std::vector<Steps> result;
  if (lifetimes)
    for (BufferLifetime lifetime : *lifetimes)
      result.push_back({lifetime.begin, lifetime.end});
  return result;
}

static std::string errorOf(const StreamProgram &program) {
  Result<std::vector<BufferLifetime>> lifetimes = computeLifetimes(program);
  return lifetimes ? "" : lifetimes.getMessage();
}

TEST(BufferLifetimesTest, OneStream) {
  StreamProgram program;
  program.numBuffers = 5;
  program.ops = {makeOp(0, {0}, {1}), makeOp(0, {1}, {2}), makeOp(0, {0}, {}),
                 makeOp(0, {}, {3})};
  program.liveIn = {0};
  program.liveOut = {2};
  EXPECT_EQ(lifetimesOf(program),
            (std::vector<Steps>{{0, 3}, {0, 2}, {1, 4}, {3, 4}, {0, 0}}));
}

/// Stream 1 reads buffer 0 in step 1. Stream 0 waits for that in step 3.
static StreamProgram makeTwoStreams() {
  StreamProgram program;
  program.numStreams = 2;
  program.numEvents = 2;
  program.numBuffers = 4;
  program.ops = {makeOp(0, {}, {0}, {}, 0), makeOp(1, {0}, {}, {0}, 1),
                 makeOp(0, {}, {1}), makeOp(0, {}, {2}, {1}),
                 makeOp(0, {1, 2}, {3})};
  return program;
}

TEST(BufferLifetimesTest, LiveUntilAnotherStreamWaits) {
  EXPECT_EQ(lifetimesOf(makeTwoStreams()),
            (std::vector<Steps>{{0, 3}, {2, 5}, {3, 5}, {4, 5}}));
}

/// Step 3 reads buffer 1 and writes buffer 2 for the first time.
TEST(BufferLifetimesTest, EndsInOneOperation) {
  auto ends = [](const StreamProgram &program, uint32_t buffer) {
    return (*computeLifetimes(program))[buffer].endsInOneOp;
  };
  StreamProgram program = makeTwoStreams();
  program.ops[3].reads = {0, 1};
  program.ops[4].reads = {2};
  EXPECT_TRUE(ends(program, 1));
  EXPECT_TRUE(ends(program, 0));
  // Stream 1 may still read buffer 0 when it has not been waited for.
  program.ops[3].waits.clear();
  EXPECT_TRUE(ends(program, 1));
  EXPECT_FALSE(ends(program, 0));
  // The last operation begins no lifetime.
  program.ops[4].writes = {1};
  EXPECT_FALSE(ends(program, 1));
}

TEST(BufferLifetimesTest, LiveToTheEndIfNothingWaits) {
  StreamProgram program = makeTwoStreams();
  program.ops[3].waits.clear();
  EXPECT_EQ(lifetimesOf(program)[0], Steps(0, 5));
}

TEST(BufferLifetimesTest, TheSameStreamNeedNotWait) {
  StreamProgram program = makeTwoStreams();
  for (size_t step = 2; step != program.ops.size(); ++step) {
    program.ops[step].stream = 1;
    program.ops[step].waits.clear();
  }
  EXPECT_EQ(lifetimesOf(program)[0], Steps(0, 2));
}

/// Operations of stream 1 overlap: that the first is done with buffer 0 is
/// known only from its event.
TEST(BufferLifetimesTest, OverlappingOperationsOfOneStream) {
  StreamProgram program = makeTwoStreams();
  program.overlapping = {1};
  program.ops[2] = makeOp(1, {}, {1});
  program.ops[3] = makeOp(1, {}, {2}, {1});
  program.ops[4] = makeOp(1, {}, {3});
  EXPECT_EQ(lifetimesOf(program)[0], Steps(0, 3));
  EXPECT_EQ(lifetimesOf(program)[1], Steps(2, 5));
  program.ops[4].reads = {1};
  EXPECT_EQ(errorOf(program),
            "operation 4 on stream 1 reads buffer 1 without waiting for "
            "operation 2 on stream 1, which first writes it");
  program.overlapping = {2};
  EXPECT_EQ(errorOf(program),
            "the list of streams that overlap names stream 2, but there are "
            "only 2");
}

TEST(BufferLifetimesTest, WaitingIsTransitive) {
  // Stream 2 learns of stream 0 through stream 1.
  StreamProgram program;
  program.numStreams = 3;
  program.numEvents = 2;
  program.numBuffers = 3;
  program.ops = {makeOp(0, {}, {0}, {}, 0), makeOp(1, {}, {1}, {0}, 1),
                 makeOp(2, {0}, {2}, {1})};
  EXPECT_EQ(lifetimesOf(program)[0], Steps(0, 3));
  program.ops[1].waits.clear();
  EXPECT_EQ(errorOf(program),
            "operation 2 on stream 2 reads buffer 0 without waiting for "
            "operation 0 on stream 0, which first writes it");
}

TEST(BufferLifetimesTest, MalformedPrograms) {
  StreamProgram program = makeTwoStreams();
  program.ops[1].waits = {1};
  EXPECT_EQ(errorOf(program), "operation 1 waits for event 1, which no earlier "
                              "operation records");
  program = makeTwoStreams();
  program.ops[0].writes = {};
  EXPECT_EQ(errorOf(program),
            "operation 1 reads buffer 0, which nothing has written");
  program = makeTwoStreams();
  program.ops[2].writes = {4};
  EXPECT_EQ(errorOf(program),
            "operation 2 names buffer 4, but there are only 4");
  program = makeTwoStreams();
  program.ops[2].stream = 2;
  EXPECT_EQ(errorOf(program),
            "operation 2 names stream 2, but there are only 2");
  program = makeTwoStreams();
  program.numBuffers = 5;
  program.liveOut = {4};
  EXPECT_EQ(errorOf(program),
            "buffer 4 is live after the program, but nothing writes it");
}

namespace {
/// Which operations are complete before which run, by closure over all pairs.
/// An event stands for all that was issued on its stream before it.
class HappensBefore {
public:
  explicit HappensBefore(const StreamProgram &program)
      : size(program.ops.size()), before(size, std::vector<bool>(size)) {
    std::vector<int64_t> recorder(program.numEvents, -1);
    for (size_t step = 0; step != size; ++step) {
      const StreamOp &op = program.ops[step];
      bool overlaps = is_contained(program.overlapping, op.stream);
      for (size_t other = 0; other != step; ++other)
        if (program.ops[other].stream == op.stream)
          add(other, step, /*itself=*/!overlaps);
      for (uint32_t event : op.waits)
        for (int64_t other = recorder[event]; other >= 0; --other)
          if (program.ops[other].stream == program.ops[recorder[event]].stream)
            add(other, step);
      if (op.records)
        recorder[*op.records] = static_cast<int64_t>(step);
    }
  }
  bool operator()(size_t a, size_t b) const { return before[a][b]; }

private:
  /// What is before a is before b, and so is a itself unless told otherwise.
  void add(size_t a, size_t b, bool itself = true) {
    before[a][b] = before[a][b] || itself;
    for (size_t other = 0; other != a; ++other)
      if (before[other][a])
        before[other][b] = true;
  }
  size_t size;
  std::vector<std::vector<bool>> before;
};
} // namespace

TEST(BufferLifetimesTest, DisjointLifetimesAreOrdered) {
  size_t disjoint = 0;
  for (uint64_t seed = 0; seed != 200; ++seed) {
    std::mt19937_64 random(seed);
    StreamProgram program;
    program.numStreams = 3;
    if (seed % 2 == 1)
      program.overlapping = {1, 2};
    program.numBuffers = program.numEvents = 30;
    for (uint32_t step = 0; step != 30; ++step) {
      StreamOp op = makeOp(random() % 3, {}, {step}, {}, step);
      if (step != 0 && random() % 2 == 0) {
        uint32_t producer = random() % step;
        op.waits = {producer};
        op.reads = {producer};
      }
      program.ops.push_back(op);
    }
    std::vector<Steps> lifetimes = lifetimesOf(program);
    HappensBefore isBefore(program);
    for (uint32_t later = 0; later != 30; ++later)
      for (uint32_t earlier = 0; earlier != 30; ++earlier) {
        if (lifetimes[earlier].second > lifetimes[later].first)
          continue;
        ++disjoint;
        for (uint32_t step = 0; step != 30; ++step)
          if (step == earlier || is_contained(program.ops[step].reads, earlier))
            EXPECT_TRUE(isBefore(step, later))
                << "seed " << seed << ": " << step << " and " << later;
      }
  }
  EXPECT_GT(disjoint, 0U);
}
