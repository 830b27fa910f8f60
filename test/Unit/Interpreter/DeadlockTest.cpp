//===- DeadlockTest.cpp - Ranks that wait for ever ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interpret.h"

using namespace regather;
using namespace regather::test;

using Messages = std::vector<std::string>;

static const std::vector<RankValues> kTwoRanks(2, RankValues{iota({2})});

TEST(Deadlock, NamesWhoWaitsAndWhoIsMissing) {
  for (uint64_t seed = 0; seed < 10; ++seed)
    EXPECT_EQ(
        expectFailure(R"(
    tg.mesh @mesh [dp = 2]
    func.func @f(%v: tensor<2xf32>) {
      %zero = arith.constant 0 : index
      %rank = tg.axis_index on @mesh [dp]
      %first = arith.cmpi eq, %rank, %zero : index
      scf.if %first {
        %f = tg.all_gather %v on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
        %g = tg.wait %f : !tg.future<tensor<4xf32>>
      }
      return
    }
  )",
                      kTwoRanks, seed),
        (Messages{"9: rank 0 waits for 'tg.all_gather' (collective 0 of "
                  "group [dp] {0, 1}), which rank 1 has not started",
                  "8: note: started here", "9: note: rank 1 has finished"}));
}

/// Each rank of the 2x2 mesh waits in another branch for the others.
TEST(Deadlock, SaysWhatTheMissingRanksWaitFor) {
  std::vector<RankValues> arguments(4, RankValues{iota({2})});
  for (uint64_t seed = 0; seed < 10; ++seed)
    EXPECT_EQ(
        expectFailure(R"(
    tg.mesh @mesh [dp = 2, tp = 2]
    func.func @f(%v: tensor<2xf32>) {
      %zero = arith.constant 0 : index
      %dp = tg.axis_index on @mesh [dp]
      %tp = tg.axis_index on @mesh [tp]
      %same = arith.cmpi eq, %dp, %tp : index
      scf.if %same {
        %f = tg.all_gather %v on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
        %g = tg.wait %f : !tg.future<tensor<4xf32>>
      } else {
        %f = tg.all_gather %v on @mesh [tp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
        %g = tg.wait %f : !tg.future<tensor<4xf32>>
      }
      return
    }
  )",
                      arguments, seed),
        (Messages{"10: rank 0 waits for 'tg.all_gather' (collective 0 of group "
                  "[dp] {0, 2}), which rank 2 has not started",
                  "9: note: started here",
                  "13: note: rank 2 waits here for 'tg.all_gather' (collective "
                  "0 of group [tp] {2, 3})",
                  "13: rank 1 waits for 'tg.all_gather' (collective 0 of group "
                  "[tp] {0, 1}), which rank 0 has not started",
                  "12: note: started here",
                  "10: note: rank 0 waits here for 'tg.all_gather' (collective "
                  "0 of group [dp] {0, 2})",
                  "13: rank 2 waits for 'tg.all_gather' (collective 0 of group "
                  "[tp] {2, 3}), which rank 3 has not started",
                  "12: note: started here",
                  "10: note: rank 3 waits here for 'tg.all_gather' (collective "
                  "0 of group [dp] {1, 3})",
                  "10: rank 3 waits for 'tg.all_gather' (collective 0 of group "
                  "[dp] {1, 3}), which rank 1 has not started",
                  "9: note: started here",
                  "13: note: rank 1 waits here for 'tg.all_gather' (collective "
                  "0 of group [tp] {0, 1})"}));
}

/// Nobody waits, so nobody is stuck; the collective is still wrong.
TEST(Deadlock, CollectivesThatNotAllStartAreErrors) {
  for (uint64_t seed = 0; seed < 10; ++seed)
    EXPECT_EQ(expectFailure(R"(
    tg.mesh @mesh [dp = 2]
    func.func @f(%v: tensor<2xf32>) {
      %zero = arith.constant 0 : index
      %rank = tg.axis_index on @mesh [dp]
      %first = arith.cmpi eq, %rank, %zero : index
      scf.if %first {
        %f = tg.all_gather %v on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
      }
      return
    }
  )",
                            kTwoRanks, seed),
              Messages{"8: rank 0 starts 'tg.all_gather' (collective 0 of "
                       "group [dp] {0, 1}), which rank 1 never starts"});
}

/// A rank that failed explains why others are stuck.
TEST(Deadlock, RunTimeErrorsComeFirst) {
  for (uint64_t seed = 0; seed < 10; ++seed)
    EXPECT_EQ(expectFailure(R"(
    tg.mesh @mesh [dp = 2]
    func.func @f(%v: tensor<2xf32>) -> index {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %rank = tg.axis_index on @mesh [dp]
      %bad = arith.divui %one, %rank : index
      %f = tg.all_gather %v on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
      %g = tg.wait %f : !tg.future<tensor<4xf32>>
      return %bad : index
    }
  )",
                            kTwoRanks, seed),
              Messages{"7: division by zero on rank 0"});
}

/// Ranks may pass through different code as long as they meet.
TEST(Deadlock, DifferentWaysToTheSameCollectivesAreFine) {
  for (uint64_t seed = 0; seed < 10; ++seed)
    interpretOn(R"(
    tg.mesh @mesh [dp = 2]
    func.func @f(%v: tensor<2xf32>) -> tensor<4xf32> {
      %zero = arith.constant 0 : index
      %rank = tg.axis_index on @mesh [dp]
      %first = arith.cmpi eq, %rank, %zero : index
      %r = scf.if %first -> tensor<4xf32> {
        %f = tg.all_gather %v on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
        %s = tg.all_reduce sum %v on @mesh [dp] phase forward : (tensor<2xf32>) -> !tg.future<tensor<2xf32>>
        %g = tg.wait %f : !tg.future<tensor<4xf32>>
        %t = tg.wait %s : !tg.future<tensor<2xf32>>
        scf.yield %g : tensor<4xf32>
      } else {
        %f = tg.all_gather %v on @mesh [dp] dim 0 phase forward : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
        %g = tg.wait %f : !tg.future<tensor<4xf32>>
        %s = tg.all_reduce sum %v on @mesh [dp] phase forward : (tensor<2xf32>) -> !tg.future<tensor<2xf32>>
        scf.yield %g : tensor<4xf32>
      }
      return %r : tensor<4xf32>
    }
  )",
                kTwoRanks, seed);
}
