//===- MatchingTest.cpp - Collectives that do not match -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interpret.h"

using namespace regather;
using namespace regather::test;

/// A step on two ranks whose first rank runs `then`, the other `otherwise`.
static std::string branch(const std::string &then,
                          const std::string &otherwise) {
  return "tg.mesh @mesh [dp = 2]\n"
         "func.func @f(%v: tensor<2xf32>, %w: tensor<2xf32>) {\n"
         "  %zero = arith.constant 0 : index\n"
         "  %rank = tg.axis_index on @mesh [dp]\n"
         "  %first = arith.cmpi eq, %rank, %zero : index\n"
         "  scf.if %first {\n" +
         then + "  } else {\n" + otherwise + "  }\n  return\n}\n";
}

static std::string gather(const std::string &value,
                          const std::string &attrs = "") {
  return "    %" + value + "f = tg.all_gather %" + value +
         " on @mesh [dp] dim 0 phase forward " + attrs +
         " : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>\n    %" + value +
         "g = tg.wait %" + value + "f : !tg.future<tensor<4xf32>>\n";
}

static std::string reduce(const std::string &value,
                          const std::string &kind = "sum") {
  return "    %" + value + "r = tg.all_reduce " + kind + " %" + value +
         " on @mesh [dp] phase forward : (tensor<2xf32>) -> "
         "!tg.future<tensor<2xf32>>\n    %" +
         value + "s = tg.wait %" + value + "r : !tg.future<tensor<2xf32>>\n";
}

static const std::vector<RankValues> kArguments = {{iota({2}), iota({2})},
                                                   {iota({2}), iota({2})}};

static std::vector<std::string> mismatch(const std::string &then,
                                         const std::string &otherwise,
                                         uint64_t seed = 0) {
  return expectFailure(branch(then, otherwise), kArguments, seed);
}

static void expectMatch(const std::string &then, const std::string &otherwise) {
  for (uint64_t seed = 0; seed < 10; ++seed)
    interpretOn(branch(then, otherwise), kArguments, seed);
}

/// The message is at the rank that came later, which the seed decides.
TEST(Matching, KindsMustAgree) {
  bool seen[2] = {false, false};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<std::string> messages =
        mismatch(gather("v") + reduce("w"), reduce("w") + gather("v"), seed);
    ASSERT_EQ(messages.size(), 2u);
    if (messages[0][0] == '7') {
      seen[0] = true;
      EXPECT_EQ(messages[0],
                "7: rank 0 starts 'tg.all_gather' as collective 0 of group "
                "[dp] {0, 1}, but rank 1 starts 'tg.all_reduce'");
      EXPECT_EQ(messages[1], "12: note: rank 1 starts this");
    } else {
      seen[1] = true;
      EXPECT_EQ(messages[0],
                "12: rank 1 starts 'tg.all_reduce' as collective 0 of group "
                "[dp] {0, 1}, but rank 0 starts 'tg.all_gather'");
      EXPECT_EQ(messages[1], "7: note: rank 0 starts this");
    }
  }
  EXPECT_TRUE(seen[0] && seen[1]);
}

/// Both gathers have one type; only the data tells them apart.
TEST(Matching, SwappedGathersOfOneShapeAreFound) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<std::string> messages =
        mismatch(gather("v") + gather("w"), gather("w") + gather("v"), seed);
    ASSERT_EQ(messages.size(), 3u);
    EXPECT_NE(messages[0].find("starts another 'tg.all_gather'"),
              std::string::npos)
        << messages[0];
    EXPECT_NE(messages[2].find("note: operand 0 carries '%arg"),
              std::string::npos)
        << messages[2];
  }
}

TEST(Matching, TheSameOrderInBothBranchesIsAccepted) {
  expectMatch(gather("v") + gather("w"), gather("v") + gather("w"));
}

/// Casts, views and gathers in the branches do not hide what is sent.
TEST(Matching, DataIsTracedThroughViewsAndGathers) {
  std::string again =
      "    %c = tensor.expand_shape %vg [[0, 1]] output_shape [2, 2] : "
      "tensor<4xf32> into tensor<2x2xf32>\n"
      "    %h = tg.all_reduce sum %c on @mesh [dp] phase forward : "
      "(tensor<2x2xf32>) -> !tg.future<tensor<2x2xf32>>\n";
  expectMatch(gather("v") + again, gather("v") + again);
  std::string other = again;
  other.replace(other.find("%vg"), 3, "%wg");
  std::vector<std::string> messages = mismatch(
      gather("v") + gather("w") + again, gather("v") + gather("w") + other);
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_NE(messages[2].find("operand 0 carries"), std::string::npos);
}

/// What each branch computes for itself may well be the same data.
TEST(Matching, ValuesOfTheBranchesThemselvesAreAccepted) {
  std::string local = "    %l = arith.addf %v, %w : tensor<2xf32>\n";
  expectMatch(local + gather("l"), local + gather("l"));
}

TEST(Matching, AttributesMustAgree) {
  std::vector<std::string> messages =
      mismatch(reduce("v", "sum"), reduce("v", "avg"));
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_NE(messages[2].find("note: 'reduction' is #tg.reduction<"),
            std::string::npos)
      << messages[2];
}

TEST(Matching, OriginsMayBeAbsentButNotContradict) {
  expectMatch(gather("v", "{tg.id = \"a\"}"), gather("v"));
  std::vector<std::string> messages =
      mismatch(gather("v", "{tg.id = \"a\"}"), gather("v", "{tg.id = \"b\"}"));
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_NE(messages[2].find("note: 'tg.id' is"), std::string::npos);
}

TEST(Matching, TypesMustAgree) {
  std::string other =
      "    %e = tensor.expand_shape %v [[0, 1]] output_shape [1, 2] : "
      "tensor<2xf32> into tensor<1x2xf32>\n"
      "    %f = tg.all_gather %e on @mesh [dp] dim 0 phase forward : "
      "(tensor<1x2xf32>) -> !tg.future<tensor<2x2xf32>>\n";
  std::vector<std::string> messages = mismatch(gather("v"), other);
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_NE(messages[2].find("note: operand 0 has type"), std::string::npos);
}

/// Two groups over the same ranks: within each group the collectives match, but
/// the ranks start them in different orders.
TEST(Matching, OrderAcrossGroupsMustAgree) {
  auto start = [](const std::string &axes, const std::string &name) {
    return "    %" + name + " = tg.all_reduce sum %v on @mesh " + axes +
           " phase forward : (tensor<2xf32>) -> !tg.future<tensor<2xf32>>\n";
  };
  auto make = [&](bool swapped) {
    std::string one = start("[dp]", "a") + start("[dp, tp]", "b");
    std::string two = start("[dp, tp]", "b") + start("[dp]", "a");
    return "tg.mesh @mesh [dp = 2, tp = 2]\n"
           "func.func @f(%v: tensor<2xf32>) {\n"
           "  %zero = arith.constant 0 : index\n"
           "  %rank = tg.axis_index on @mesh [dp]\n"
           "  %first = arith.cmpi eq, %rank, %zero : index\n"
           "  scf.if %first {\n" +
           one + "  } else {\n" + (swapped ? two : one) + "  }\n  return\n}\n";
  };
  std::vector<RankValues> arguments(4, RankValues{iota({2})});
  for (uint64_t seed = 0; seed < 20; ++seed) {
    interpretOn(make(false), arguments, seed);
    std::vector<std::string> messages =
        expectFailure(make(true), arguments, seed);
    ASSERT_EQ(messages.size(), 2u);
    EXPECT_NE(messages[0].find(
                  "; ranks must start their common collectives in one order"),
              std::string::npos)
        << messages[0];
  }
}
