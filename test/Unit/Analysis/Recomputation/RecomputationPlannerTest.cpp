//===- RecomputationPlannerTest.cpp - Save within a budget ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small random problems are compared with all plans that there are. Larger
// ones are checked on their own: a plan fits its budget, gives backward what it
// needs, and is as close to its bound as asked for.
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Recomputation/RecomputationPlanner.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <limits>
#include <random>

using namespace regather;
using Problem = RecomputationProblem;

static std::string errorOf(const Problem &problem, int64_t budget) {
  auto plan = planRecomputation(problem, budget);
  return plan ? "" : plan.getMessage();
}

/// Checks that `plan` gives backward what it needs, for what it says that this
/// takes.
static void check(const Problem &problem, const RecomputationPlan &plan,
                  int64_t budget) {
  int64_t bytes = 0;
  double seconds = 0;
  auto has = [&](uint32_t value) {
    return plan.isSaved[value] || plan.isRecomputed[problem.values[value].op];
  };
  for (uint32_t i = 0; i < problem.values.size(); ++i) {
    EXPECT_TRUE(!problem.values[i].isNeeded || has(i));
    EXPECT_TRUE(!plan.isSaved[i] || problem.values[i].maySave);
    bytes += plan.isSaved[i] ? problem.values[i].bytes : 0;
  }
  for (uint32_t op = 0; op < problem.ops.size(); ++op) {
    if (!plan.isRecomputed[op])
      continue;
    EXPECT_TRUE(problem.ops[op].mayRecompute);
    seconds += problem.ops[op].seconds;
    for (uint32_t input : problem.ops[op].inputs)
      EXPECT_TRUE(has(input));
  }
  EXPECT_EQ(plan.savedBytes, bytes);
  EXPECT_LE(plan.savedBytes, budget);
  EXPECT_NEAR(plan.seconds, seconds, 1e-9);
}

/// The least seconds of all plans; infinite if there is none.
static double tryAll(const Problem &problem, int64_t budget) {
  double best = std::numeric_limits<double>::infinity();
  for (uint32_t mask = 0; mask < 1u << problem.ops.size(); ++mask) {
    double seconds = 0;
    bool isPossible = true;
    std::vector<bool> isNeeded;
    for (const Problem::Value &value : problem.values)
      isNeeded.push_back(value.isNeeded);
    for (uint32_t op = 0; op < problem.ops.size(); ++op) {
      if (!((mask >> op) & 1))
        continue;
      seconds += problem.ops[op].seconds;
      isPossible &= problem.ops[op].mayRecompute;
      for (uint32_t input : problem.ops[op].inputs)
        isNeeded[input] = true;
    }
    int64_t bytes = 0;
    for (uint32_t i = 0; i < problem.values.size(); ++i) {
      const Problem::Value &value = problem.values[i];
      if (!isNeeded[i] || ((mask >> value.op) & 1))
        continue;
      isPossible &= value.maySave;
      bytes += value.bytes;
    }
    if (isPossible && bytes <= budget)
      best = std::min(best, seconds);
  }
  return best;
}

/// Operations that read values at most `reach` before them.
static Problem makeRandom(std::mt19937 &random, uint32_t numOps,
                          uint32_t reach) {
  auto draw = [&](uint32_t end) { return random() % end; };
  Problem problem;
  for (uint32_t i = 0; i < numOps; ++i) {
    std::vector<uint32_t> inputs;
    for (uint32_t k = draw(4); k > 0 && !problem.values.empty(); --k) {
      uint32_t size = problem.values.size();
      inputs.push_back(size - 1 - draw(std::min(size, reach)));
    }
    double seconds = draw(4) == 0 ? 0 : (1 + draw(1000)) * 1e-6;
    uint32_t op = problem.addOp(seconds, draw(12) != 0, std::move(inputs));
    for (uint32_t k = 0, e = draw(5) == 0 ? 2 : 1; k < e; ++k)
      problem.addValue(op, draw(5) == 0 ? 0 : int64_t(1) << draw(12),
                       draw(12) != 0, draw(3) == 0);
  }
  return problem;
}

TEST(RecomputationPlannerTest, Small) {
  // A product of 8 bytes and, made of it at little cost, 4 and 2 bytes.
  Problem problem;
  uint32_t product = problem.addOp(10, true, {});
  uint32_t y = problem.addValue(product, 8, true, false);
  uint32_t cast = problem.addOp(1, true, {y});
  uint32_t a = problem.addValue(cast, 4, true, true);
  uint32_t mean = problem.addOp(2, true, {a});
  problem.addValue(mean, 2, true, true);
  auto getSeconds = [&](int64_t budget) {
    auto plan = planRecomputation(problem, budget);
    EXPECT_TRUE(bool(plan));
    check(problem, *plan, budget);
    return plan->seconds;
  };
  EXPECT_EQ(getSeconds(100), 0);
  EXPECT_EQ(getSeconds(6), 0);
  EXPECT_EQ(getSeconds(5), 2);
  EXPECT_EQ(getSeconds(4), 2);
  EXPECT_EQ(getSeconds(3), 11);
  EXPECT_EQ(getSeconds(2), 11);
  EXPECT_EQ(getSeconds(1), 13);
  EXPECT_EQ(getSeconds(0), 13);
}

TEST(RecomputationPlannerTest, Minimum) {
  Problem problem;
  uint32_t received = problem.addOp(1, false, {});
  uint32_t y = problem.addValue(received, 8, true, false);
  uint32_t half = problem.addOp(1, true, {y});
  problem.addValue(half, 4, true, true);
  auto smallest = findSmallestPlan(problem);
  ASSERT_TRUE(bool(smallest));
  EXPECT_EQ(smallest->savedBytes, 4);
  EXPECT_EQ(smallest->isSaved, (std::vector<bool>{false, true}));
  EXPECT_EQ(errorOf(problem, 3),
            "budget of 3 bytes is below the minimum of 4 bytes");
  EXPECT_EQ(errorOf(problem, 4), "");
}

TEST(RecomputationPlannerTest, Errors) {
  Problem problem;
  EXPECT_EQ(errorOf(problem, 0), "");
  uint32_t op = problem.addOp(1, false, {});
  problem.addValue(op, 8, false, true);
  EXPECT_EQ(errorOf(problem, 10),
            "a value that is needed can be neither saved nor computed again");
  problem.values[0].bytes = -1;
  EXPECT_EQ(errorOf(problem, 10),
            "bytes of value 0 must not be negative, got -1");
  problem.values[0].bytes = 1;
  problem.values[0].op = 1;
  EXPECT_EQ(errorOf(problem, 10),
            "value 0 must be of one of the 1 operations, got 1");
  problem.values[0].op = 0;
  problem.ops[0].inputs = {0};
  EXPECT_EQ(errorOf(problem, 10), "operation 0 must read values of earlier "
                                  "operations, got value 0");
  problem.ops[0].inputs.clear();
  problem.ops[0].seconds = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(errorOf(problem, 10), "");
}

TEST(RecomputationPlannerTest, RandomAgainstAllPlans) {
  RecomputationPlannerOptions options;
  options.tolerance = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    Problem problem =
        makeRandom(random, 1 + seed % 12, seed % 3 == 0 ? 2 : 100);
    int64_t total = 0;
    for (const Problem::Value &value : problem.values)
      total += value.bytes;
    int64_t budget = random() % (total + 1);
    double expected = tryAll(problem, budget);
    auto plan = planRecomputation(problem, budget, options);
    ASSERT_EQ(bool(plan), expected < 1) << seed;
    if (!plan)
      continue;
    check(problem, *plan, budget);
    EXPECT_LE(plan->seconds, expected * (1 + 1e-9)) << seed;
    EXPECT_LE(plan->lowerBound, plan->seconds) << seed;
    EXPECT_LE(plan->lowerBound, expected * (1 + 1e-9)) << seed;
  }
}

/// A chain of equal blocks, each of which hands on one value.
static Problem makeBlocks(std::mt19937 &random, uint32_t numBlocks,
                          uint32_t opsPerBlock) {
  Problem block = makeRandom(random, opsPerBlock, 8);
  Problem problem;
  uint32_t carried =
      problem.addValue(problem.addOp(1e-6, true, {}), 4096, true, false);
  for (uint32_t i = 0; i < numBlocks; ++i) {
    uint32_t firstOp = problem.ops.size(), first = problem.values.size();
    for (const Problem::Op &op : block.ops) {
      std::vector<uint32_t> inputs;
      for (uint32_t input : op.inputs)
        inputs.push_back(first + input);
      if (inputs.empty())
        inputs.push_back(carried);
      problem.addOp(op.seconds, op.mayRecompute, std::move(inputs));
    }
    for (Problem::Value value : block.values) {
      value.op += firstOp;
      value.maySave = true;
      problem.values.push_back(value);
    }
    uint32_t add = problem.addOp(
        1e-6, true,
        {carried, static_cast<uint32_t>(problem.values.size() - 1)});
    carried = problem.addValue(add, 4096, true, false);
  }
  problem.values.back().isNeeded = true;
  return problem;
}

/// Budgets between the least bytes and the most that any plan uses.
static std::vector<int64_t> getBudgets(const Problem &problem) {
  auto smallest = findSmallestPlan(problem);
  auto fastest =
      planRecomputation(problem, std::numeric_limits<int64_t>::max() / 4);
  EXPECT_TRUE(smallest && fastest);
  std::vector<int64_t> budgets;
  for (int part : {0, 1, 3, 5, 8})
    budgets.push_back(smallest->savedBytes +
                      (fastest->savedBytes - smallest->savedBytes) * part / 8);
  return budgets;
}

TEST(RecomputationPlannerTest, Blocks) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    std::mt19937 random(seed);
    Problem problem = makeBlocks(random, 1 + seed % 9, 20);
    for (int64_t budget : getBudgets(problem)) {
      auto plan = planRecomputation(problem, budget);
      ASSERT_TRUE(bool(plan)) << seed;
      check(problem, *plan, budget);
      EXPECT_LE(plan->seconds, plan->lowerBound * 1.02 + 1e-12)
          << seed << " within " << budget;
    }
  }
}

TEST(RecomputationPlannerTest, Large) {
  std::mt19937 random(1);
  Problem problem = makeBlocks(random, 240, 150);
  ASSERT_GT(problem.ops.size(), 36000u);
  for (int64_t budget : getBudgets(problem)) {
    auto plan = planRecomputation(problem, budget);
    ASSERT_TRUE(bool(plan));
    check(problem, *plan, budget);
    EXPECT_LE(plan->seconds, plan->lowerBound * 1.01 + 1e-12) << budget;
  }
}

/// Wide graphs have no points to cut them at: one search.
TEST(RecomputationPlannerTest, Wide) {
  for (unsigned seed = 0; seed < 2; ++seed) {
    std::mt19937 random(seed);
    Problem problem = makeRandom(random, 150, 150);
    for (Problem::Value &value : problem.values)
      value.maySave = true;
    for (int64_t budget : getBudgets(problem)) {
      auto plan = planRecomputation(problem, budget);
      ASSERT_TRUE(bool(plan));
      check(problem, *plan, budget);
      EXPECT_LE(plan->seconds, plan->lowerBound * 1.02 + 1e-12)
          << seed << " within " << budget;
    }
  }
}
