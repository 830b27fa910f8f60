//===- StepCostsTest.cpp - Seconds of a step's operations -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Steps/StepCosts.h"
#include "regather/InitAll.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

namespace {
class StepCostsTest : public ::testing::Test {
protected:
  StepCostsTest() : context(makeRegistry()), model(*loadCluster("h100-nodes")) {
    context.loadAllAvailableDialects();
  }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    regather::registerAllDialects(registry);
    return registry;
  }

  /// Parses a module and makes the operations of its function `ops`.
  StepCosts parse(StringRef source) {
    module = parseSourceString<ModuleOp>(source, &context);
    EXPECT_TRUE(module);
    ops.clear();
    for (Operation &op :
         (*module->getOps<func::FuncOp>().begin()).front().getOperations())
      ops.push_back(&op);
    return *StepCosts::create(*module, model);
  }

  MLIRContext context;
  CostModel model;
  OwningOpRef<ModuleOp> module;
  std::vector<Operation *> ops;
};
} // namespace

TEST_F(StepCostsTest, AsksTheModelForComputation) {
  StepCosts costs = parse(R"(
    func.func @f(%a: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
      %0 = tg.node "aten.mm.default"(%a, %a)
          : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
      %1 = tg.node "aten.relu.default"(%0)
          : (tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
      %2 = tg.node "aten.t.default"(%1)
          : (tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
      %3 = arith.constant dense<0.0> : tensor<4096x4096xbf16>
      return %2 : tensor<4096x4096xbf16>
    })");
  double elements = 4096.0 * 4096;
  EXPECT_DOUBLE_EQ(costs.getComputeSeconds(ops[0]),
                   model.computeSeconds(2 * 4096 * elements, 6 * elements,
                                        "bf16", WorkKind::Matmul));
  EXPECT_DOUBLE_EQ(costs.getComputeSeconds(ops[1]),
                   model.computeSeconds(elements, 4 * elements, "bf16"));
  EXPECT_EQ(costs.getComputeSeconds(ops[2]), 0);
  EXPECT_EQ(costs.getComputeSeconds(ops[3]), 0);
  EXPECT_EQ(costs.getComputeSeconds(ops[4]), 0);
}

// Half of the products are of what the mask hides.
TEST_F(StepCostsTest, CausalAttentionTakesHalf) {
  StepCosts costs = parse(R"(
    func.func @f(%q: tensor<8x32x4096x128xbf16>) {
      %0 = tg.node "aten.scaled_dot_product_attention.default"(%q, %q, %q)
          : (tensor<8x32x4096x128xbf16>, tensor<8x32x4096x128xbf16>,
             tensor<8x32x4096x128xbf16>) -> tensor<8x32x4096x128xbf16>
      %1 = tg.node "aten.scaled_dot_product_attention.default"(%q, %q, %q)
          args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, unit, 0.0, true]
          : (tensor<8x32x4096x128xbf16>, tensor<8x32x4096x128xbf16>,
             tensor<8x32x4096x128xbf16>) -> tensor<8x32x4096x128xbf16>
      return
    })");
  double launch = model.getCluster().device.launchSeconds;
  EXPECT_DOUBLE_EQ(costs.getComputeSeconds(ops[0]) - launch,
                   2 * (costs.getComputeSeconds(ops[1]) - launch));
}

// A fused kernel moves what it is given and gives, and nothing in between.
TEST_F(StepCostsTest, LaunchesMoveTheirOperandsOnce) {
  StepCosts costs = parse(R"(
    tg.kernel @square_relu(%a: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
      %0 = tg.node "aten.mul.Tensor"(%a, %a)
          : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
      %1 = tg.node "aten.relu.default"(%0)
          : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
      tg.return %1 : tensor<1024x1024xf32>
    }
    func.func @f(%a: tensor<1024x1024xf32>) {
      %0 = tg.launch @square_relu(%a)
          : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
      return
    })");
  double elements = 1024.0 * 1024;
  EXPECT_DOUBLE_EQ(costs.getComputeSeconds(ops[0]),
                   model.computeSeconds(2 * elements, 8 * elements, "f32"));
}

// Rank r of the mesh is rank r of the cluster: the inner axis is in a node.
TEST_F(StepCostsTest, AxesDecideOnLinks) {
  StepCosts costs = parse(R"(
    tg.mesh @mesh [dp = 4, tp = 8]
    func.func @f(%a: tensor<1048576xf32>) {
      %0 = tg.all_gather %a on @mesh [tp] dim 0 phase forward
          : (tensor<1048576xf32>) -> !tg.future<tensor<8388608xf32>>
      %1 = tg.all_gather %a on @mesh [dp] dim 0 phase forward
          : (tensor<1048576xf32>) -> !tg.future<tensor<4194304xf32>>
      %2 = tg.wait %0 : !tg.future<tensor<8388608xf32>>
      return
    })");
  CollectiveEstimate inner =
      costs.getCollective(cast<CollectiveOpInterface>(ops[0]));
  CollectiveEstimate outer =
      costs.getCollective(cast<CollectiveOpInterface>(ops[1]));
  EXPECT_EQ(inner.link, 0u);
  EXPECT_EQ(outer.link, 1u);
  EXPECT_DOUBLE_EQ(inner.seconds,
                   model.collectiveSeconds(CollectiveKind::AllGather,
                                           7.0 * 4 * 1048576, {8, {8, 1}}));
  EXPECT_DOUBLE_EQ(outer.seconds,
                   model.collectiveSeconds(CollectiveKind::AllGather,
                                           3.0 * 4 * 1048576, {4, {1, 4}}));
  EXPECT_EQ(costs.getComputeSeconds(ops[0]), 0);
  EXPECT_EQ(costs.getComputeSeconds(ops[2]), 0);
}

TEST_F(StepCostsTest, RefusesMeshesBeyondTheCluster) {
  CostModel node(*loadCluster("h100-8"));
  module = parseSourceString<ModuleOp>("tg.mesh @mesh [dp = 16]", &context);
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  EXPECT_TRUE(failed(StepCosts::create(*module, node)));
  EXPECT_EQ(message, "cluster \"h100-8\" connects 8 ranks, but the mesh has "
                     "16");
}

// The model knows every collective of the dialect by its name.
TEST_F(StepCostsTest, KnowsAllCollectives) {
  StringRef prefix = "tg.";
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (name.hasInterface<CollectiveOpInterface>())
      EXPECT_TRUE(
          findCollectiveKind(name.getStringRef().drop_front(prefix.size())))
          << name.getStringRef().str();
}
