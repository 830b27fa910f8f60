//===- CollectiveTest.cpp - What collectives compute ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interpret.h"

#include <cmath>
#include <limits>

using namespace regather;
using namespace regather::test;

/// `%f = OP` on %x of type `in`, waited for, of type `out`.
static std::string makeStep(int64_t ranks, const std::string &op,
                            const std::string &in, const std::string &out) {
  return "tg.mesh @mesh [dp = " + std::to_string(ranks) + "]\n" +
         "func.func @f(%x: " + in + ") -> " + out + " {\n  %f = " + op +
         " : (" + in + ") -> !tg.future<" + out + ">\n" +
         "  %r = tg.wait %f : !tg.future<" + out + ">\n  return %r : " + out +
         "\n}\n";
}

static std::vector<RankValues>
perRank(int64_t ranks, llvm::function_ref<HostTensor(int64_t)> f) {
  std::vector<RankValues> arguments;
  for (int64_t rank = 0; rank < ranks; ++rank)
    arguments.push_back({f(rank)});
  return arguments;
}

static std::string vectorType(int64_t size, const char *element = "f32") {
  return "tensor<" + std::to_string(size) + "x" + element + ">";
}

/// Every size from 1 to 9 over 1 to 4 ranks, even and uneven.
TEST(Collective, AllGatherDropsPadding) {
  for (int64_t ranks = 1; ranks <= 4; ++ranks) {
    for (int64_t size = 1; size <= 9; ++size) {
      int64_t shard = tg::getShardSize(size, ranks);
      auto results = interpretOn(
          makeStep(ranks, "tg.all_gather %x on @mesh [dp] dim 0 phase forward",
                   vectorType(shard), vectorType(size)),
          perRank(ranks,
                  [&](int64_t rank) { return iota({shard}, rank * shard); }));
      ASSERT_EQ(results.size(), static_cast<size_t>(ranks));
      for (auto &result : results)
        EXPECT_EQ(values(result[0]), values(iota({size})));
    }
  }
}

TEST(Collective, ReduceScatterPadsWithZeros) {
  for (int64_t ranks = 1; ranks <= 4; ++ranks) {
    for (int64_t size = 1; size <= 9; ++size) {
      int64_t shard = tg::getShardSize(size, ranks);
      auto results = interpretOn(
          makeStep(
              ranks,
              "tg.reduce_scatter sum %x on @mesh [dp] dim 0 phase backward",
              vectorType(size), vectorType(shard)),
          perRank(ranks, [&](int64_t rank) { return iota({size}, rank); }));
      ASSERT_EQ(results.size(), static_cast<size_t>(ranks));
      for (int64_t rank = 0; rank < ranks; ++rank)
        for (int64_t i = 0; i < shard; ++i) {
          int64_t whole = rank * shard + i;
          double expected =
              whole < size ? whole * ranks + ranks * (ranks - 1) / 2.0 : 0;
          EXPECT_EQ(results[rank][0].getAsDouble(i), expected);
        }
    }
  }
}

TEST(Collective, GatherAndScatterAlongTheSecondDimension) {
  auto gathered = interpretOn(
      makeStep(2, "tg.all_gather %x on @mesh [dp] dim 1 phase forward",
               "tensor<2x2xf32>", "tensor<2x3xf32>"),
      {{tensor({2, 2}, {0, 1, 3, 4})}, {tensor({2, 2}, {2, -1, 5, -1})}});
  EXPECT_EQ(values(gathered[1][0]), values(iota({2, 3})));
  auto scattered = interpretOn(
      makeStep(2, "tg.reduce_scatter max %x on @mesh [dp] dim 1 phase backward",
               "tensor<2x3xf32>", "tensor<2x2xf32>"),
      {{iota({2, 3})}, {iota({2, 3})}});
  EXPECT_EQ(values(scattered[0][0]), (std::vector<double>{0, 1, 3, 4}));
  EXPECT_EQ(values(scattered[1][0]), (std::vector<double>{2, 0, 5, 0}));
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static std::vector<double> allReduce(const std::string &reduction,
                                     ElementType type, const char *element,
                                     std::vector<double> contributions,
                                     const std::string &attrs = "") {
  auto ranks = static_cast<int64_t>(contributions.size());
  auto results =
      interpretOn(makeStep(ranks,
                           "tg.all_reduce " + reduction + " %x on @mesh [dp] " +
                               attrs + " phase backward",
                           vectorType(1, element), vectorType(1, element)),
                  perRank(ranks, [&](int64_t rank) {
                    return tensor({1}, {contributions[rank]}, type);
                  }));
  std::vector<double> out;
  for (auto &result : results)
    out.push_back(result[0].getAsDouble(0));
  return out;
}

/// (((2^24 + 1) + 1) - 2^24) is 0 in f32, in rank order and no other.
TEST(Collective, ReductionsCombineInRankOrder) {
  EXPECT_EQ(allReduce("sum", ElementType::F32, "f32", {0x1p24, 1, 1, -0x1p24}),
            std::vector<double>(4, 0));
  EXPECT_EQ(allReduce("sum", ElementType::F32, "f32", {1, 1, 0x1p24, -0x1p24}),
            std::vector<double>(4, 2));
}

TEST(Collective, NarrowFloatsAccumulateInF32AndRoundOnce) {
  // Rounding each sum to bf16 would leave 256.
  EXPECT_EQ(allReduce("sum", ElementType::BF16, "bf16", {256, 1, 1, 1}),
            std::vector<double>(4, 260));
  EXPECT_EQ(allReduce("avg", ElementType::BF16, "bf16", {1, 2, 2}),
            std::vector<double>(3, 1.6640625));
  EXPECT_EQ(allReduce("sum", ElementType::F16, "f16", {60000, 60000, -60000}),
            std::vector<double>(3, 60000));
}

TEST(Collective, AccumulationTypeCanBeGiven) {
  std::vector<double> in = {0x1p24, 1, 1, -0x1p24};
  EXPECT_EQ(allReduce("sum", ElementType::F32, "f32", in, "accumulate f64"),
            std::vector<double>(4, 2));
  EXPECT_EQ(allReduce("avg", ElementType::F64, "f64", {1, 0x1p-40}),
            std::vector<double>(2, (1 + 0x1p-40) / 2));
}

TEST(Collective, MaximumKnowsNaNAndZeros) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(
      std::isnan(allReduce("max", ElementType::F32, "f32", {1, nan, 2})[0]));
  EXPECT_FALSE(std::signbit(
      allReduce("max", ElementType::F32, "f32", {-0.0, 0.0, -0.0})[0]));
  EXPECT_FALSE(
      std::signbit(allReduce("max", ElementType::F32, "f32", {0.0, -0.0})[0]));
}

TEST(Collective, IntegersWrapAndBitsAreXored) {
  EXPECT_EQ(allReduce("sum", ElementType::I8, "i8", {100, 100}),
            std::vector<double>(2, -56));
  EXPECT_EQ(allReduce("max", ElementType::I8, "i8", {-3, -2}),
            std::vector<double>(2, -2));
  EXPECT_EQ(allReduce("sum", ElementType::I1, "i1", {1, 1, 1}),
            std::vector<double>(3, 1));
  EXPECT_EQ(allReduce("sum", ElementType::I1, "i1", {1, 1}),
            std::vector<double>(2, 0));
  EXPECT_EQ(allReduce("max", ElementType::I1, "i1", {0, 1}),
            std::vector<double>(2, 1));
}

//===----------------------------------------------------------------------===//
// The others
//===----------------------------------------------------------------------===//

/// Each element names its place in the whole 5x3 tensor, which starts sharded
/// along columns and ends sharded along rows. Both are uneven.
TEST(Collective, AllToAllMovesTheShardedDimension) {
  auto results = interpretOn(
      makeStep(2,
               "tg.all_to_all %x on @mesh [dp] split 0 concat 1 phase forward",
               "tensor<5x2xf32>", "tensor<3x3xf32>"),
      perRank(2, [](int64_t rank) {
        HostTensor shard = HostTensor::zeros(ElementType::F32, {5, 2});
        for (int64_t i = 0; i < 5; ++i)
          for (int64_t j = 0; j < 2; ++j)
            shard.setFromDouble(i * 2 + j, 10 * i + 2 * rank + j);
        return shard;
      }));
  EXPECT_EQ(values(results[0][0]),
            (std::vector<double>{0, 1, 2, 10, 11, 12, 20, 21, 22}));
  EXPECT_EQ(values(results[1][0]),
            (std::vector<double>{30, 31, 32, 40, 41, 42, 0, 0, 0}));
}

TEST(Collective, AllToAllAlongOneDimensionTransposesPieces) {
  auto results = interpretOn(
      makeStep(3,
               "tg.all_to_all %x on @mesh [dp] split 0 concat 0 phase forward",
               "tensor<3xf32>", "tensor<3xf32>"),
      perRank(3, [](int64_t rank) { return iota({3}, 10 * rank); }));
  EXPECT_EQ(values(results[1][0]), (std::vector<double>{1, 11, 21}));
}

TEST(Collective, BroadcastAndPermute) {
  auto sent = interpretOn(
      makeStep(3, "tg.broadcast %x on @mesh [dp] root 2 phase forward",
               "tensor<2xf32>", "tensor<2xf32>"),
      perRank(3, [](int64_t rank) { return iota({2}, 10 * rank); }));
  for (auto &result : sent)
    EXPECT_EQ(values(result[0]), (std::vector<double>{20, 21}));
  auto shifted = interpretOn(
      makeStep(
          3, "tg.permute %x on @mesh [dp] pairs [0 to 1, 1 to 2] phase forward",
          "tensor<2xf32>", "tensor<2xf32>"),
      perRank(3, [](int64_t rank) { return iota({2}, 10 * rank + 1); }));
  EXPECT_EQ(values(shifted[0][0]), (std::vector<double>{0, 0}));
  EXPECT_EQ(values(shifted[1][0]), (std::vector<double>{1, 2}));
  EXPECT_EQ(values(shifted[2][0]), (std::vector<double>{11, 12}));
}

/// Ranks of a 2x2 mesh are numbered row-major; `[tp, dp]` counts the members
/// of the group column by column.
TEST(Collective, FlattenedAxesCountInTheirOrder) {
  const char *source = R"(
    tg.mesh @mesh [dp = 2, tp = 2]
    func.func @f(%x: tensor<1xf32>)
        -> (tensor<4xf32>, tensor<4xf32>, tensor<2xf32>, index, index) {
      %a = tg.all_gather %x on @mesh [dp, tp] dim 0 phase forward
          : (tensor<1xf32>) -> !tg.future<tensor<4xf32>>
      %b = tg.all_gather %x on @mesh [tp, dp] dim 0 phase forward
          : (tensor<1xf32>) -> !tg.future<tensor<4xf32>>
      %c = tg.all_gather %x on @mesh [tp] dim 0 phase forward
          : (tensor<1xf32>) -> !tg.future<tensor<2xf32>>
      %wb = tg.wait %b : !tg.future<tensor<4xf32>>
      %wa = tg.wait %a : !tg.future<tensor<4xf32>>
      %wc = tg.wait %c : !tg.future<tensor<2xf32>>
      %i = tg.axis_index on @mesh [dp, tp]
      %j = tg.axis_index on @mesh [tp, dp]
      return %wa, %wb, %wc, %i, %j
          : tensor<4xf32>, tensor<4xf32>, tensor<2xf32>, index, index
    }
  )";
  auto results = interpretOn(
      source, perRank(4, [](int64_t rank) { return iota({1}, rank); }));
  const int64_t transposed[] = {0, 2, 1, 3};
  for (int64_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(values(results[rank][0]), (std::vector<double>{0, 1, 2, 3}));
    EXPECT_EQ(values(results[rank][1]), (std::vector<double>{0, 2, 1, 3}));
    int64_t even = rank / 2 * 2;
    auto first = static_cast<double>(even);
    EXPECT_EQ(values(results[rank][2]),
              (std::vector<double>{first, first + 1}));
    EXPECT_EQ(results[rank][3].getAsInteger(0), rank);
    EXPECT_EQ(results[rank][4].getAsInteger(0), transposed[rank]);
  }
}

/// A bucket of two tensors, a dead collective, and work between start and wait;
/// no seed changes a bit.
TEST(Collective, SeedsDoNotChangeResults) {
  const char *source = R"(
    tg.mesh @mesh [dp = 4]
    func.func @f(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<8xf32>, tensor<2xf32>) {
      %dead = tg.all_reduce sum %x on @mesh [dp] phase forward
          : (tensor<2xf32>) -> !tg.future<tensor<2xf32>>
      %s = tg.all_reduce avg %x, %x on @mesh [dp] phase forward
          : (tensor<2xf32>, tensor<2xf32>) -> !tg.future<tensor<2xf32>, tensor<2xf32>>
      %g = tg.all_gather %x on @mesh [dp] dim 0 phase forward
          : (tensor<2xf32>) -> !tg.future<tensor<8xf32>>
      %y = math.exp %x : tensor<2xf32>
      %wg = tg.wait %g : !tg.future<tensor<8xf32>>
      %ws:2 = tg.wait %s : !tg.future<tensor<2xf32>, tensor<2xf32>>
      %z = arith.addf %y, %ws#1 : tensor<2xf32>
      return %ws#0, %wg, %z : tensor<2xf32>, tensor<8xf32>, tensor<2xf32>
    }
  )";
  auto arguments =
      perRank(4, [](int64_t rank) { return iota({2}, 0.1 * rank); });
  std::vector<RankValues> first;
  for (uint64_t seed = 0; seed <= 50; ++seed) {
    auto results = interpretOn(source, arguments, seed);
    ASSERT_EQ(results.size(), 4u);
    if (seed == 0)
      first = results;
    for (int64_t rank = 0; rank < 4; ++rank)
      for (int i = 0; i < 3; ++i)
        ASSERT_EQ(values(results[rank][i]), values(first[rank][i])) << seed;
  }
}

TEST(Collective, ManyRanks) {
  auto results = interpretOn(
      makeStep(64, "tg.all_reduce sum %x on @mesh [dp] phase forward",
               "tensor<1xf32>", "tensor<1xf32>"),
      perRank(64, [](int64_t rank) { return iota({1}, rank); }), 3);
  ASSERT_EQ(results.size(), 64u);
  EXPECT_EQ(results[63][0].getAsDouble(0), 2016);
}
