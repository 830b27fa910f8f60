//===- StressTest.cpp - Random programs on a mesh -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random programs over all groups of a 2 x 2 mesh: every rank runs the same
// starts, and waits for its futures in an order of its own. Each run has to
// give the bits of a run with one worker.
//
//===----------------------------------------------------------------------===//

#include "RankThreads.h"

#include <random>

using namespace regather::test;

namespace {

constexpr int32_t kRanks = 4;

/// One collective of the program, the same for all ranks.
struct Step {
  rg_kind kind;
  int groups; ///< index into `getGroup`
  int64_t size;
  int32_t root;
};

/// The groups of `rank` along the first axis, the second, and both.
std::vector<int32_t> getGroup(int32_t rank, int groups) {
  switch (groups) {
  case 0:
    return {rank % 2, rank % 2 + 2};
  case 1:
    return {rank - rank % 2, rank - rank % 2 + 1};
  default:
    return {0, 1, 2, 3};
  }
}

std::vector<Step> getProgram(uint32_t seed, size_t length) {
  std::mt19937 random(seed);
  std::vector<Step> program(length);
  for (Step &step : program) {
    step.kind = rg_kind(random() % 6);
    step.groups = int(random() % 3);
    step.size = int64_t(random() % 50);
    step.root = int32_t(random() % 2);
  }
  return program;
}

/// One step as one rank runs it.
struct Running {
  Tensor<float> input{Shape{0}};
  Tensor<float> output{Shape{0}};
  rg_future *future = nullptr;
};

void start(const TestWorld &world, int32_t rank, const Step &step,
           std::mt19937 &values, Running &running) {
  rg_comm *comm = world.getComm(rank, getGroup(rank, step.groups));
  int64_t ranks = rg_comm_size(comm);
  int64_t shard = (step.size + ranks - 1) / ranks;
  Shape inputShape = {step.size}, outputShape = {step.size};
  if (step.kind == RG_ALL_GATHER)
    inputShape = {shard};
  if (step.kind == RG_REDUCE_SCATTER)
    outputShape = {shard};
  if (step.kind == RG_ALL_TO_ALL)
    inputShape = outputShape = {shard * ranks};
  running.input = Tensor<float>(inputShape);
  running.output = Tensor<float>(outputShape, -1);
  for (float &value : running.input.data)
    value = std::uniform_real_distribution<float>(-1, 1)(values);

  rg_member member = getMember(RG_F32, running.input, running.output);
  rg_collective collective = getCollective(step.kind, &member, 1);
  collective.reduction = RG_AVG;
  collective.root = step.root;
  int32_t sources[] = {0, 1}, targets[] = {1, 0};
  collective.sources = sources;
  collective.targets = targets;
  collective.pair_count = 2;
  ASSERT_EQ(rg_start(comm, &collective, &running.future), RG_OK)
      << world.getError();
}

/// The outputs of all steps on all ranks.
std::vector<float> runProgram(const std::vector<Step> &program, int32_t workers,
                              uint32_t schedule) {
  TestWorld world(kRanks, 0, workers);
  std::vector<std::vector<Running>> running(
      kRanks, std::vector<Running>(program.size()));
  world.run([&](int32_t rank) {
    // Values belong to the program; when to wait belongs to the schedule.
    std::mt19937 values(rank);
    std::mt19937 waits(schedule * kRanks + rank);
    std::vector<Running *> pending;
    auto waitForOne = [&] {
      size_t chosen = waits() % pending.size();
      ASSERT_EQ(rg_wait(pending[chosen]->future), RG_OK) << world.getError();
      pending.erase(pending.begin() + chosen);
    };
    for (size_t i = 0; i < program.size(); ++i) {
      start(world, rank, program[i], values, running[rank][i]);
      if (testing::Test::HasFatalFailure())
        return;
      pending.push_back(&running[rank][i]);
      // Ranks may only wait for what others start without waiting for more:
      // keeping few futures is safe, as all start in one order.
      while (pending.size() > 1 && waits() % 8 == 0)
        waitForOne();
    }
    while (!pending.empty())
      waitForOne();
  });
  std::vector<float> result;
  for (const std::vector<Running> &steps : running)
    for (const Running &step : steps)
      result.insert(result.end(), step.output.data.begin(),
                    step.output.data.end());
  return result;
}

TEST(StressTest, ResultsDoNotDependOnTiming) {
  for (uint32_t seed = 0; seed < 5; ++seed) {
    std::vector<Step> program = getProgram(seed, 200);
    std::vector<float> expected = runProgram(program, 1, 0);
    for (uint32_t schedule = 1; schedule < 4; ++schedule) {
      std::vector<float> result =
          runProgram(program, int32_t(schedule * 2), schedule);
      ASSERT_EQ(result.size(), expected.size());
      ASSERT_EQ(std::memcmp(result.data(), expected.data(),
                            result.size() * sizeof(float)),
                0)
          << "seed " << seed << " schedule " << schedule;
    }
  }
}

// One rank leaves the program at a random place: all others fail, none hangs.
TEST(StressTest, ARankThatLeavesEndsAll) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    std::vector<Step> program = getProgram(seed, 50);
    size_t leaves = random() % program.size();
    TestWorld world(kRanks);
    std::vector<std::vector<Running>> running(
        kRanks, std::vector<Running>(program.size()));
    world.run([&](int32_t rank) {
      rg_status status = RG_OK;
      for (size_t i = 0; i < program.size() && status == RG_OK; ++i) {
        if (rank == 3 && i == leaves)
          return;
        rg_collective collective = getCollective(RG_BROADCAST, nullptr, 0);
        status = runCollective(
            world.getComm(rank, getGroup(rank, program[i].groups)), collective);
      }
      // Rank 0 shares no group with rank 3 but the whole mesh, so it may get
      // to the end.
      EXPECT_TRUE(status == RG_OK || status == RG_ERROR_DEADLOCK);
    });
  }
}

} // namespace
