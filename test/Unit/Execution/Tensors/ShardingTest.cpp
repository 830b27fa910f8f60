//===- ShardingTest.cpp - Global tensors to parts and back ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/InitAll.h"
#include "regather/StepAnalysis/AnalyzeStep.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace regather;

namespace {
class ShardingTest : public ::testing::Test {
protected:
  ShardingTest() : context(makeRegistry()) {}

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  /// The only argument of a step over a 2 x 2 mesh.
  const StepValue &argument(StringRef type, StringRef placement) {
    module = parseSourceString<ModuleOp>(
        llvm::formatv("tg.mesh @mesh [dp = 2, tp = 2]\n"
                      "func.func @f(%x: {0} {{tg.placement = "
                      "#tg.placement<@mesh {1}>}) {{ return }",
                      type, placement)
            .str(),
        &context);
    EXPECT_TRUE(module);
    step = analyzeStep(*module, "", std::nullopt)->signature;
    return step.arguments.front();
  }

  static HostTensor iota(ArrayRef<int64_t> shape) {
    HostTensor tensor = HostTensor::zeros(ElementType::F32, shape);
    for (int64_t i = 0, e = tensor.getNumElements(); i != e; ++i)
      tensor.setFromDouble(i, static_cast<double>(i) + 1);
    return tensor;
  }

  static std::vector<double> values(const HostTensor &tensor) {
    std::vector<double> result;
    for (int64_t i = 0, e = tensor.getNumElements(); i != e; ++i)
      result.push_back(tensor.getAsDouble(i));
    return result;
  }

  std::vector<HostTensor> shardAll(const HostTensor &global) {
    std::vector<HostTensor> parts;
    for (int64_t rank = 0; rank != step.ranks; ++rank)
      parts.push_back(shardTensor(global, step.arguments.front(), step, rank));
    return parts;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  StepSignature step;
};
using Values = std::vector<double>;
} // namespace

// Three elements in shards of two: the last element of the second is padding.
TEST_F(ShardingTest, PadsUnevenShards) {
  const StepValue &value = argument("tensor<2xf32>", "[[dp] = shard 0] of [3]");
  std::vector<HostTensor> parts = shardAll(iota({3}));
  EXPECT_EQ(values(parts[0]), Values({1, 2}));
  EXPECT_EQ(values(parts[1]), Values({1, 2}));
  EXPECT_EQ(values(parts[2]), Values({3, 0}));
  auto global = unshardTensor(parts, value, step);
  ASSERT_TRUE(bool(global));
  EXPECT_EQ(values(*global), Values({1, 2, 3}));
}

// One element on four ranks: three of them hold padding only.
TEST_F(ShardingTest, PadsEmptyShards) {
  const StepValue &value =
      argument("tensor<1xf32>", "[[dp, tp] = shard 0] of [1]");
  std::vector<HostTensor> parts = shardAll(iota({1}));
  EXPECT_EQ(values(parts[0]), Values({1}));
  EXPECT_EQ(values(parts[3]), Values({0}));
  auto global = unshardTensor(parts, value, step);
  ASSERT_TRUE(bool(global));
  EXPECT_EQ(values(*global), Values({1}));
}

// Ranks 0..3 are (dp, tp) = (0, 0), (0, 1), (1, 0), (1, 1).
TEST_F(ShardingTest, FlattensAxesInTheirOrder) {
  argument("tensor<1xf32>", "[[tp, dp] = shard 0]");
  std::vector<HostTensor> parts = shardAll(iota({4}));
  EXPECT_EQ(values(parts[0]), Values({1}));
  EXPECT_EQ(values(parts[1]), Values({3}));
  EXPECT_EQ(values(parts[2]), Values({2}));
  EXPECT_EQ(values(parts[3]), Values({4}));
}

TEST_F(ShardingTest, ShardsTwoDimensions) {
  const StepValue &value =
      argument("tensor<2x2xf32>", "[[dp] = shard 1, [tp] = shard 0] of [3, 4]");
  std::vector<HostTensor> parts = shardAll(iota({3, 4}));
  EXPECT_EQ(values(parts[1]), Values({9, 10, 0, 0}));
  EXPECT_EQ(values(parts[2]), Values({3, 4, 7, 8}));
  auto global = unshardTensor(parts, value, step);
  ASSERT_TRUE(bool(global));
  EXPECT_EQ(values(*global), values(iota({3, 4})));
}

TEST_F(ShardingTest, SumsPartialValues) {
  const StepValue &value = argument("tensor<2xf32>", "[[dp] = partial sum]");
  std::vector<HostTensor> parts = shardAll(iota({2}));
  EXPECT_EQ(values(parts[1]), Values({1, 2}));
  EXPECT_EQ(values(parts[2]), Values({0, 0}));
  parts[2] = parts[3] = iota({2});
  auto global = unshardTensor(parts, value, step);
  ASSERT_TRUE(bool(global));
  EXPECT_EQ(values(*global), Values({2, 4}));
}

TEST_F(ShardingTest, FindsCopiesThatDiffer) {
  const StepValue &value = argument("tensor<2xf32>", "[[dp] = shard 0]");
  std::vector<HostTensor> parts = shardAll(iota({4}));
  parts[3] = iota({2});
  EXPECT_EQ(unshardTensor(parts, value, step).getMessage(),
            "\"arg0\" is replicated, but ranks 2 and 3 hold different values");
}

// Near miss: padding may differ.
TEST_F(ShardingTest, IgnoresPaddingOfCopies) {
  const StepValue &value = argument("tensor<2xf32>", "[[dp] = shard 0] of [3]");
  std::vector<HostTensor> parts = shardAll(iota({3}));
  parts[3] = HostTensor::zeros(ElementType::F32, {2});
  parts[3].setFromDouble(0, 3);
  parts[3].setFromDouble(1, 42);
  EXPECT_TRUE(bool(unshardTensor(parts, value, step)));
}
