//===- ShardingProblemTest.cpp - Tests of sharding problems ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Sharding/ShardingProblem.h"

#include <gtest/gtest.h>

#include <limits>

using namespace regather;

namespace {
ShardingProblem makeChain() {
  ShardingProblem problem;
  problem.nodes = {{0, 2, {3, 1}, {8, 2}}, {2, 4, {0, 5}, {1, 7}}};
  problem.edges = {{0, 1, {0, 2, 4, kForbiddenCost}}};
  return problem;
}

std::string getMessage(const ShardingProblem &problem) {
  Failure failure = checkShardingProblem(problem);
  return failure ? failure.getMessage() : "";
}

TEST(ShardingProblem, AddsCostsAndFindsThePeak) {
  ShardingProblem problem = makeChain();
  ShardingValue value = evaluateSharding(problem, {0, 1});
  EXPECT_EQ(value.cost, 3 + 5 + 2);
  // The first ends where the second begins.
  EXPECT_EQ(value.peak, 8);
  EXPECT_EQ(value.peakTime, 0);
  problem.nodes[0].end = 3;
  value = evaluateSharding(problem, {0, 1});
  EXPECT_EQ(value.peak, 15);
  EXPECT_EQ(value.peakTime, 2);
}

TEST(ShardingProblem, ForbiddenCostsDoNotOverflow) {
  ShardingProblem problem = makeChain();
  for (int i = 0; i != 20; ++i)
    problem.edges.push_back(problem.edges.front());
  EXPECT_EQ(getMessage(problem), "");
  EXPECT_EQ(evaluateSharding(problem, {1, 1}).cost, kForbiddenCost);
}

TEST(ShardingProblem, NodesThatAreNeverLiveTakeNothing) {
  ShardingProblem problem = makeChain();
  problem.nodes[0].end = 0;
  EXPECT_EQ(evaluateSharding(problem, {0, 0}).peak, 1);
}

TEST(ShardingProblem, NamesWhatIsWrong) {
  ShardingProblem problem = makeChain();
  problem.edges[0].to = 2;
  EXPECT_EQ(getMessage(problem),
            "edge 0 ends at node 2, but there are 2 nodes");
  problem = makeChain();
  problem.edges[0].costs.pop_back();
  EXPECT_EQ(getMessage(problem),
            "edge 0 has 3 costs, but joins 2 strategies of node 0 and 2 of "
            "node 1");
  problem = makeChain();
  problem.nodes[1].bytes.pop_back();
  EXPECT_EQ(getMessage(problem),
            "node 1 has 2 costs, but bytes of 1 strategies");
  problem = makeChain();
  problem.nodes[1] = {};
  EXPECT_EQ(getMessage(problem), "node 1 has no strategies");
  problem = makeChain();
  problem.nodes[1].bytes[0] = -1;
  EXPECT_EQ(getMessage(problem),
            "node 1 has a negative cost or negative bytes");
  problem = makeChain();
  problem.nodes[1].bytes[0] = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(getMessage(problem),
            "costs or bytes are too large to be added: those of the nodes up "
            "to 1");
}
} // namespace
