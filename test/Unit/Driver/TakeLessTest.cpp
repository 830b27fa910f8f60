//===- TakeLessTest.cpp - Decisions with fewer bytes ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TakeLess.h"

#include "gtest/gtest.h"

using namespace regather;

static StepOptions withBudget(int64_t bytes) {
  StepOptions options;
  options.recompute.decision = PassDecision::Yes;
  options.recompute.options.mode = tg::PartitionMode::Budget;
  options.recompute.options.budget = bytes;
  return options;
}

static StepOptions withOffload(int64_t bytes) {
  StepOptions options;
  options.offload.decision = PassDecision::Yes;
  options.offload.options.mode = tg::OffloadMode::Bytes;
  options.offload.options.bytes = bytes;
  return options;
}

TEST(TakeLessTest, SavesLessOrMovesMore) {
  StepOptions budget = withBudget(100), offload = withOffload(100);
  EXPECT_TRUE(takeLess(budget, StepOptions(), 30, 0));
  EXPECT_EQ(budget.recompute.options.budget.bytes, 70);
  EXPECT_TRUE(takeLess(offload, StepOptions(), 30, 0));
  EXPECT_EQ(offload.offload.options.bytes.bytes, 130);
  EXPECT_TRUE(takeLess(offload, StepOptions(), -50, 0));
  EXPECT_EQ(offload.offload.options.bytes.bytes, 80);
}

TEST(TakeLessTest, LeavesWhatIsGiven) {
  StepOptions budget = withBudget(100), offload = withOffload(100);
  EXPECT_FALSE(takeLess(budget, withBudget(100), 30, 0));
  EXPECT_EQ(budget.recompute.options.budget.bytes, 100);
  EXPECT_FALSE(takeLess(offload, withOffload(100), 30, 0));
  EXPECT_EQ(offload.offload.options.bytes.bytes, 100);
  StepOptions given;
  given.states.states = "100";
  StepOptions states = given;
  EXPECT_FALSE(takeLess(states, given, 30, 0));
  EXPECT_EQ(states.states.states, "100");
}

TEST(TakeLessTest, ComputesMoreUnitsAgain) {
  StepOptions some;
  some.policy.emplace().policy = tg::PolicyPlan::Full;
  // All units have it already.
  EXPECT_FALSE(takeLess(some, StepOptions(), 30, 10));
  some.policy->units = 4;
  EXPECT_TRUE(takeLess(some, StepOptions(), 25, 10));
  EXPECT_EQ(some.policy->units, 7);
  EXPECT_TRUE(takeLess(some, StepOptions(), -25, 10));
  EXPECT_EQ(some.policy->units, 5);
  EXPECT_FALSE(takeLess(some, StepOptions(), -5, 10));
  EXPECT_FALSE(takeLess(some, StepOptions(), 30, 0));
  EXPECT_FALSE(takeLess(some, some, 30, 10));
  EXPECT_EQ(some.policy->units, 5);
}

TEST(TakeLessTest, KindsDoNotDifferInNumbers) {
  StepOptions some;
  some.policy.emplace().policy = tg::PolicyPlan::Full;
  std::string all = describeKind(some);
  some.policy->units = 4;
  std::string four = describeKind(some);
  EXPECT_NE(four, all);
  some.policy->units = 5;
  EXPECT_EQ(describeKind(some), four);
  EXPECT_EQ(describeKind(withBudget(1)), describeKind(withBudget(2)));
  EXPECT_NE(describeKind(withBudget(1)), describeKind(StepOptions()));
  EXPECT_EQ(describeKind(withOffload(1)), describeKind(withOffload(2)));
  EXPECT_NE(describeKind(withOffload(1)), describeKind(StepOptions()));
}
