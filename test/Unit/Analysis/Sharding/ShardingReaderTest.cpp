//===- ShardingReaderTest.cpp - Tests of problems as JSON -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Sharding/ShardingReader.h"

#include <gtest/gtest.h>

using namespace regather;

namespace {
/// A problem with these lists of nodes and edges.
std::string makeText(const std::string &intervals, const std::string &costs,
                     const std::string &usages, const std::string &ends,
                     const std::string &edgeCosts,
                     const std::string &limit = "7") {
  return R"({"problem": {"nodes": {"intervals": )" + intervals +
         R"(, "costs": )" + costs + R"(, "usages": )" + usages +
         R"(}, "edges": {"nodes": )" + ends + R"(, "costs": )" + edgeCosts +
         R"(}, "usage_limit": )" + limit + "}}";
}

std::string getMessage(const std::string &text) {
  Result<ShardingProblem> problem = readShardingProblem(text);
  return problem ? "" : problem.getMessage();
}

TEST(ShardingReader, ReadsEdgesOfOneNodeAndOfTwo) {
  Result<ShardingProblem> problem = readShardingProblem(
      makeText("[[0, 2], [1, 3]]", "[[1, 2], [3]]", "[[4, 5], [6]]",
               "[[1, 0], [0]]", "[[7, 1e30], [8, 9]]"));
  ASSERT_TRUE(bool(problem)) << problem.getMessage();
  EXPECT_EQ(problem->limit, 7);
  EXPECT_EQ(problem->nodes[1].begin, 1);
  EXPECT_EQ(problem->nodes[0].bytes, (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(problem->edges[0].from, 1u);
  EXPECT_EQ(problem->edges[0].costs, (std::vector<int64_t>{7, kForbiddenCost}));
  EXPECT_EQ(evaluateSharding(*problem, {0, 0}).cost, 1 + 3 + 7 + 8);
}

TEST(ShardingReader, NoLimitIsNone) {
  Result<ShardingProblem> problem =
      readShardingProblem(makeText("[]", "[]", "[]", "[]", "[]", "null"));
  ASSERT_TRUE(bool(problem)) << problem.getMessage();
  EXPECT_FALSE(problem->limit);
}

TEST(ShardingReader, NamesWhatIsWrong) {
  EXPECT_EQ(getMessage("[]"), "expects an object with an object \"problem\"");
  EXPECT_EQ(getMessage(R"({"problem": {}})"),
            "expects objects \"nodes\" and \"edges\" in \"problem\"");
  EXPECT_NE(getMessage("{\"problem\""), "");
  EXPECT_EQ(getMessage(R"({"problem": {"nodes": {}, "edges": {}}})"),
            "expects a list \"intervals\" in \"nodes\"");
  EXPECT_EQ(getMessage(makeText("[[0, 1]]", "[]", "[[1]]", "[]", "[]")),
            "nodes have 1 intervals, 0 costs and 1 usages");
  EXPECT_EQ(getMessage(makeText("[[0]]", "[[1]]", "[[1]]", "[]", "[]")),
            "interval 0 has 1 numbers, expects 2");
  EXPECT_EQ(getMessage(makeText("[[0, 1]]", "[[1.5]]", "[[1]]", "[]", "[]")),
            "expects integers as costs of node 0, got 1.5");
  EXPECT_EQ(
      getMessage(makeText("[[0, 1]]", "[[1]]", "[[1]]", "[[0, 1]]", "[[1]]")),
      "edge 0 ends at node 1, but there are 1 nodes");
  EXPECT_EQ(getMessage(
                makeText("[[0, 1]]", "[[1]]", "[[1]]", "[[0, 0, 0]]", "[[1]]")),
            "edge 0 has 3 nodes, expects 1 or 2");
  EXPECT_EQ(
      getMessage(makeText("[[0, 1]]", "[[1]]", "[[1]]", "[[0]]", "[[1, 2]]")),
      "edge 0 has 2 costs, but node 0 has 1 strategies");
  EXPECT_EQ(
      getMessage(makeText("[[0, 1]]", "[[1]]", "[[1]]", "[]", "[]", "-1")),
      "expects an integer of at least 0 as \"usage_limit\", got -1");
}
} // namespace
