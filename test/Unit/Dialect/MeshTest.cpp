//===- MeshTest.cpp - Ranks, groups and placements ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace regather::tg;

namespace {
class MeshTest : public ::testing::Test {
protected:
  MeshTest() {
    context.loadDialect<TGDialect>();
    module = parseSourceString<ModuleOp>(
        "tg.mesh @mesh [dp = 2, tp = 3, pp = 2]", &context);
    mesh = *module->getOps<MeshOp>().begin();
  }
  AxesAttr axes(ArrayRef<StringRef> names) {
    return AxesAttr::get(&context, names);
  }
  using Ranks = SmallVector<int64_t>;

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  MeshOp mesh;
};
} // namespace

// Row-major: rank = (dp * 3 + tp) * 2 + pp.
TEST_F(MeshTest, CountsRanksRowMajor) {
  EXPECT_EQ(mesh.getNumRanks(), 12);
  EXPECT_EQ(mesh.getAxisSize("tp"), 3);
  EXPECT_EQ(mesh.getAxisSize("ep"), std::nullopt);
  EXPECT_EQ(mesh.getIndexInGroup(7, axes({"dp"})), 1);
  EXPECT_EQ(mesh.getIndexInGroup(7, axes({"tp"})), 0);
  EXPECT_EQ(mesh.getIndexInGroup(7, axes({"pp"})), 1);
}

TEST_F(MeshTest, GroupsOverOneAxis) {
  EXPECT_EQ(mesh.getGroup(7, axes({"dp"})), Ranks({1, 7}));
  EXPECT_EQ(mesh.getGroup(7, axes({"tp"})), Ranks({7, 9, 11}));
  EXPECT_EQ(mesh.getGroup(7, axes({"pp"})), Ranks({6, 7}));
  EXPECT_EQ(mesh.getGroup(7, axes({})), Ranks({7}));
}

// The order of the axes is the order of the members.
TEST_F(MeshTest, GroupsOverFlattenedAxes) {
  EXPECT_EQ(mesh.getGroup(7, axes({"dp", "pp"})), Ranks({0, 1, 6, 7}));
  EXPECT_EQ(mesh.getGroup(7, axes({"pp", "dp"})), Ranks({0, 6, 1, 7}));
}

// A rank is where its index says in its own group, on every rank and axes.
TEST_F(MeshTest, IndexAgreesWithGroup) {
  for (const auto &names : {SmallVector<StringRef>{"dp"},
                            {"tp", "dp"},
                            {"pp", "tp"},
                            {"dp", "tp", "pp"}})
    for (int64_t rank = 0; rank != 12; ++rank) {
      Ranks group = mesh.getGroup(rank, axes(names));
      EXPECT_EQ(static_cast<int64_t>(group.size()),
                mesh.getGroupSize(axes(names)));
      EXPECT_EQ(group[mesh.getIndexInGroup(rank, axes(names))], rank);
    }
}

TEST(ShardSize, RoundsUp) {
  EXPECT_EQ(getShardSize(10, 4), 3);
  EXPECT_EQ(getShardSize(8, 4), 2);
  EXPECT_EQ(getShardSize(1, 4), 1);
  EXPECT_EQ(getShardSize(0, 4), 0);
}
