//===- RandomTest.cpp - Random bits ---------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interpret.h"
#include "Philox.h"

using namespace regather;
using namespace regather::interp;
using namespace regather::test;

/// The vectors that the authors of the generator publish.
TEST(Philox, KnownAnswers) {
  uint32_t ones = ~uint32_t(0);
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                   {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

static HostTensor makeState(int64_t value) {
  return fromBits(ElementType::I64, value);
}

static uint64_t getWord(const HostTensor &tensor, int64_t i) {
  return static_cast<uint32_t>(tensor.getAsInteger(i));
}

TEST(Random, ElementsAreWordsOfBlocks) {
  RankValues results = interpret(
      R"(
    func.func @f(%seed: tensor<i64>, %offset: tensor<i64>)
        -> (tensor<3x2xi32>, tensor<3xi64>) {
      %0 = tg.random %seed, %offset stream 7 : tensor<3x2xi32>
      %1 = tg.random %seed, %offset stream 7 : tensor<3xi64>
      return %0, %1 : tensor<3x2xi32>, tensor<3xi64>
    })",
      {makeState(0x123456789abcdef0), makeState(0x500000002)});
  PhiloxKey key = {0x9abcdef0, 0x12345678};
  for (uint32_t i = 0; i < 6; ++i) {
    // Of the offset, the lower half counts.
    PhiloxBlock block = philox({i / 4, 0, 7, 2}, key);
    EXPECT_EQ(getWord(results[0], i), block[i % 4]);
  }
  for (uint32_t i = 0; i < 3; ++i) {
    PhiloxBlock block = philox({i / 2, 0, 7, 2}, key);
    auto element = static_cast<uint64_t>(results[1].getAsInteger(i));
    EXPECT_EQ(element & 0xffffffff, block[i % 2 * 2]);
    EXPECT_EQ(element >> 32, block[i % 2 * 2 + 1]);
  }
}

TEST(Random, PartsOfATensorHaveItsElements) {
  constexpr int64_t kFirst = (int64_t(1) << 35) + 3;
  RankValues results = interpret(R"(
    func.func @f(%seed: tensor<i64>, %first: index) -> tensor<6xi32> {
      %0 = tg.random %seed, %seed first %first stream 0 : tensor<6xi32>
      return %0 : tensor<6xi32>
    })",
                                 {makeState(1), makeState(kFirst)});
  for (int64_t i = 0; i < 6; ++i) {
    auto number = static_cast<uint64_t>(kFirst + i);
    PhiloxBlock block = philox({static_cast<uint32_t>(number / 4),
                                static_cast<uint32_t>(number / 4 >> 32), 0, 1},
                               {1, 0});
    EXPECT_EQ(getWord(results[0], i), block[number % 4]);
  }
}
