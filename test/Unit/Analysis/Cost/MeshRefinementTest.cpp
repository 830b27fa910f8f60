//===- MeshRefinementTest.cpp - Meshes over the same ranks ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Cost/MeshRefinement.h"

#include "gtest/gtest.h"

using namespace regather;

using Sizes = std::vector<int64_t>;
using Parts = std::vector<std::vector<unsigned>>;

TEST(MeshRefinement, OneMeshIsItsOwn) {
  auto refinement = refineMeshes({Sizes{4, 2}});
  ASSERT_TRUE(refinement);
  EXPECT_EQ(refinement->sizes, (Sizes{4, 2}));
  EXPECT_EQ(refinement->parts[0], (Parts{{0}, {1}}));
}

TEST(MeshRefinement, AnAxisOfSubgroupsIsTwo) {
  auto refinement = refineMeshes({Sizes{512}, Sizes{64, 8}});
  ASSERT_TRUE(refinement);
  EXPECT_EQ(refinement->sizes, (Sizes{64, 8}));
  EXPECT_EQ(refinement->parts[0], (Parts{{0, 1}}));
  EXPECT_EQ(refinement->parts[1], (Parts{{0}, {1}}));
}

TEST(MeshRefinement, BoundariesOfBothCount) {
  auto refinement = refineMeshes({Sizes{2, 8}, Sizes{4, 4}});
  ASSERT_TRUE(refinement);
  EXPECT_EQ(refinement->sizes, (Sizes{2, 2, 4}));
  EXPECT_EQ(refinement->parts[0], (Parts{{0}, {1, 2}}));
  EXPECT_EQ(refinement->parts[1], (Parts{{0, 1}, {2}}));
}

TEST(MeshRefinement, AxesOfOneRankHaveNoParts) {
  auto refinement = refineMeshes({Sizes{1, 4, 1}, Sizes{4}});
  ASSERT_TRUE(refinement);
  EXPECT_EQ(refinement->sizes, (Sizes{4}));
  EXPECT_EQ(refinement->parts[0], (Parts{{}, {0}, {}}));
}

TEST(MeshRefinement, SomeMeshesDoNotFit) {
  EXPECT_FALSE(refineMeshes({Sizes{2, 3}, Sizes{3, 2}}));
  EXPECT_FALSE(refineMeshes({Sizes{4}, Sizes{8}}));
}
