//===- NodeTargetsTest.cpp - Operators that nodes call --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Targets/NodeTargets.h"
#include "regather/Conversion/NodeBuilders.h"
#include "regather/Dialect/TG/Sharding/NodeRules.h"

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

// A target without a builder is opaque, or is expanded before, on purpose.
TEST(NodeTargetsTest, HaveBuildersOrNone) {
  for (const NodeTargetInfo &info : getNodeTargets())
    EXPECT_EQ(regather::nodes::hasBuilder(info.target),
              info.lowering == TargetLowering::Built)
        << info.name.str()
        << ": its record says which, see docs/adding-an-operator.md";
}

// Forgetting a rule would make everything whole without a word.
TEST(NodeTargetsTest, HaveRulesOrAreWhole) {
  for (const NodeTargetInfo &info : getNodeTargets())
    EXPECT_EQ(sharding::hasNodeRule(info.target),
              info.sharding == TargetSharding::Ruled)
        << info.name.str()
        << ": its record says which, see docs/adding-an-operator.md";
}

TEST(NodeTargetsTest, ParametersDiffer) {
  for (const NodeTargetInfo &info : getNodeTargets()) {
    llvm::SmallVector<llvm::StringRef> names;
    info.parameters.split(names, ' ');
    for (llvm::StringRef name : names)
      EXPECT_EQ(llvm::count(names, name), 1) << info.name.str();
  }
}

} // namespace
