//===- ReductionTest.cpp - Tests of reductions ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reductions against a reference that combines one element at a time in rank
// order, compared bit for bit.
//
//===----------------------------------------------------------------------===//

#include "RankThreads.h"
#include "regather/Support/Half.h"

#include <cmath>
#include <random>

using namespace regather::runtime;
using namespace regather::test;

namespace {

//===----------------------------------------------------------------------===//
// The reference
//===----------------------------------------------------------------------===//

/// Element types by how they are stored and computed with.
template <typename T> struct Number {
  using Storage = T;
  using Acc = T;
  static T load(T value) { return value; }
  static T store(T value) { return value; }
};
struct BF16 {
  using Storage = uint16_t;
  using Acc = float;
  static float load(uint16_t bits) { return fromBF16(bits); }
  static uint16_t store(float value) { return toBF16(value); }
};
struct F16 {
  using Storage = uint16_t;
  using Acc = float;
  static float load(uint16_t bits) { return fromF16(bits); }
  static uint16_t store(float value) { return toF16(value); }
};

template <typename T> T combine(rg_reduction reduction, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (reduction == RG_MAX)
      return std::max(a, b);
    return T(uint64_t(a) + uint64_t(b));
  } else {
    if (reduction != RG_MAX)
      return a + b;
    if (std::isnan(a) || std::isnan(b))
      return T(NAN);
    if (a == b)
      return std::signbit(a) ? b : a;
    return std::max(a, b);
  }
}

template <typename Element>
typename Element::Storage
reduce(rg_reduction reduction,
       const std::vector<typename Element::Storage> &contributions) {
  auto acc = Element::load(contributions[0]);
  for (size_t i = 1; i < contributions.size(); ++i)
    acc = combine(reduction, acc, Element::load(contributions[i]));
  if constexpr (std::is_floating_point_v<decltype(acc)>) {
    if (reduction == RG_AVG)
      acc = acc / decltype(acc)(contributions.size());
    if (std::isnan(acc))
      acc = decltype(acc)(NAN);
  }
  return Element::store(acc);
}

template <typename T> bool haveEqualBits(T a, T b) {
  // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): bits are the point.
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

//===----------------------------------------------------------------------===//
// Every type, kind and size
//===----------------------------------------------------------------------===//

class ReductionTest : public testing::TestWithParam<int32_t> {
protected:
  int32_t getRanks() const { return GetParam(); }

  /// Arbitrary bits, so that NaN, infinities and subnormals are among floats.
  template <typename T>
  std::vector<Tensor<T>> getInputs(const Shape &shape, uint32_t seed) const {
    std::mt19937_64 random(seed);
    std::vector<Tensor<T>> inputs(getRanks(), Tensor<T>(shape));
    for (Tensor<T> &input : inputs)
      for (T &value : input.data) {
        uint64_t bits = random();
        std::memcpy(&value, &bits, sizeof(T));
      }
    return inputs;
  }

  template <typename Element>
  void check(rg_dtype dtype, rg_reduction reduction) {
    using T = typename Element::Storage;
    TestWorld world(getRanks());
    for (int64_t size : {0, 1, 3, 4, 7, 1100})
      for (int64_t dim : {0, 1}) {
        Shape shape = {2, 2};
        shape[dim] = size;
        Shape shardShape = shape;
        int64_t shard = shardShape[dim] = (size + getRanks() - 1) / getRanks();
        auto inputs = getInputs<T>(shape, uint32_t(size));
        Tensor<T> expected(shape);
        for (size_t i = 0; i < expected.data.size(); ++i) {
          std::vector<T> contributions;
          for (const Tensor<T> &input : inputs)
            contributions.push_back(input.data[i]);
          expected.data[i] = reduce<Element>(reduction, contributions);
        }
        std::vector<std::thread> threads;
        for (int32_t rank = 0; rank < getRanks(); ++rank)
          threads.emplace_back([&, rank] {
            T poison;
            std::memset(&poison, 0x55, sizeof(T));
            Tensor<T> whole(shape, poison), part(shardShape, poison);
            rg_member member = getMember(dtype, inputs[rank], whole);
            rg_collective collective = getCollective(RG_ALL_REDUCE, &member, 1);
            collective.reduction = reduction;
            ASSERT_EQ(runCollective(world.getComm(rank), collective), RG_OK)
                << world.getError();
            whole.forEach([&](const Shape &index) {
              ASSERT_TRUE(haveEqualBits(whole[index], expected[index]));
            });

            member = getMember(dtype, inputs[rank], part);
            collective.kind = RG_REDUCE_SCATTER;
            collective.dim = dim;
            ASSERT_EQ(runCollective(world.getComm(rank), collective), RG_OK)
                << world.getError();
            part.forEach([&](const Shape &index) {
              Shape from = index;
              from[dim] += rank * shard;
              T value = from[dim] < size ? expected[from] : T();
              ASSERT_TRUE(haveEqualBits(part[index], value));
            });
          });
        for (std::thread &thread : threads)
          thread.join();
      }
  }

  template <typename Element> void checkFloats(rg_dtype dtype) {
    check<Element>(dtype, RG_SUM);
    check<Element>(dtype, RG_AVG);
    check<Element>(dtype, RG_MAX);
  }
  template <typename T> void checkIntegers(rg_dtype dtype) {
    check<Number<T>>(dtype, RG_SUM);
    check<Number<T>>(dtype, RG_MAX);
  }

  /// Reduces one element with one contribution per rank.
  template <typename T>
  T reduceOne(rg_dtype dtype, rg_reduction reduction,
              const std::vector<T> &contributions,
              rg_dtype accumulate = RG_DTYPE_AUTO) {
    TestWorld world(int32_t(contributions.size()));
    T result = T();
    world.run([&](int32_t rank) {
      Tensor<T> input({1}, contributions[rank]), output({1});
      rg_member member = getMember(dtype, input, output);
      rg_collective collective = getCollective(RG_ALL_REDUCE, &member, 1);
      collective.reduction = reduction;
      collective.accumulate = accumulate;
      ASSERT_EQ(runCollective(world.getComm(rank), collective), RG_OK)
          << world.getError();
      if (rank == 0)
        result = output.data[0];
    });
    return result;
  }
};

TEST_P(ReductionTest, F32) { checkFloats<Number<float>>(RG_F32); }
TEST_P(ReductionTest, F64) { checkFloats<Number<double>>(RG_F64); }
TEST_P(ReductionTest, BF16) { checkFloats<BF16>(RG_BF16); }
TEST_P(ReductionTest, F16) { checkFloats<F16>(RG_F16); }
TEST_P(ReductionTest, I8) { checkIntegers<int8_t>(RG_I8); }
TEST_P(ReductionTest, I16) { checkIntegers<int16_t>(RG_I16); }
TEST_P(ReductionTest, I32) { checkIntegers<int32_t>(RG_I32); }
TEST_P(ReductionTest, I64) { checkIntegers<int64_t>(RG_I64); }

TEST_P(ReductionTest, I1) {
  for (uint32_t bits = 0; bits < (1u << getRanks()); ++bits) {
    std::vector<uint8_t> contributions;
    for (int32_t rank = 0; rank < getRanks(); ++rank)
      contributions.push_back((bits >> rank) & 1);
    EXPECT_EQ(reduceOne(RG_I1, RG_SUM, contributions),
              __builtin_popcount(bits) & 1);
    EXPECT_EQ(reduceOne(RG_I1, RG_MAX, contributions), bits != 0);
  }
}

// Every part of an all_reduce reads its elements from all ranks before it
// overwrites them.
TEST_P(ReductionTest, ReducesInPlace) {
  const int64_t size = 5000;
  TestWorld world(getRanks());
  world.run([&](int32_t rank) {
    Tensor<int32_t> buffer({size}, rank + 1);
    rg_member member = getMember(RG_I32, buffer, buffer);
    rg_collective collective = getCollective(RG_ALL_REDUCE, &member, 1);
    ASSERT_EQ(runCollective(world.getComm(rank), collective), RG_OK);
    int32_t sum = getRanks() * (getRanks() + 1) / 2;
    ASSERT_EQ(buffer.data, std::vector<int32_t>(size, sum));
  });
}

TEST_P(ReductionTest, ScattersInPlace) {
  TestWorld world(getRanks());
  world.run([&](int32_t rank) {
    Tensor<int32_t> buffer({getRanks() * 2, 3}, rank + 1);
    Shape shardShape = {2, 3};
    rg_member member = {RG_I32,
                        2,
                        buffer.shape.data(),
                        shardShape.data(),
                        buffer.data.data(),
                        buffer.data.data() + rank * 6};
    rg_collective collective = getCollective(RG_REDUCE_SCATTER, &member, 1);
    ASSERT_EQ(runCollective(world.getComm(rank), collective), RG_OK);
    int32_t sum = getRanks() * (getRanks() + 1) / 2;
    for (int64_t i = 0; i < 6; ++i)
      ASSERT_EQ(buffer.data[rank * 6 + i], sum);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, ReductionTest, testing::Values(1, 2, 3, 4));

//===----------------------------------------------------------------------===//
// Single elements of which the bits say how they were computed
//===----------------------------------------------------------------------===//

using ReductionBitsTest = ReductionTest;

// 2^24 + 1 rounds back to 2^24, so each order gives another sum.
TEST_F(ReductionBitsTest, CombinesInRankOrder) {
  const float big = 16777216;
  EXPECT_EQ(reduceOne<float>(RG_F32, RG_SUM, {big, 1, 1, -big}), 0);
  EXPECT_EQ(reduceOne<float>(RG_F32, RG_SUM, {1, 1, big, -big}), 2);
  EXPECT_EQ(reduceOne<float>(RG_F32, RG_SUM, {big, -big, 1, 1}), 2);
  EXPECT_EQ(reduceOne<float>(RG_F32, RG_SUM, {big, 1, -big, 1}), 1);
}

// In bf16 steps, 256 + 1 would stay 256 each time.
TEST_F(ReductionBitsTest, AccumulatesHalvesInF32) {
  std::vector<uint16_t> values = {toBF16(256.0f), toBF16(1.0f), toBF16(1.0f)};
  EXPECT_EQ(fromBF16(reduceOne(RG_BF16, RG_SUM, values)), 258);
  values = {toF16(2048.0f), toF16(1.0f), toF16(1.0f)};
  EXPECT_EQ(fromF16(reduceOne(RG_F16, RG_SUM, values)), 2050);
}

TEST_F(ReductionBitsTest, AccumulatesInF64OnRequest) {
  const float big = 16777216;
  EXPECT_EQ(reduceOne<float>(RG_F32, RG_SUM, {big, 1, 1, -big}, RG_F64), 2);
  // A tie of bf16 plus what f32 cannot hold beside it: rounding twice would
  // give the even neighbour below.
  std::vector<uint16_t> values = {toBF16(1.0f), toBF16(std::ldexp(1.0f, -8)),
                                  toBF16(std::ldexp(1.0f, -40))};
  EXPECT_EQ(reduceOne(RG_BF16, RG_SUM, values, RG_F32), toBF16(1.0f));
  EXPECT_EQ(reduceOne(RG_BF16, RG_SUM, values, RG_F64), toBF16(1.0f) + 1);
}

// Multiplying 5 by the rounded reciprocal of 3 would differ in the last bit.
TEST_F(ReductionBitsTest, AveragesByDivision) {
  ASSERT_NE(5.0f / 3.0f, 5.0f * (1.0f / 3.0f));
  EXPECT_EQ(reduceOne<float>(RG_F32, RG_AVG, {1, 1, 3}), 5.0f / 3.0f);
}

TEST_F(ReductionBitsTest, MaximumFollowsIEEE) {
  const float nan = NAN;
  EXPECT_TRUE(std::isnan(reduceOne<float>(RG_F32, RG_MAX, {nan, 1})));
  EXPECT_TRUE(std::isnan(reduceOne<float>(RG_F32, RG_MAX, {1, nan})));
  EXPECT_TRUE(std::isnan(reduceOne<float>(RG_F32, RG_MAX, {1, nan, 2})));
  EXPECT_FALSE(std::signbit(reduceOne<float>(RG_F32, RG_MAX, {-0.0f, 0.0f})));
  EXPECT_FALSE(std::signbit(reduceOne<float>(RG_F32, RG_MAX, {0.0f, -0.0f})));
  EXPECT_TRUE(std::signbit(reduceOne<float>(RG_F32, RG_MAX, {-0.0f, -0.0f})));
  EXPECT_EQ(reduceOne<double>(RG_F64, RG_MAX, {-HUGE_VAL, -3.0}), -3.0);
}

TEST_F(ReductionBitsTest, ReturnsOneQuietNaN) {
  float signaling = bitCast<float>(uint32_t(0xFF800001));
  float result = reduceOne<float>(RG_F32, RG_SUM, {signaling, 1});
  EXPECT_EQ(bitCast<uint32_t>(result), 0x7FC00000u);
  result = reduceOne<float>(RG_F32, RG_SUM, {HUGE_VALF, -HUGE_VALF});
  EXPECT_EQ(bitCast<uint32_t>(result), 0x7FC00000u);
  EXPECT_EQ(reduceOne<uint16_t>(RG_BF16, RG_SUM, {0xFF81}), 0x7FC0);
}

TEST_F(ReductionBitsTest, WrapsIntegersAround) {
  EXPECT_EQ(reduceOne<int8_t>(RG_I8, RG_SUM, {127, 1}), -128);
  EXPECT_EQ(reduceOne<int64_t>(RG_I64, RG_SUM, {INT64_MAX, 1}), INT64_MIN);
}

} // namespace
