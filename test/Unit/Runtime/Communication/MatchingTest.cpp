//===- MatchingTest.cpp - Tests of ranks that disagree --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankThreads.h"

using namespace regather::test;

namespace {

/// Two ranks that run one all_reduce of 4 elements, for tests to break on
/// rank 1.
class MismatchTest : public testing::Test {
protected:
  struct Rank {
    Shape inputShape = {4};
    Shape outputShape = {4};
    double input[8] = {};
    double output[8] = {};
    std::vector<rg_member> members;
    std::vector<int32_t> sources = {0}, targets = {1};
    rg_collective collective = getCollective(RG_ALL_REDUCE, nullptr, 0);
  };
  Rank ranks[2];

  void SetUp() override {
    for (Rank &rank : ranks)
      rank.members = {{RG_F32, 1, nullptr, nullptr, rank.input, rank.output}};
    ranks[0].collective.name = "first.mlir:1";
    ranks[1].collective.name = "second.mlir:2";
  }

  /// Runs both; each sees the failure, be it when it starts or when it waits.
  void expectMismatch(const std::string &difference) {
    TestWorld world(2);
    std::vector<rg_status> statuses(2);
    world.run([&](int32_t index) {
      Rank &rank = ranks[index];
      for (rg_member &member : rank.members) {
        member.input_shape = rank.inputShape.data();
        member.output_shape = rank.outputShape.data();
      }
      rank.collective.members = rank.members.data();
      rank.collective.member_count = int64_t(rank.members.size());
      rank.collective.sources = rank.sources.data();
      rank.collective.targets = rank.targets.data();
      rank.collective.pair_count = int64_t(rank.sources.size());
      // One that matches goes before, so that the number is not zero.
      rg_collective empty = getCollective(RG_BROADCAST, nullptr, 0);
      EXPECT_EQ(runCollective(world.getComm(index), empty), RG_OK);
      statuses[index] = runCollective(world.getComm(index), rank.collective);
      // The failure stays.
      EXPECT_EQ(runCollective(world.getComm(index), empty), RG_ERROR_MISMATCH);
    });
    EXPECT_EQ(statuses, std::vector<rg_status>(2, RG_ERROR_MISMATCH));
    std::string error = world.getError();
    for (const std::string &part :
         {std::string("collective 1 of group [0, 1] differs in "), difference,
          std::string("rank 0 starts 'first.mlir:1'"),
          std::string("rank 1 starts 'second.mlir:2'")})
      EXPECT_NE(error.find(part), std::string::npos) << error;
  }
};

TEST_F(MismatchTest, Kind) {
  ranks[1].collective.kind = RG_BROADCAST;
  expectMismatch("kind: ");
}
TEST_F(MismatchTest, Tag) {
  ranks[1].collective.tag = 7;
  expectMismatch("tag: ");
}
TEST_F(MismatchTest, Reduction) {
  ranks[1].collective.reduction = RG_MAX;
  expectMismatch("reduction: ");
}
TEST_F(MismatchTest, Accumulate) {
  ranks[1].collective.accumulate = RG_F64;
  expectMismatch("accumulate: ");
}
TEST_F(MismatchTest, NumberOfMembers) {
  ranks[1].members.push_back(ranks[1].members[0]);
  expectMismatch("number of members: ");
}
TEST_F(MismatchTest, Type) {
  ranks[1].members[0].dtype = RG_BF16;
  expectMismatch("member 0 input: ");
}
TEST_F(MismatchTest, InputShape) {
  ranks[1].inputShape = ranks[1].outputShape = {3};
  expectMismatch("member 0 input: ");
}
TEST_F(MismatchTest, OutputShape) {
  for (Rank &rank : ranks)
    rank.collective.kind = RG_ALL_GATHER;
  ranks[0].outputShape = {8};
  ranks[1].outputShape = {7};
  expectMismatch("member 0 output: ");
}
TEST_F(MismatchTest, Root) {
  for (Rank &rank : ranks)
    rank.collective.kind = RG_BROADCAST;
  ranks[1].collective.root = 1;
  expectMismatch("root: ");
}
TEST_F(MismatchTest, Dim) {
  for (Rank &rank : ranks) {
    rank.collective.kind = RG_REDUCE_SCATTER;
    rank.members[0].rank = 2;
    rank.inputShape = {2, 2};
  }
  ranks[0].outputShape = {1, 2};
  ranks[1].outputShape = {2, 1};
  ranks[1].collective.dim = 1;
  expectMismatch("dim: ");
}
TEST_F(MismatchTest, SplitDim) {
  for (Rank &rank : ranks) {
    rank.collective.kind = RG_ALL_TO_ALL;
    rank.members[0].rank = 2;
    rank.inputShape = rank.outputShape = {2, 2};
  }
  ranks[1].collective.split_dim = ranks[1].collective.concat_dim = 1;
  expectMismatch("split_dim: ");
}
TEST_F(MismatchTest, ConcatDim) {
  for (Rank &rank : ranks) {
    rank.collective.kind = RG_ALL_TO_ALL;
    rank.members[0].rank = 2;
    rank.inputShape = rank.outputShape = {2, 2};
  }
  ranks[1].outputShape = {1, 4};
  ranks[1].collective.concat_dim = 1;
  expectMismatch("concat_dim: ");
}
TEST_F(MismatchTest, Sources) {
  for (Rank &rank : ranks)
    rank.collective.kind = RG_PERMUTE;
  ranks[1].sources = {1};
  expectMismatch("sources: ");
}
TEST_F(MismatchTest, Targets) {
  for (Rank &rank : ranks)
    rank.collective.kind = RG_PERMUTE;
  ranks[1].targets = {0};
  expectMismatch("targets: ");
}

// What a kind does not use is not compared, and neither are names.
TEST_F(MismatchTest, IgnoresUnusedFields) {
  TestWorld world(2);
  world.run([&](int32_t rank) {
    rg_collective collective = getCollective(RG_BROADCAST, nullptr, 0);
    collective.name = rank ? "one" : "another";
    collective.dim = collective.split_dim = collective.concat_dim = rank;
    collective.reduction = rank ? RG_MAX : RG_SUM;
    collective.accumulate = rank ? RG_F32 : RG_F64;
    EXPECT_EQ(runCollective(world.getComm(rank), collective), RG_OK);
  });
}

// Both groups contain ranks 0 and 1, which start their collectives crosswise.
// Nothing blocks here, and still it is an error.
TEST(OrderTest, FindsSwappedGroups) {
  TestWorld world(3);
  const std::vector<int32_t> pair = {0, 1}, all = {0, 1, 2};
  world.run([&](int32_t rank) {
    rg_collective onPair = getCollective(RG_BROADCAST, nullptr, 0);
    rg_collective onAll = onPair;
    onPair.name = "on pair";
    onAll.name = "on all";
    rg_future *futures[2] = {};
    auto start = [&](const std::vector<int32_t> &members,
                     const rg_collective &collective, rg_future *&future) {
      return rg_start(world.getComm(rank, members), &collective, &future);
    };
    if (rank == 0) {
      start(pair, onPair, futures[0]);
      start(all, onAll, futures[1]);
    } else {
      start(all, onAll, futures[0]);
      if (rank == 1)
        start(pair, onPair, futures[1]);
    }
    for (rg_future *future : futures)
      if (future)
        rg_wait(future);
    rg_future *last = nullptr;
    rg_status status = start(all, onAll, last);
    if (status == RG_OK)
      status = rg_wait(last);
    EXPECT_EQ(status, RG_ERROR_MISMATCH);
  });
  std::string error = world.getError();
  for (const char *part :
       {"different order", "'on pair'", "'on all'", "rank 0 starts",
        "rank 1 starts", "collective 0 of group [0, 1, 2]",
        "collective 0 of group [0, 1]"})
    EXPECT_NE(error.find(part), std::string::npos) << error;
}

// Ranks may be far ahead of each other as long as the order is one.
TEST(OrderTest, AllowsALead) {
  TestWorld world(2);
  rg_collective collective = getCollective(RG_BROADCAST, nullptr, 0);
  std::vector<rg_future *> futures;
  for (int32_t rank : {0, 1})
    for (int i = 0; i < 100; ++i) {
      std::vector<int32_t> members =
          i % 3 ? std::vector<int32_t>{0, 1} : std::vector<int32_t>{1, 0};
      rg_future *future = nullptr;
      ASSERT_EQ(rg_start(world.getComm(rank, members), &collective, &future),
                RG_OK);
      futures.push_back(future);
    }
  for (rg_future *future : futures)
    EXPECT_EQ(rg_wait(future), RG_OK);
}

} // namespace
