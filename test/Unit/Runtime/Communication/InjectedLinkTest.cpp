//===- InjectedLinkTest.cpp - Tests of slow collectives -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Only lower bounds are asserted: how much longer something takes is up to the
// machine.
//
//===----------------------------------------------------------------------===//

#include "../Program/TestProgram.h"
#include "RankThreads.h"

#include <atomic>
#include <chrono>

using namespace regather::test;

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// An all_reduce of ones, in place of `numbers`.
static rg_future *startAllReduce(rg_comm *comm, Tensor<float> &numbers) {
  rg_member member = getMember(RG_F32, numbers, numbers);
  rg_collective collective = getCollective(RG_ALL_REDUCE, &member, 1);
  rg_future *future = nullptr;
  EXPECT_EQ(rg_start(comm, &collective, &future), RG_OK);
  return future;
}

TEST(InjectedLinkTest, CollectivesTakeLatencyAndBandwidth) {
  // Each rank receives 2 * 3/4 of 4000 bytes: 60 ms at 100 kB/s, and 20 ms.
  TestWorld world(4, 0, 3, 0.02, 1e5);
  world.run([&](int32_t rank) {
    Tensor<float> numbers({1000}, float(rank));
    Clock::time_point begin = Clock::now();
    rg_future *future = startAllReduce(world.getComm(rank), numbers);
    EXPECT_EQ(rg_wait(future), RG_OK);
    EXPECT_GE(secondsSince(begin), 0.08);
    EXPECT_EQ(numbers.data, std::vector<float>(1000, 6));
  });
}

// Two collectives on one group share its link. That of another group does not
// wait for them, which only the machine could show.
TEST(InjectedLinkTest, CollectivesOfAGroupFollowEachOther) {
  TestWorld world(2, 0, 3, 0.03);
  world.run([&](int32_t rank) {
    Tensor<float> first({4}), second({4});
    Clock::time_point begin = Clock::now();
    rg_future *one = startAllReduce(world.getComm(rank), first);
    rg_future *two = startAllReduce(world.getComm(rank), second);
    EXPECT_EQ(rg_wait(one), RG_OK);
    EXPECT_GE(secondsSince(begin), 0.03);
    EXPECT_EQ(rg_wait(two), RG_OK);
    EXPECT_GE(secondsSince(begin), 0.06);
  });
}

// Time that is spent on something else counts: a rank that asks late need not
// wait. And a test says no until then.
TEST(InjectedLinkTest, TimeGoesOnWhileNobodyWaits) {
  TestWorld world(2, 0, 3, 0.02);
  world.run([&](int32_t rank) {
    Tensor<float> numbers({4});
    Clock::time_point begin = Clock::now();
    rg_future *future = startAllReduce(world.getComm(rank), numbers);
    int32_t done = 0;
    while (!done) {
      ASSERT_EQ(rg_test(future, &done), RG_OK);
      std::this_thread::yield();
    }
    EXPECT_GE(secondsSince(begin), 0.02);
    EXPECT_EQ(rg_wait(future), RG_OK);
  });
}

// A rank alone has no link; a latency of a year would show.
TEST(InjectedLinkTest, GroupsOfOneTakeNoTime) {
  TestWorld world(1, 0, 3, 3e7);
  world.run([&](int32_t rank) {
    Tensor<float> numbers({4}, 3);
    rg_future *future = startAllReduce(world.getComm(rank), numbers);
    EXPECT_EQ(rg_wait(future), RG_OK);
    EXPECT_EQ(numbers.data, std::vector<float>(4, 3));
  });
}

// Whoever is on the way when the world fails is told at once.
TEST(InjectedLinkTest, FailuresEndTheWait) {
  TestWorld world(2, 0, 3, 3e7);
  std::atomic<int> numStarted = 0;
  world.run([&](int32_t rank) {
    Tensor<float> numbers({4});
    rg_future *future = startAllReduce(world.getComm(rank), numbers);
    ++numStarted;
    if (rank == 0) {
      while (numStarted < 2)
        std::this_thread::yield();
      rg_world_abort(world.get(), "enough");
    }
    EXPECT_EQ(rg_wait(future), RG_ERROR_ABORTED);
  });
}

// Each collective of the step reads what the one before it has written.
TEST(InjectedLinkTest, StepsMeasureWhatTheyWait) {
  TestProgram test;
  test.ranks = 2;
  int32_t axes = test.addAxes({2}, {1});
  int32_t reduce = test.addCollective(RG_ALL_REDUCE, axes, 1, 1);
  test.add(RG_OP_AXIS_INDEX, axes, {arena(0)});
  for (int64_t i = 0; i < 3; ++i) {
    test.add(RG_OP_COLLECTIVE, reduce, {arena(i), arena(i + 1)}, 1);
    test.add(RG_OP_RECORD, 0, {}, 1);
    test.add(RG_OP_WAIT, 0, {}, 0);
  }
  test.addResult(1, arena(3));
  rg_executor_options options = {};
  options.latency_seconds = 0.01;
  TestExecutor executor(test, options);
  for (int step = 0; step < 2; ++step) {
    Clock::time_point begin = Clock::now();
    ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
    double seconds = secondsSince(begin);
    EXPECT_GE(seconds, 0.03);
    EXPECT_EQ(executor.getResult(0), std::vector<int64_t>{4});
    for (int32_t rank : {0, 1}) {
      EXPECT_GT(executor.getWaitSeconds(rank), 0);
      EXPECT_LE(executor.getWaitSeconds(rank), seconds);
    }
  }
}

TEST(InjectedLinkTest, ExecutorsCheckTheirOptions) {
  TestProgram test;
  rg_executor_options options = {};
  options.latency_seconds = -1;
  EXPECT_EQ(TestExecutor(test, options).getError(),
            "numbers of ranks and threads, the timeout, latency and bandwidths "
            "must not be negative");
}

// The bytes are those of CollectiveOpInterface::getReceivedBytes, whose numbers
// for the same shapes the lit tests of `regather stats` check.
TEST(InjectedLinkTest, EachKindHasItsBytes) {
  struct Case {
    rg_kind kind;
    Shape input, output;
    double bytes;
  };
  for (const Case &one : {Case{RG_ALL_GATHER, {1000}, {4000}, 12000},
                          Case{RG_REDUCE_SCATTER, {4000}, {1000}, 12000},
                          Case{RG_ALL_TO_ALL, {4000}, {4000}, 12000},
                          Case{RG_BROADCAST, {3000}, {3000}, 12000}}) {
    TestWorld world(4, 0, 3, 0, 4e5);
    world.run([&](int32_t rank) {
      Tensor<float> input(one.input), output(one.output);
      rg_member member = getMember(RG_F32, input, output);
      rg_collective collective = getCollective(one.kind, &member, 1);
      Clock::time_point begin = Clock::now();
      EXPECT_EQ(runCollective(world.getComm(rank), collective), RG_OK);
      EXPECT_GE(secondsSince(begin), one.bytes / 4e5);
    });
  }
}
