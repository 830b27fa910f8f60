//===- ProgressTest.cpp - Tests that nothing blocks for ever --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Starts return before anybody else arrives, and waits that cannot end fail.
//
//===----------------------------------------------------------------------===//

#include "RankThreads.h"

#include <algorithm>
#include <atomic>
#include <chrono>

using namespace regather::test;

namespace {

void expectParts(const std::string &text,
                 const std::vector<std::string> &parts) {
  for (const std::string &part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in:\n"
                                                  << text;
}

rg_collective getEmpty(const char *name) {
  rg_collective collective = getCollective(RG_BROADCAST, nullptr, 0);
  collective.name = name;
  return collective;
}

// One thread plays both ranks, so a start that waited would never return.
TEST(AsynchronyTest, StartReturnsBeforePeersArrive) {
  TestWorld world(2);
  std::vector<Tensor<int32_t>> inputs, outputs;
  for (int32_t rank : {0, 1}) {
    inputs.emplace_back(Shape{1}, rank + 10);
    outputs.emplace_back(Shape{2}, -1);
  }
  rg_future *futures[2];
  for (int32_t rank : {0, 1}) {
    rg_member member = getMember(RG_I32, inputs[rank], outputs[rank]);
    rg_collective collective = getCollective(RG_ALL_GATHER, &member, 1);
    ASSERT_EQ(rg_start(world.getComm(rank), &collective, &futures[rank]),
              RG_OK);
    // The description is copied: what it pointed to is gone now.
    if (rank == 0) {
      int32_t done = 1;
      EXPECT_EQ(rg_test(futures[0], &done), RG_OK);
      EXPECT_EQ(done, 0);
      EXPECT_EQ(outputs[0].data, std::vector<int32_t>({-1, -1}));
    }
  }
  EXPECT_EQ(rg_test(futures[0], nullptr), RG_ERROR_ARGUMENT);
  // Workers finish it although no rank waits.
  int32_t done = 0;
  while (!done)
    ASSERT_EQ(rg_test(futures[0], &done), RG_OK);
  for (int32_t rank : {0, 1}) {
    EXPECT_EQ(rg_wait(futures[rank]), RG_OK);
    EXPECT_EQ(outputs[rank].data, std::vector<int32_t>({10, 11}));
  }
}

TEST(DeadlockTest, ListsWhoWaitsForWhom) {
  TestWorld world(3);
  std::vector<rg_status> statuses(3);
  world.run([&](int32_t rank) {
    // Each pair of neighbours has a group, and all wait for their successor.
    int32_t next = (rank + 1) % 3;
    std::vector<int32_t> members = {rank, next};
    const char *names[] = {"a.mlir:1", "b.mlir:2", "c.mlir:3"};
    statuses[rank] =
        runCollective(world.getComm(rank, members), getEmpty(names[rank]));
  });
  EXPECT_EQ(statuses, std::vector<rg_status>(3, RG_ERROR_DEADLOCK));
  EXPECT_EQ(world.getError(),
            "deadlock: ranks wait for collectives that can never complete\n"
            "  rank 0 waits for 'a.mlir:1' (collective 0 of group [0, 1]), not "
            "started by rank 1\n"
            "  rank 1 waits for 'b.mlir:2' (collective 0 of group [1, 2]), not "
            "started by rank 2\n"
            "  rank 2 waits for 'c.mlir:3' (collective 0 of group [2, 0]), not "
            "started by rank 0");
}

// Ranks 1 and 2 are done; rank 0 hears of it at once.
TEST(DeadlockTest, FinishedRanksAreSaidToBe) {
  TestWorld world(3);
  EXPECT_EQ(rg_rank_finish(world.get(), 1), RG_OK);
  EXPECT_EQ(rg_rank_finish(world.get(), 2), RG_OK);
  EXPECT_EQ(runCollective(world.getComm(0), getEmpty("late.mlir:1")),
            RG_ERROR_DEADLOCK);
  expectParts(world.getError(),
              {"rank 0 waits for 'late.mlir:1' (collective 0 of group [0, 1, "
               "2]), not started by ranks [1, 2]",
               "rank 1 is finished", "rank 2 is finished"});
}

// One rank still runs, but cannot help.
TEST(DeadlockTest, AFinishedRankEndsAWaitWhileOthersRun) {
  for (int32_t running : {0, 1, 2}) {
    TestWorld world(3);
    int32_t waiting = (running + 1) % 3, finished = (running + 2) % 3;
    std::thread waiter([&] {
      rg_comm *comm = world.getComm(waiting, {waiting, finished});
      EXPECT_EQ(runCollective(comm, getEmpty("a")), RG_ERROR_DEADLOCK);
    });
    EXPECT_EQ(rg_rank_finish(world.get(), finished), RG_OK);
    waiter.join();
    expectParts(world.getError(),
                {"rank " + std::to_string(running) + " is running"});
  }
}

// Three ranks wait for each other in a ring while the fourth runs on. (Two that
// share both groups would be a mismatch of order already.)
TEST(DeadlockTest, FindsCyclesWhileOthersRun) {
  for (int32_t running : {0, 1, 2, 3}) {
    TestWorld world(4);
    std::vector<std::thread> threads;
    for (int32_t i : {0, 1, 2})
      threads.emplace_back([&, i] {
        int32_t rank = (running + 1 + i) % 4;
        int32_t next = (running + 1 + (i + 1) % 3) % 4;
        EXPECT_EQ(
            runCollective(world.getComm(rank, {rank, next}), getEmpty("a")),
            RG_ERROR_DEADLOCK);
      });
    for (std::thread &thread : threads)
      thread.join();
    expectParts(world.getError(),
                {"rank " + std::to_string(running) + " is running"});
  }
}

// A chain of waits ends at a rank that runs, so it is no deadlock.
TEST(DeadlockTest, AllowsChains) {
  TestWorld world(3);
  world.run([&](int32_t rank) {
    if (rank == 2)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (std::vector<int32_t> members : {std::vector<int32_t>{1, 2}, {0, 1}})
      if (std::count(members.begin(), members.end(), rank)) {
        EXPECT_EQ(runCollective(world.getComm(rank, members), getEmpty("a")),
                  RG_OK);
      }
  });
}

// A rank that started its part and finished is not missed.
TEST(DeadlockTest, FinishedRanksMayStillWait) {
  TestWorld world(2);
  rg_future *futures[2];
  rg_collective collective = getEmpty("a");
  ASSERT_EQ(rg_start(world.getComm(0), &collective, &futures[0]), RG_OK);
  EXPECT_EQ(rg_rank_finish(world.get(), 0), RG_OK);
  std::thread waiter([&] { EXPECT_EQ(rg_wait(futures[0]), RG_OK); });
  ASSERT_EQ(rg_start(world.getComm(1), &collective, &futures[1]), RG_OK);
  EXPECT_EQ(rg_wait(futures[1]), RG_OK);
  waiter.join();
}

// For another round of work. A rank that still counted as finished would end
// the wait of the other one.
TEST(DeadlockTest, FinishedRanksMayBeResumed) {
  TestWorld world(2);
  for (int round = 0; round < 2; ++round) {
    for (int32_t rank : {0, 1})
      EXPECT_EQ(rg_rank_resume(world.get(), rank), RG_OK);
    world.run([&](int32_t rank) {
      if (rank == 1)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_EQ(runCollective(world.getComm(rank), getEmpty("a")), RG_OK);
    });
  }
}

// A wait is no deadlock while a rank runs that can still start its part.
TEST(DeadlockTest, WaitsForSlowRanks) {
  TestWorld world(2);
  world.run([&](int32_t rank) {
    for (int i = 0; i < 3; ++i) {
      if (rank == 1)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_EQ(runCollective(world.getComm(rank), getEmpty("a")), RG_OK);
    }
  });
}

TEST(TimeoutTest, IsTheLastResort) {
  TestWorld world(2, /*timeoutSeconds=*/0.05);
  // Rank 1 neither starts, waits nor finishes.
  EXPECT_EQ(runCollective(world.getComm(0), getEmpty("a.mlir:1")),
            RG_ERROR_TIMEOUT);
  expectParts(
      world.getError(),
      {"timeout: rank 0 waited for too long",
       "rank 0 waits for 'a.mlir:1' (collective 0 of group [0, 1]), not "
       "started by rank 1",
       "rank 1 is running"});
  EXPECT_EQ(runCollective(world.getComm(1), getEmpty("a")), RG_ERROR_TIMEOUT);
}

TEST(AbortTest, WakesAllWaiters) {
  TestWorld world(3);
  std::atomic<int> numStarted(0);
  std::vector<std::thread> threads;
  for (int32_t rank : {0, 1})
    threads.emplace_back([&, rank] {
      rg_collective collective = getEmpty("a");
      rg_future *future = nullptr;
      EXPECT_EQ(rg_start(world.getComm(rank), &collective, &future), RG_OK);
      ++numStarted;
      EXPECT_EQ(rg_wait(future), RG_ERROR_ABORTED);
    });
  while (numStarted < 2)
    std::this_thread::yield();
  rg_world_abort(world.get(), "out of patience");
  rg_world_abort(world.get(), "again");
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(world.getError(), "out of patience");
  EXPECT_EQ(runCollective(world.getComm(2), getEmpty("a")), RG_ERROR_ABORTED);
}

TEST(AbortTest, NeedsNoMessage) {
  TestWorld world(1);
  rg_world_abort(world.get(), nullptr);
  EXPECT_EQ(world.getError(), "world was aborted");
}

// Buffers outlive the world here, as they must; waits and futures do not.
TEST(DestroyTest, EndsWorkInFlight) {
  const int64_t size = 1 << 18;
  Tensor<float> input({size}, 1.0f);
  Tensor<float> outputs[2] = {Tensor<float>({size}), Tensor<float>({size})};
  for (int repeat = 0; repeat < 10; ++repeat) {
    rg_world_options options = {3, 2, 0, 0, 0};
    rg_world *world = nullptr;
    ASSERT_EQ(rg_world_create(&options, &world), RG_OK);
    const int32_t pair[] = {0, 1}, other[] = {0, 2};
    for (int32_t rank : {0, 1}) {
      rg_comm *comm = nullptr;
      ASSERT_EQ(rg_comm_get(world, rank, pair, 2, &comm), RG_OK);
      rg_member member = getMember(RG_F32, input, outputs[rank]);
      rg_collective collective = getCollective(RG_ALL_REDUCE, &member, 1);
      rg_future *future = nullptr;
      ASSERT_EQ(rg_start(comm, &collective, &future), RG_OK);
    }
    rg_comm *comm = nullptr;
    ASSERT_EQ(rg_comm_get(world, 0, other, 2, &comm), RG_OK);
    rg_collective collective = getEmpty("a");
    rg_future *future = nullptr;
    ASSERT_EQ(rg_start(comm, &collective, &future), RG_OK);
    rg_world_destroy(world);
  }
}

} // namespace
