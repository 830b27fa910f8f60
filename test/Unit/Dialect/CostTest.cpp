//===- CostTest.cpp - Costs of operations ---------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/InitAll.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace regather::tg;

namespace {
class CostTest : public ::testing::Test {
protected:
  CostTest() : context(makeRegistry()) { context.loadAllAvailableDialects(); }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    regather::registerAllDialects(registry);
    return registry;
  }

  /// Cost of the last operation before the terminator of the only function.
  OpCost costOfLast(StringRef source) {
    module = parseSourceString<ModuleOp>(source, &context);
    EXPECT_TRUE(module);
    auto func = *module->getOps<func::FuncOp>().begin();
    return getOpCost(&*std::prev(func.front().end(), 2));
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};
} // namespace

TEST_F(CostTest, Gemm) {
  OpCost cost = costOfLast(R"(
    func.func @f(%a: tensor<4x8xbf16>, %b: tensor<8x16xbf16>) {
      %0 = tg.node "aten.mm.default"(%a, %b)
          : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xbf16>
      return
    })");
  EXPECT_EQ(cost.flops, 2.0 * 4 * 8 * 16);
  EXPECT_EQ(cost.readBytes, 2 * (4 * 8 + 8 * 16));
  EXPECT_EQ(cost.writtenBytes, 2 * 4 * 16);
  EXPECT_FALSE(cost.view);
}

TEST_F(CostTest, GemmWithBiasFirst) {
  OpCost cost = costOfLast(R"(
    func.func @f(%c: tensor<16xf32>, %a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
      %0 = tg.node "aten.addmm.default"(%c, %a, %b)
          : (tensor<16xf32>, tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
      return
    })");
  EXPECT_EQ(cost.flops, 2.0 * 4 * 8 * 16);
}

TEST_F(CostTest, Factorizations) {
  EXPECT_EQ(costOfLast(R"(
    func.func @f(%a: tensor<2x6x6xf32>) {
      %0:3 = tg.node "aten.linalg_lu_factor_ex.default"(%a)
          : (tensor<2x6x6xf32>) -> (tensor<2x6x6xf32>, tensor<2x6xi32>, tensor<2xi32>)
      return
    })")
                .flops,
            2.0 * 2 * 6 * 6 * 6 / 3);
  EXPECT_EQ(costOfLast(R"(
    func.func @f(%a: tensor<2x6x6xf32>) {
      %0:2 = tg.node "aten.linalg_cholesky_ex.default"(%a)
          : (tensor<2x6x6xf32>) -> (tensor<2x6x6xf32>, tensor<2xi32>)
      return
    })")
                .flops,
            2.0 * 6 * 6 * 6 / 3);
  EXPECT_EQ(costOfLast(R"(
    func.func @f(%a: tensor<9x3xf32>) {
      %0:2 = tg.node "aten.linalg_qr.default"(%a)
          : (tensor<9x3xf32>) -> (tensor<9x3xf32>, tensor<3x3xf32>)
      return
    })")
                .flops,
            8.0 * 9 * 3 * 3 / 3);
}

TEST_F(CostTest, Attention) {
  OpCost cost = costOfLast(R"(
    func.func @f(%q: tensor<2x3x10x8xf32>, %k: tensor<2x3x20x8xf32>) {
      %0 = tg.node "aten._scaled_dot_product_attention.default"(%q, %k, %k)
          : (tensor<2x3x10x8xf32>, tensor<2x3x20x8xf32>, tensor<2x3x20x8xf32>)
          -> tensor<2x3x10x8xf32>
      return
    })");
  EXPECT_EQ(cost.flops, 2.0 * 2 * (2 * 3 * 10 * 8) * 20);
}

// Five products: two of them as wide as the value, which may differ.
TEST_F(CostTest, AttentionBackward) {
  OpCost cost = costOfLast(R"(
    func.func @f(%g: tensor<2x3x10x4xf32>, %q: tensor<2x3x10x8xf32>,
                 %k: tensor<2x3x20x8xf32>, %v: tensor<2x3x20x4xf32>,
                 %l: tensor<2x3x10xf32>) {
      %0:3 = tg.node "aten._scaled_dot_product_flash_attention_for_cpu_backward.default"(
          %g, %q, %k, %v, %g, %l)
          args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, #tg.operand<3>,
                #tg.operand<4>, #tg.operand<5>, 0.0, true]
          : (tensor<2x3x10x4xf32>, tensor<2x3x10x8xf32>, tensor<2x3x20x8xf32>,
             tensor<2x3x20x4xf32>, tensor<2x3x10x4xf32>, tensor<2x3x10xf32>)
          -> (tensor<2x3x10x8xf32>, tensor<2x3x20x8xf32>, tensor<2x3x20x4xf32>)
      return
    })");
  EXPECT_EQ(cost.flops, 2.0 * (2 * 3 * 10 * 20) * (3 * 8 + 2 * 4));
}

TEST_F(CostTest, Convolution) {
  OpCost cost = costOfLast(R"(
    func.func @f(%a: tensor<2x4x8x8xf32>, %w: tensor<6x2x3x3xf32>) {
      %0 = tg.node "aten.convolution.default"(%a, %w)
          args [#tg.operand<0>, #tg.operand<1>, unit, [1, 1], [1, 1], [1, 1],
                false, [0, 0], 2]
          : (tensor<2x4x8x8xf32>, tensor<6x2x3x3xf32>) -> tensor<2x6x8x8xf32>
      return
    })");
  EXPECT_EQ(cost.flops, 2.0 * (2 * 6 * 8 * 8) * (2 * 3 * 3));
}

// The input meets the weight, and the output is as large as the stride says.
TEST_F(CostTest, TransposedConvolution) {
  OpCost cost = costOfLast(R"(
    func.func @f(%a: tensor<2x4x8x8xf32>, %w: tensor<4x6x2x2xf32>) {
      %0 = tg.node "aten.convolution.default"(%a, %w)
          args [#tg.operand<0>, #tg.operand<1>, unit, [2, 2], [0, 0], [1, 1],
                true, [0, 0], 1]
          : (tensor<2x4x8x8xf32>, tensor<4x6x2x2xf32>) -> tensor<2x6x16x16xf32>
      return
    })");
  EXPECT_EQ(cost.flops, 2.0 * (2 * 4 * 8 * 8) * (6 * 2 * 2));
}

// One product for each gradient that the mask asks for.
TEST_F(CostTest, ConvolutionBackward) {
  auto flopsWith = [&](StringRef mask) {
    return costOfLast((R"(
    func.func @f(%g: tensor<2x6x8x8xf32>, %a: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
      %0:3 = tg.node "aten.convolution_backward.default"(%g, %a, %w)
          args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, [6], [1, 1],
                [1, 1], [1, 1], false, [0, 0], 1, )" +
                       mask + R"(]
          : (tensor<2x6x8x8xf32>, tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>)
          -> (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>, tensor<6xf32>)
      return
    })")
                          .str())
        .flops;
  };
  double product = 2.0 * (2 * 6 * 8 * 8) * (4 * 3 * 3);
  EXPECT_EQ(flopsWith("[true, true, false]"), 2 * product);
  EXPECT_EQ(flopsWith("[false, true, true]"), product);
}

TEST_F(CostTest, GroupedGemm) {
  OpCost cost = costOfLast(R"(
    func.func @f(%a: tensor<32x8xbf16>, %b: tensor<4x8x16xbf16>, %o: tensor<4xi32>) {
      %0 = tg.node "aten._grouped_mm.default"(%a, %b, %o)
          : (tensor<32x8xbf16>, tensor<4x8x16xbf16>, tensor<4xi32>) -> tensor<32x16xbf16>
      return
    })");
  EXPECT_EQ(cost.flops, 2.0 * 32 * 8 * 16);
}

// The rows that are looked up are read, not the table.
TEST_F(CostTest, Embedding) {
  OpCost cost = costOfLast(R"(
    func.func @f(%table: tensor<1000x8xf32>, %i: tensor<4xi64>) {
      %0 = tg.node "aten.embedding.default"(%table, %i)
          : (tensor<1000x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
      return
    })");
  EXPECT_EQ(cost.readBytes, 4 * 8 + 4 * 4 * 8);
  EXPECT_EQ(cost.writtenBytes, 4 * 4 * 8);
}

TEST_F(CostTest, Views) {
  OpCost cost = costOfLast(R"(
    func.func @f(%a: tensor<4x8xf32>) {
      %0 = tg.node "aten.transpose.int"(%a) args [#tg.operand<0>, 0, 1]
          : (tensor<4x8xf32>) -> tensor<8x4xf32>
      return
    })");
  EXPECT_TRUE(cost.view);
  EXPECT_EQ(cost.flops + cost.readBytes + cost.writtenBytes, 0);
  EXPECT_TRUE(costOfLast(R"(
    func.func @f(%a: tensor<4x8xf32>) {
      %0 = tensor.collapse_shape %a [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
      return
    })")
                  .view);
}

TEST_F(CostTest, Linalg) {
  OpCost cost = costOfLast(R"(
    func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>, %c: tensor<4x16xf32>) {
      %0 = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x16xf32>)
          outs(%c : tensor<4x16xf32>) -> tensor<4x16xf32>
      return
    })");
  EXPECT_EQ(cost.flops, 2.0 * 4 * 8 * 16);
  EXPECT_EQ(cost.readBytes, 4 * (4 * 8 + 8 * 16 + 4 * 16));
  EXPECT_EQ(cost.writtenBytes, 4 * 4 * 16);
}

// All structured operations of linalg have a cost.
TEST_F(CostTest, LinalgConvolution) {
  OpCost cost = costOfLast(R"(
    func.func @f(%a: tensor<1x2x4x6x6xf32>, %w: tensor<2x3x4x3x3xf32>,
                 %c: tensor<1x2x3x4x4xf32>) {
      %0 = linalg.conv_2d_ngchw_gfchw
          ins(%a, %w : tensor<1x2x4x6x6xf32>, tensor<2x3x4x3x3xf32>)
          outs(%c : tensor<1x2x3x4x4xf32>) -> tensor<1x2x3x4x4xf32>
      return
    })");
  EXPECT_EQ(cost.flops, 2.0 * (2 * 3 * 4 * 4) * (4 * 3 * 3));
}

// The fill of a tensor does not read it.
TEST_F(CostTest, UnreadOperand) {
  OpCost cost = costOfLast(R"(
    func.func @f(%x: f32, %c: tensor<4x16xf32>) {
      %0 = linalg.fill ins(%x : f32) outs(%c : tensor<4x16xf32>) -> tensor<4x16xf32>
      return
    })");
  EXPECT_EQ(cost.readBytes, 0);
  EXPECT_EQ(cost.flops, 0);
}

// What nobody knows moves its operands and results once.
TEST_F(CostTest, WithoutInterface) {
  OpCost cost = costOfLast(R"(
    func.func @f(%a: tensor<4xf32>) {
      %0 = arith.addf %a, %a : tensor<4xf32>
      return
    })");
  EXPECT_EQ(cost.readBytes, 32);
  EXPECT_EQ(cost.writtenBytes, 16);
}

// A flat tensor is taken apart for nothing; putting it together moves it.
TEST_F(CostTest, FlatTensors) {
  OpCost cost = costOfLast(R"(
    func.func @f(%flat: tensor<32xbf16>) {
      %0:2 = tg.unflatten %flat offsets [0, 16]
          : (tensor<32xbf16>) -> (tensor<4x3xbf16>, tensor<5xbf16>)
      return
    })");
  EXPECT_TRUE(cost.view);
  EXPECT_EQ(cost.flops + cost.readBytes + cost.writtenBytes, 0);
  cost = costOfLast(R"(
    func.func @f(%a: tensor<4x3xbf16>, %b: tensor<5xbf16>) {
      %0 = tg.flatten %a, %b offsets [0, 16]
          : (tensor<4x3xbf16>, tensor<5xbf16>) -> tensor<32xbf16>
      return
    })");
  EXPECT_FALSE(cost.view);
  EXPECT_EQ(cost.flops, 0);
  EXPECT_EQ(cost.readBytes, 2 * (12 + 5));
  EXPECT_EQ(cost.writtenBytes, 2 * 32);
}

TEST_F(CostTest, RandomBitsReadNoTensor) {
  OpCost cost = costOfLast(R"(
    func.func @f(%state: tensor<i64>) {
      %0 = tg.random %state, %state stream 0 : tensor<4x8xi64>
      return
    })");
  // Twenty operations for a word of 32 bits.
  EXPECT_EQ(cost.flops, 20.0 * 2 * 4 * 8);
  EXPECT_EQ(cost.readBytes, 16);
  EXPECT_EQ(cost.writtenBytes, 8 * 4 * 8);
  EXPECT_FALSE(cost.view);
}
