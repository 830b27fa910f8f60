//===- NodeTargetsTest.cpp - Operators that nodes call --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Targets/NodeTargets.h"

#include "gtest/gtest.h"

using namespace regather::tg;

namespace {

// The generated search finds each row, and each enumerator its row.
TEST(NodeTargetsTest, FindsEveryTarget) {
  for (const NodeTargetInfo &info : getNodeTargets()) {
    std::optional<NodeTarget> found = findNodeTarget(info.name);
    ASSERT_TRUE(found) << info.name.str();
    EXPECT_EQ(&getInfo(*found), &info) << info.name.str();
    EXPECT_EQ(findNodeOperator(info.name), info.op) << info.name.str();
  }
}

TEST(NodeTargetsTest, FindsEveryOperator) {
  for (const NodeOperatorInfo &info : getNodeOperators()) {
    std::optional<NodeOperator> found = findNodeOperator(info.name);
    ASSERT_TRUE(found) << info.name.str();
    EXPECT_EQ(&getInfo(*found), &info) << info.name.str();
  }
}

TEST(NodeTargetsTest, NamesEnumerators) {
  EXPECT_EQ(getName(NodeTarget::AtenAddTensor), "aten.add.Tensor");
  EXPECT_EQ(getName(NodeTarget::AtenSumDimIntList), "aten.sum.dim_IntList");
  EXPECT_EQ(getInfo(NodeOperator::AtenToCopy).name, "aten._to_copy");
  EXPECT_EQ(getInfo(NodeTarget::AtenMmDefault).op, NodeOperator::AtenMm);
}

TEST(NodeTargetsTest, KnowsOperatorsOfUnknownOverloads) {
  EXPECT_EQ(findNodeTarget("aten.view.other"), std::nullopt);
  EXPECT_EQ(findNodeOperator("aten.view.other"), NodeOperator::AtenView);
  EXPECT_EQ(findNodeOperator("_operator.getitem"), NodeOperator::PythonGetitem);
}

TEST(NodeTargetsTest, TellsCaseAndPrefixes) {
  for (const char *name : {"aten.MM.default", "aten.mm.Default", "mm.default",
                           "aten.m.default", "aten.", "", ".", "aten"}) {
    EXPECT_EQ(findNodeTarget(name), std::nullopt) << name;
    EXPECT_EQ(
        findNodeOperator(name == std::string("aten.mm.Default") ? "" : name),
        std::nullopt)
        << name;
  }
}

} // namespace
