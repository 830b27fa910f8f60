//===- ArgumentTest.cpp - Tests of wrong arguments ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each wrong call is refused with a text, and the world works on after it.
//
//===----------------------------------------------------------------------===//

#include "RankThreads.h"

#include <cmath>

using namespace regather::test;

extern "C" size_t regatherSizeFromC(void);

namespace {

TEST(NameTest, NamesTypesAndStatuses) {
  const std::vector<std::pair<std::string, size_t>> types = {
      {"f32", 4}, {"f64", 8}, {"bf16", 2}, {"f16", 2}, {"i1", 1},
      {"i8", 1},  {"i16", 2}, {"i32", 4},  {"i64", 8}};
  for (size_t i = 0; i < types.size(); ++i) {
    EXPECT_EQ(rg_dtype_name(int32_t(i)), types[i].first);
    EXPECT_EQ(rg_dtype_size(int32_t(i)), types[i].second);
  }
  EXPECT_EQ(rg_dtype_size(RG_DTYPE_AUTO), 0u);
  EXPECT_EQ(rg_dtype_size(RG_I64 + 1), 0u);
  EXPECT_STREQ(rg_dtype_name(RG_I64 + 1), "invalid");
  EXPECT_STREQ(rg_status_name(RG_OK), "ok");
  EXPECT_STREQ(rg_status_name(RG_ERROR_ABORTED), "aborted");
  EXPECT_STREQ(rg_status_name(-1), "invalid");
  EXPECT_EQ(regatherSizeFromC(), 2u);
}

TEST(WorldTest, ChecksOptions) {
  rg_world *world = nullptr;
  auto create = [&](int32_t ranks, int32_t workers, double timeout,
                    double latency = 0, double bandwidth = 0) {
    rg_world_options options = {ranks, workers, timeout, latency, bandwidth};
    return rg_world_create(&options, &world);
  };
  EXPECT_EQ(create(0, 0, 0), RG_ERROR_ARGUMENT);
  EXPECT_EQ(create(1, -1, 0), RG_ERROR_ARGUMENT);
  EXPECT_EQ(create(1, 0, -1), RG_ERROR_ARGUMENT);
  EXPECT_EQ(create(1, 0, NAN), RG_ERROR_ARGUMENT);
  for (double bad : {-1.0, double(NAN)}) {
    EXPECT_EQ(create(1, 0, 0, bad), RG_ERROR_ARGUMENT);
    EXPECT_EQ(create(1, 0, 0, 0, bad), RG_ERROR_ARGUMENT);
  }
  EXPECT_EQ(rg_world_create(nullptr, &world), RG_ERROR_ARGUMENT);
  EXPECT_EQ(world, nullptr);
  rg_world_options options = {1, 0, 0, 0, 0};
  EXPECT_EQ(rg_world_create(&options, nullptr), RG_ERROR_ARGUMENT);
  EXPECT_EQ(create(3, 0, HUGE_VAL), RG_OK);
  EXPECT_EQ(rg_world_ranks(world), 3);
  EXPECT_STREQ(rg_world_error(world), "");
  rg_world_destroy(world);
}

TEST(WorldTest, AcceptsNullHandles) {
  rg_world_destroy(nullptr);
  rg_world_abort(nullptr, "text");
  EXPECT_EQ(rg_world_ranks(nullptr), 0);
  EXPECT_STREQ(rg_world_error(nullptr), "");
  EXPECT_EQ(rg_rank_finish(nullptr, 0), RG_ERROR_ARGUMENT);
  EXPECT_EQ(rg_rank_resume(nullptr, 0), RG_ERROR_ARGUMENT);
  EXPECT_EQ(rg_comm_size(nullptr), 0);
  EXPECT_EQ(rg_comm_position(nullptr), -1);
  rg_comm *comm;
  int32_t member = 0;
  EXPECT_EQ(rg_comm_get(nullptr, 0, &member, 1, &comm), RG_ERROR_ARGUMENT);
  EXPECT_EQ(comm, nullptr);
  rg_future *future;
  rg_collective collective = getCollective(RG_BROADCAST, nullptr, 0);
  EXPECT_EQ(rg_start(nullptr, &collective, &future), RG_ERROR_ARGUMENT);
  EXPECT_EQ(future, nullptr);
  EXPECT_EQ(rg_wait(nullptr), RG_ERROR_ARGUMENT);
  int32_t done = 1;
  EXPECT_EQ(rg_test(nullptr, &done), RG_ERROR_ARGUMENT);
  EXPECT_EQ(done, 0);
}

TEST(CommunicatorTest, ChecksMembers) {
  auto getError = [](int32_t rank, const std::vector<int32_t> &members) {
    TestWorld world(4);
    rg_comm *comm = nullptr;
    EXPECT_EQ(rg_comm_get(world.get(), rank, members.data(),
                          int32_t(members.size()), &comm),
              RG_ERROR_ARGUMENT);
    EXPECT_EQ(comm, nullptr);
    return world.getError();
  };
  EXPECT_EQ(getError(1, {0, 2}), "rank 1 is no member of group [0, 2]");
  EXPECT_EQ(getError(0, {0, 2, 2}), "group [0, 2, 2] has member 2 twice");
  EXPECT_EQ(getError(0, {0, 4}),
            "group [0, 4]: members must be in 0..3, got 4");
  EXPECT_EQ(getError(0, {0, -1}),
            "group [0, -1]: members must be in 0..3, got -1");
  EXPECT_EQ(getError(4, {4}), "group [4]: members must be in 0..3, got 4");
  TestWorld world(4);
  rg_comm *comm;
  int32_t member = 0;
  EXPECT_EQ(rg_comm_get(world.get(), 0, &member, 0, &comm), RG_ERROR_ARGUMENT);
  EXPECT_EQ(rg_comm_get(world.get(), 0, nullptr, 1, &comm), RG_ERROR_ARGUMENT);
  EXPECT_EQ(rg_comm_get(world.get(), 0, &member, 1, nullptr),
            RG_ERROR_ARGUMENT);
  EXPECT_EQ(rg_rank_finish(world.get(), 4), RG_ERROR_ARGUMENT);
}

TEST(CommunicatorTest, SameListIsSameGroup) {
  TestWorld world(3);
  EXPECT_EQ(world.getComm(1, {0, 1}), world.getComm(1, {0, 1}));
  EXPECT_NE(world.getComm(1, {0, 1}), world.getComm(1, {1, 0}));
  EXPECT_NE(world.getComm(1, {0, 1}), world.getComm(0, {0, 1}));
}

/// A correct all_gather of 2 ranks for tests to break.
class CollectiveArgumentTest : public testing::Test {
protected:
  Shape inputShape = {2, 3};
  Shape outputShape = {4, 3};
  float data[16] = {};
  rg_member member = {RG_F32, 2,   inputShape.data(), outputShape.data(),
                      data,   data};
  rg_collective collective = getCollective(RG_ALL_GATHER, &member, 1);

  std::string getError() {
    TestWorld world(2);
    rg_future *future = nullptr;
    EXPECT_EQ(rg_start(world.getComm(1), &collective, &future),
              RG_ERROR_ARGUMENT);
    EXPECT_EQ(future, nullptr);
    return world.getError();
  }
  void setShapes(const Shape &input, const Shape &output) {
    inputShape = input;
    outputShape = output;
    member.rank = int32_t(input.size());
    member.input_shape = inputShape.data();
    member.output_shape = outputShape.data();
  }
};

TEST_F(CollectiveArgumentTest, Enumerations) {
  collective.kind = 6;
  EXPECT_EQ(getError(), "test: unknown kind 6 (rank 1)");
  collective.kind = RG_ALL_REDUCE;
  collective.reduction = 3;
  EXPECT_EQ(getError(), "test: unknown reduction 3 (rank 1)");
  collective.reduction = RG_SUM;
  collective.accumulate = 9;
  EXPECT_EQ(getError(), "test: unknown accumulate dtype 9 (rank 1)");
  collective.name = nullptr;
  member.dtype = -1;
  collective.kind = RG_BROADCAST;
  EXPECT_EQ(getError(), "member 0: unknown dtype -1 (rank 1)");
}

TEST_F(CollectiveArgumentTest, Pointers) {
  member.input = nullptr;
  EXPECT_EQ(getError(), "test: member 0: input is null (rank 1)");
  member.input = data;
  member.output = nullptr;
  EXPECT_EQ(getError(), "test: member 0: output is null (rank 1)");
  member.output = data;
  member.input_shape = nullptr;
  EXPECT_EQ(getError(), "test: member 0: a shape is null (rank 1)");
  collective.members = nullptr;
  EXPECT_EQ(getError(), "test: members is null (rank 1)");
  collective.member_count = -1;
  EXPECT_EQ(getError(),
            "test: member_count must not be negative, got -1 (rank 1)");
  TestWorld world(2);
  rg_future *future;
  EXPECT_EQ(rg_start(world.getComm(0), nullptr, &future), RG_ERROR_ARGUMENT);
  EXPECT_EQ(rg_start(world.getComm(0), &collective, nullptr),
            RG_ERROR_ARGUMENT);
}

TEST_F(CollectiveArgumentTest, Shapes) {
  setShapes({2, 3}, {5, 3});
  EXPECT_EQ(getError(), "test: member 0: expects output 4x3xf32 for input "
                        "2x3xf32 on 2 ranks, got 5x3xf32 (rank 1)");
  setShapes({2, 3}, {4, 2});
  EXPECT_EQ(getError(), "test: member 0: expects output 4x3xf32 for input "
                        "2x3xf32 on 2 ranks, got 4x2xf32 (rank 1)");
  setShapes({-2, 3}, {4, 3});
  EXPECT_EQ(getError(),
            "test: member 0: input has a negative size: -2x3xf32 (rank 1)");
  setShapes({INT64_MAX / 4, 3}, {4, 3});
  EXPECT_NE(getError().find("input is too large"), std::string::npos);
  setShapes({INT64_MAX / 4}, {4});
  EXPECT_NE(getError().find("got 4xf32"), std::string::npos);
  setShapes({}, {});
  EXPECT_EQ(getError(), "test: member 0: dim must be in 0..-1, got 0 (rank 1)");
  member.rank = -1;
  EXPECT_EQ(getError(),
            "test: member 0: rank must not be negative, got -1 (rank 1)");
}

TEST_F(CollectiveArgumentTest, ShapesOfOtherKinds) {
  collective.kind = RG_REDUCE_SCATTER;
  setShapes({5, 2}, {2, 2});
  EXPECT_EQ(getError(), "test: member 0: expects output 3x2xf32 for input "
                        "5x2xf32 on 2 ranks, got 2x2xf32 (rank 1)");
  collective.kind = RG_ALL_TO_ALL;
  collective.concat_dim = 1;
  setShapes({5, 2}, {3, 5});
  EXPECT_EQ(getError(), "test: member 0: expects output 3x4xf32 for input "
                        "5x2xf32 on 2 ranks, got 3x5xf32 (rank 1)");
  collective.concat_dim = 0;
  EXPECT_EQ(getError(), "test: member 0: size along split_dim and concat_dim "
                        "must be a multiple of 2, got 5 (rank 1)");
  for (rg_kind kind : {RG_ALL_REDUCE, RG_BROADCAST, RG_PERMUTE}) {
    collective.kind = kind;
    setShapes({2, 2}, {2, 3});
    EXPECT_EQ(getError(), "test: member 0: expects output 2x2xf32 for input "
                          "2x2xf32 on 2 ranks, got 2x3xf32 (rank 1)");
  }
}

TEST_F(CollectiveArgumentTest, Positions) {
  collective.dim = 2;
  EXPECT_EQ(getError(), "test: member 0: dim must be in 0..1, got 2 (rank 1)");
  collective.kind = RG_ALL_TO_ALL;
  collective.split_dim = -1;
  EXPECT_EQ(getError(),
            "test: member 0: split_dim must be in 0..1, got -1 (rank 1)");
  collective.kind = RG_BROADCAST;
  collective.root = 2;
  EXPECT_EQ(getError(), "test: root must be in 0..1, got 2 (rank 1)");
  collective.kind = RG_PERMUTE;
  int32_t sources[] = {0, 1}, targets[] = {1, 1};
  collective.sources = sources;
  collective.targets = targets;
  collective.pair_count = 2;
  EXPECT_EQ(getError(), "test: targets has position 1 twice (rank 1)");
  sources[1] = 2;
  EXPECT_EQ(getError(), "test: sources must be in 0..1, got 2 (rank 1)");
  collective.sources = nullptr;
  EXPECT_EQ(getError(), "test: sources or targets is null (rank 1)");
  collective.pair_count = -1;
  EXPECT_EQ(getError(),
            "test: pair_count must not be negative, got -1 (rank 1)");
}

TEST_F(CollectiveArgumentTest, Reductions) {
  collective.kind = RG_ALL_REDUCE;
  setShapes({2}, {2});
  collective.reduction = RG_AVG;
  member.dtype = RG_I32;
  EXPECT_EQ(getError(), "test: member 0: avg needs floating-point elements, "
                        "got i32 (rank 1)");
  collective.reduction = RG_SUM;
  collective.accumulate = RG_F32;
  member.dtype = RG_F64;
  EXPECT_EQ(getError(),
            "test: member 0: f64 cannot accumulate in f32 (rank 1)");
  collective.accumulate = RG_BF16;
  member.dtype = RG_BF16;
  EXPECT_EQ(getError(),
            "test: member 0: bf16 cannot accumulate in bf16 (rank 1)");
}

TEST_F(CollectiveArgumentTest, LeavesTheWorldIntact) {
  TestWorld world(1);
  setShapes({2}, {2});
  float out[2];
  member.output = out;
  collective.dim = 7;
  EXPECT_EQ(runCollective(world.getComm(0), collective), RG_ERROR_ARGUMENT);
  const char *error = rg_world_error(world.get());
  collective.dim = 0;
  EXPECT_EQ(runCollective(world.getComm(0), collective), RG_OK);
  // The first message stays, at the same address.
  collective.dim = 8;
  EXPECT_EQ(runCollective(world.getComm(0), collective), RG_ERROR_ARGUMENT);
  EXPECT_EQ(rg_world_error(world.get()), error);
  EXPECT_STREQ(error, "test: member 0: dim must be in 0..0, got 7 (rank 0)");
  EXPECT_EQ(rg_rank_finish(world.get(), 0), RG_OK);
  EXPECT_EQ(rg_rank_finish(world.get(), 0), RG_OK);
  collective.dim = 0;
  EXPECT_EQ(runCollective(world.getComm(0), collective), RG_ERROR_ARGUMENT);
}

} // namespace
