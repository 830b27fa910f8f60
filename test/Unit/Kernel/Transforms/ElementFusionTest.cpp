//===- ElementFusionTest.cpp - Work does not double along a chain ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/InitAll.h"
#include "regather/Kernel/Transforms/KernelPipelines.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace regather;
using namespace regather::kernel;

namespace {
class ElementFusionTest : public ::testing::Test {
protected:
  ElementFusionTest() {
    mlir::DialectRegistry dialects;
    registerAllDialects(dialects);
    context.appendDialectRegistry(dialects);
    loadKernelDialects(&context);
  }

  /// The additions of a kernel that is lowered to buffers.
  int64_t countAdditions(const std::string &results, const std::string &body);

  mlir::MLIRContext context;
};
} // namespace

int64_t ElementFusionTest::countAdditions(const std::string &results,
                                          const std::string &body) {
  std::string text = "tg.kernel @k(%v0: tensor<4x8xf32>, %row: tensor<8xf32>, "
                     "%sum: tensor<4xf32>) -> " +
                     results + " {\n" + body + "}\n";
  auto parsed = mlir::parseSourceString<mlir::ModuleOp>(
      text, mlir::ParserConfig(&context));
  EXPECT_TRUE(parsed) << text;
  if (!parsed)
    return -1;
  mlir::PassManager pm(&context);
  pm.addPass(createTilePass());
  buildBufferPipeline(pm);
  EXPECT_TRUE(mlir::succeeded(pm.run(*parsed)));
  int64_t count = 0;
  parsed->walk([&](mlir::arith::AddFOp) { ++count; });
  return count;
}

/// A node that adds two values of the shape of the first argument.
static std::string add(const std::string &sum, const std::string &left,
                       const std::string &right) {
  return "  " + sum + " = tg.node \"aten.add.Tensor\"(" + left + ", " + right +
         ") : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>\n";
}

/// A node that adds the columns of a value.
static std::string sumColumns(const std::string &sum,
                              const std::string &value) {
  return "  " + sum + " = tg.node \"aten.sum.dim_IntList\"(" + value +
         ") args [#tg.operand<0>, [1]] : (tensor<4x8xf32>) -> tensor<4xf32>\n";
}

static std::string number(const char *name, int i) {
  return name + std::to_string(i);
}

/// Values %v1 to %vN, each of which adds the one before to itself.
static std::string doubleOften(int steps) {
  std::string text;
  for (int i = 1; i <= steps; ++i)
    text += add(number("%v", i), number("%v", i - 1), number("%v", i - 1));
  return text;
}

TEST_F(ElementFusionTest, AddsAValueToItselfOnce) {
  for (int steps : {1, 8, 12, 40})
    EXPECT_EQ(countAdditions("tensor<4x8xf32>",
                             doubleOften(steps) + "  tg.return " +
                                 number("%v", steps) + " : tensor<4x8xf32>\n"),
              steps);
}

TEST_F(ElementFusionTest, ComputesWhatBothSidesOfADiamondReadOnce) {
  for (int steps : {1, 4, 40}) {
    std::string text;
    for (int i = 1; i <= steps; ++i) {
      text += add(number("%a", i), number("%v", i - 1), "%v0");
      text += add(number("%b", i), number("%v", i - 1), number("%a", i));
      text += add(number("%v", i), number("%a", i), number("%b", i));
    }
    EXPECT_EQ(countAdditions("tensor<4x8xf32>", text + "  tg.return " +
                                                    number("%v", steps) +
                                                    " : tensor<4x8xf32>\n"),
              3 * steps);
  }
}

TEST_F(ElementFusionTest, ReadersRepeatOnlySoMuch) {
  auto count = [&](int steps) {
    std::string text = doubleOften(steps), sums, types;
    for (int i = 1; i <= steps; ++i) {
      std::string sum = number("%s", i);
      text += sumColumns(sum, number("%v", i));
      sums += (i == 1 ? "" : ", ") + sum;
      types += i == 1 ? "tensor<4xf32>" : ", tensor<4xf32>";
    }
    return countAdditions('(' + types + ')',
                          text + "  tg.return " + sums + " : " + types + '\n');
  };
  // Without a limit, each sum would repeat all of the chain up to it.
  int64_t few = count(40), many = count(80);
  EXPECT_GE(few, 80);
  EXPECT_LE(many, 2 * few + 40);
}

TEST_F(ElementFusionTest, SumsWhatHasNoElementForEachStep) {
  // Nothing that the sum depends on has an element for each of its steps.
  for (int steps : {1, 12, 14}) {
    std::string text =
        "  %v0_rows = tg.node \"aten.expand.default\"(%row) args "
        "[#tg.operand<0>, [4, 8]] : (tensor<8xf32>) -> tensor<4x8xf32>\n" +
        add("%v1", "%v0_rows", "%v0_rows");
    for (int i = 2; i <= steps; ++i)
      text += add(number("%v", i), number("%v", i - 1), number("%v", i - 1));
    text += sumColumns("%s", number("%v", steps));
    EXPECT_EQ(countAdditions("tensor<4xf32>",
                             text + "  tg.return %s : tensor<4xf32>\n"),
              steps + 1);
  }
}
