//===- ShardingSolverTest.cpp - The solver against all choices ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Sharding/ShardingSolver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace regather;

namespace {
/// Small problems with every trait of large ones: ties, forbidden pairs, edges
/// that are sums, several edges of two nodes, nodes that are never live.
class RandomProblem {
public:
  explicit RandomProblem(uint32_t seed) : random(seed) {}

  ShardingProblem make() {
    ShardingProblem problem;
    uint32_t numNodes = draw(1, 7);
    int64_t most = 0;
    for (uint32_t i = 0; i != numNodes; ++i) {
      ShardingNode node;
      node.begin = draw(0, 6);
      node.end = node.begin + draw(0, 5);
      uint32_t numStrategies = draw(1, 4);
      for (uint32_t s = 0; s != numStrategies; ++s) {
        node.costs.push_back(draw(0, 9) == 0 ? kForbiddenCost : draw(0, 50));
        node.bytes.push_back(draw(0, 20));
      }
      most += *std::max_element(node.bytes.begin(), node.bytes.end());
      problem.nodes.push_back(std::move(node));
    }
    for (uint32_t i = 0, e = draw(0, 2 * numNodes); i != e; ++i)
      addEdge(problem);
    if (draw(0, 4) != 0)
      problem.limit = draw(0, most);
    return problem;
  }

private:
  uint32_t draw(uint32_t low, uint32_t high) {
    return low + random() % (high - low + 1);
  }

  void addEdge(ShardingProblem &problem) {
    ShardingEdge edge;
    edge.from = draw(0, problem.nodes.size() - 1);
    edge.to = draw(0, problem.nodes.size() - 1);
    uint32_t kind = draw(0, 3);
    size_t numFrom = problem.nodes[edge.from].costs.size();
    size_t numTo = problem.nodes[edge.to].costs.size();
    uint32_t shift = draw(0, 3);
    for (uint32_t from = 0; from != numFrom; ++from)
      for (uint32_t to = 0; to != numTo; ++to) {
        bool isTied = (from + shift) % numTo == to;
        if (kind == 0)
          edge.costs.push_back(isTied ? draw(0, 9) : kForbiddenCost);
        else if (kind == 1)
          edge.costs.push_back(5 * from + 3 * to);
        else
          edge.costs.push_back(draw(0, 7) == 0 ? kForbiddenCost : draw(0, 50));
      }
    problem.edges.push_back(std::move(edge));
  }

  std::mt19937 random;
};

struct Optimum {
  /// Within the limit; and the least peak of all that are not forbidden.
  int64_t cost = kForbiddenCost;
  int64_t peak = kForbiddenCost;
};

Optimum tryAll(const ShardingProblem &problem) {
  Optimum optimum;
  std::vector<uint32_t> choice(problem.nodes.size(), 0);
  while (true) {
    ShardingValue value = evaluateSharding(problem, choice);
    if (value.cost < kForbiddenCost) {
      optimum.peak = std::min(optimum.peak, value.peak);
      if (!problem.limit || value.peak <= *problem.limit)
        optimum.cost = std::min(optimum.cost, value.cost);
    }
    size_t i = 0;
    while (i != choice.size() && ++choice[i] == problem.nodes[i].costs.size())
      choice[i++] = 0;
    if (i == choice.size())
      return optimum;
  }
}

ShardingSolverOptions takeLittle() {
  ShardingSolverOptions options;
  options.work = 1000000;
  return options;
}

TEST(ShardingSolver, FindsWhatAllChoicesHave) {
  uint32_t numSolved = 0, numForbidden = 0, numTooLarge = 0;
  for (uint32_t seed = 0; seed != 500; ++seed) {
    SCOPED_TRACE(seed);
    ShardingProblem problem = RandomProblem(seed).make();
    Optimum optimum = tryAll(problem);
    Result<ShardingSolution> solution = solveSharding(problem, takeLittle());
    if (optimum.cost < kForbiddenCost) {
      ++numSolved;
      ASSERT_TRUE(bool(solution)) << solution.getMessage();
      ShardingValue value = evaluateSharding(problem, solution->strategies);
      EXPECT_EQ(solution->value.cost, value.cost);
      EXPECT_EQ(solution->value.peak, value.peak);
      EXPECT_EQ(value.cost, optimum.cost);
      if (problem.limit) {
        EXPECT_LE(value.peak, *problem.limit);
      }
      EXPECT_LE(solution->bound, optimum.cost);
    } else if (optimum.peak == kForbiddenCost) {
      ++numForbidden;
      ASSERT_FALSE(bool(solution));
      EXPECT_NE(solution.getMessage().find("forbidden"), std::string::npos);
    } else {
      ++numTooLarge;
      ASSERT_FALSE(bool(solution));
      // The least limit that would do.
      EXPECT_NE(solution.getMessage().find(" " + std::to_string(optimum.peak) +
                                           " bytes"),
                std::string::npos)
          << solution.getMessage() << ", least peak " << optimum.peak;
    }
  }
  EXPECT_GT(numSolved, 200u);
  EXPECT_GT(numForbidden, 20u);
  EXPECT_GT(numTooLarge, 20u);
}

/// A ring of nodes that prefer to agree, at a price of memory.
ShardingProblem makeRing(uint32_t numNodes) {
  ShardingProblem problem;
  for (uint32_t i = 0; i != numNodes; ++i) {
    problem.nodes.push_back({i, i + 6, {9 * (i % 3), 4, 6}, {2, 5, 4 + i % 2}});
    problem.edges.push_back(
        {i, (i + 1) % numNodes, {0, 5, 8, 5, 0, 2 + i % 5, 8, 3, 0}});
  }
  problem.limit = 24;
  return problem;
}

TEST(ShardingSolver, EqualWorkGivesEqualChoices) {
  ShardingProblem problem = makeRing(60);
  Result<ShardingSolution> first = solveSharding(problem, takeLittle());
  Result<ShardingSolution> second = solveSharding(problem, takeLittle());
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->strategies, second->strategies);
  EXPECT_EQ(first->bound, second->bound);
}

TEST(ShardingSolver, BoundsARingClosely) {
  Result<ShardingSolution> solution = solveSharding(makeRing(60), takeLittle());
  ASSERT_TRUE(bool(solution)) << solution.getMessage();
  EXPECT_LE(solution->value.peak, 24);
  EXPECT_LE(solution->bound, solution->value.cost);
  EXPECT_GE(solution->bound, 0.8 * solution->value.cost);
}

TEST(ShardingSolver, NothingToChooseCostsNothing) {
  Result<ShardingSolution> solution = solveSharding({}, takeLittle());
  ASSERT_TRUE(bool(solution)) << solution.getMessage();
  EXPECT_EQ(solution->value.cost, 0);
  EXPECT_EQ(solution->bound, 0);
  EXPECT_TRUE(solution->strategies.empty());
}

TEST(ShardingSolver, SaysWhenAndWhatDoesNotFit) {
  ShardingProblem problem;
  problem.nodes = {{0, 4, {1, 2}, {9, 6}}, {3, 5, {1, 1}, {8, 7}}};
  problem.limit = 12;
  Result<ShardingSolution> solution = solveSharding(problem, takeLittle());
  ASSERT_FALSE(bool(solution));
  EXPECT_EQ(solution.getMessage(),
            "no choice fits into 12 bytes: at time 3 live nodes take at least "
            "13; a limit of 13 bytes would do");
}
} // namespace
