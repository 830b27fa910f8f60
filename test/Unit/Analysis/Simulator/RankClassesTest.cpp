//===- RankClassesTest.cpp - Ranks that do the same at the same time ------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Simulator/RankClasses.h"

#include "gtest/gtest.h"

#include <set>

using namespace regather;

/// The number of nodes of eight ranks that a group lies in.
static uint32_t countNodes(uint32_t, llvm::ArrayRef<int64_t> members) {
  std::set<int64_t> nodes;
  for (int64_t rank : members)
    nodes.insert(rank / 8);
  return nodes.size();
}

TEST(RankClassesTest, RegularMeshesHaveOne) {
  // 16,384 ranks, eight of them in a node: dp, tp and both together.
  RankClasses classes =
      findRankClasses({2048, 8}, {{0}, {1}, {0, 1}}, countNodes);
  ASSERT_EQ(classes.ranks.size(), 1u);
  EXPECT_EQ(classes.ranks[0].count, 16384);
  ASSERT_EQ(classes.groups.size(), 3u);
  EXPECT_EQ(classes.groups[0][0].count, 8);
  EXPECT_EQ(classes.groups[0][0].placement, 2048u);
  EXPECT_EQ(classes.groups[1][0].count, 2048);
  EXPECT_EQ(classes.groups[1][0].placement, 1u);
  EXPECT_EQ(classes.groups[2][0].count, 1);
}

TEST(RankClassesTest, GroupsThatLieAcrossNodes) {
  // Groups of six: 0-5 lie in a node, 6-11 and 12-17 in two, 18-23 in one.
  RankClasses classes = findRankClasses({4, 6}, {{1}}, countNodes);
  ASSERT_EQ(classes.ranks.size(), 2u);
  EXPECT_EQ(classes.ranks[0].firstRank, 0);
  EXPECT_EQ(classes.ranks[0].count, 12);
  EXPECT_EQ(classes.ranks[1].firstRank, 6);
  EXPECT_EQ(classes.ranks[1].count, 12);
  ASSERT_EQ(classes.groups[0].size(), 2u);
  EXPECT_EQ(classes.groups[0][1].placement, 2u);
  EXPECT_EQ(classes.groups[0][1].count, 2);
  EXPECT_EQ(classes.groups[0][1].rankClasses, (std::vector<uint32_t>{1}));
}

TEST(RankClassesTest, OtherGroupsAreTold) {
  // Three groups of six along tp, two of them in two nodes; dp connects ranks
  // of all three, and all its groups look alike.
  RankClasses classes = findRankClasses(
      {3, 6}, {{1}, {0}}, [](uint32_t stream, llvm::ArrayRef<int64_t> members) {
        return stream == 0 ? countNodes(stream, members) : 0u;
      });
  EXPECT_EQ(classes.ranks.size(), 2u);
  ASSERT_EQ(classes.groups[1].size(), 1u);
  EXPECT_EQ(classes.groups[1][0].rankClasses, (std::vector<uint32_t>{0, 1}));
}

TEST(RankClassesTest, DifferencesSpread) {
  // Along the first axis only {1, 3} is different, along the second only
  // {0, 1}: all four ranks meet others.
  RankClasses classes = findRankClasses(
      {2, 2}, {{0}, {1}}, [](uint32_t stream, llvm::ArrayRef<int64_t> members) {
        return members.front() == 1 - stream ? 1u : 0u;
      });
  EXPECT_EQ(classes.ranks.size(), 4u);
  // A column of its own, that all rows cross in the same way.
  classes = findRankClasses(
      {4, 4}, {{0}, {1}}, [](uint32_t stream, llvm::ArrayRef<int64_t> members) {
        return stream == 0 && members.front() == 1 ? 1u : 0u;
      });
  EXPECT_EQ(classes.ranks.size(), 2u);
  EXPECT_EQ(classes.groups[0].size(), 2u);
  EXPECT_EQ(classes.groups[1].size(), 1u);
}

TEST(RankClassesTest, NoStreams) {
  RankClasses classes = findRankClasses({7}, {}, countNodes);
  ASSERT_EQ(classes.ranks.size(), 1u);
  EXPECT_EQ(classes.ranks[0].count, 7);
}
