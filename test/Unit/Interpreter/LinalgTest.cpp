//===- LinalgTest.cpp - Structured operations -----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interpret.h"

#include <chrono>
#include <cmath>

using namespace regather;
using namespace regather::test;

TEST(Linalg, MatmulAccumulatesIntoItsOutput) {
  RankValues results = interpret(
      R"(
    func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>, %c: tensor<2x2xf32>)
        -> tensor<2x2xf32> {
      %r = linalg.matmul ins(%a, %b : tensor<2x3xf32>, tensor<3x2xf32>)
                         outs(%c : tensor<2x2xf32>) -> tensor<2x2xf32>
      return %r : tensor<2x2xf32>
    }
  )",
      {iota({2, 3}), iota({3, 2}), tensor({2, 2}, {100, 200, 300, 400})});
  EXPECT_EQ(values(results[0]), (std::vector<double>{110, 213, 328, 440}));
}

/// 2^24 + 1 + 1 stays 2^24 in f32; the other order gives 2^24 + 2.
TEST(Linalg, ReductionsSumInLoopOrder) {
  const char *source = R"(
    func.func @f(%a: tensor<3xf32>) -> tensor<f32> {
      %zero = arith.constant dense<0.0> : tensor<f32>
      %r = linalg.reduce { arith.addf } ins(%a : tensor<3xf32>)
                                        outs(%zero : tensor<f32>) dimensions = [0]
      return %r : tensor<f32>
    }
  )";
  EXPECT_EQ(values(interpret(source, {tensor({3}, {0x1p24, 1, 1})})[0])[0],
            0x1p24);
  EXPECT_EQ(values(interpret(source, {tensor({3}, {1, 1, 0x1p24})})[0])[0],
            0x1p24 + 2);
}

TEST(Linalg, NamedOpsHaveTheirMeaning) {
  RankValues results = interpret(R"(
    func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xf32>)
        -> (tensor<3x2xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
      %e = tensor.empty() : tensor<3x2xf32>
      %t = linalg.transpose ins(%a : tensor<2x3xf32>) outs(%e : tensor<3x2xf32>)
                            permutation = [1, 0]
      %e1 = tensor.empty() : tensor<2x3xf32>
      %bb = linalg.broadcast ins(%b : tensor<3xf32>) outs(%e1 : tensor<2x3xf32>)
                             dimensions = [0]
      %s = linalg.add ins(%a, %bb : tensor<2x3xf32>, tensor<2x3xf32>)
                      outs(%e1 : tensor<2x3xf32>) -> tensor<2x3xf32>
      %m = linalg.map { arith.mulf } ins(%a, %bb : tensor<2x3xf32>, tensor<2x3xf32>)
                                     outs(%e1 : tensor<2x3xf32>)
      %two = arith.constant 2.0 : f32
      %c = linalg.fill ins(%two : f32) outs(%e1 : tensor<2x3xf32>) -> tensor<2x3xf32>
      return %t, %s, %m, %c : tensor<3x2xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
    }
  )",
                                 {iota({2, 3}), tensor({3}, {10, 20, 30})});
  EXPECT_EQ(values(results[0]), (std::vector<double>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(values(results[1]), (std::vector<double>{10, 21, 32, 13, 24, 35}));
  EXPECT_EQ(values(results[2]), (std::vector<double>{0, 20, 60, 30, 80, 150}));
  EXPECT_EQ(values(results[3]), std::vector<double>(6, 2));
}

TEST(Linalg, ConvolutionAddsLoopsInItsMaps) {
  RankValues results = interpret(R"(
    func.func @f(%a: tensor<5xf32>, %k: tensor<2xf32>) -> tensor<4xf32> {
      %zero = arith.constant dense<0.0> : tensor<4xf32>
      %r = linalg.conv_1d ins(%a, %k : tensor<5xf32>, tensor<2xf32>)
                          outs(%zero : tensor<4xf32>) -> tensor<4xf32>
      return %r : tensor<4xf32>
    }
  )",
                                 {iota({5}), tensor({2}, {1, 10})});
  EXPECT_EQ(values(results[0]), (std::vector<double>{10, 21, 32, 43}));
}

TEST(Linalg, MixedPrecisionMatmulCastsInItsBody) {
  RankValues results =
      interpret(R"(
    func.func @f(%a: tensor<1x2xbf16>, %b: tensor<2x1xbf16>) -> tensor<1x1xf32> {
      %zero = arith.constant dense<0.0> : tensor<1x1xf32>
      %r = linalg.matmul ins(%a, %b : tensor<1x2xbf16>, tensor<2x1xbf16>)
                         outs(%zero : tensor<1x1xf32>) -> tensor<1x1xf32>
      return %r : tensor<1x1xf32>
    }
  )",
                {tensor({1, 2}, {1, 0x1p-9}, ElementType::BF16),
                 tensor({2, 1}, {1, 1}, ElementType::BF16)});
  EXPECT_EQ(values(results[0])[0], 1 + 0x1p-9);
}

/// An embedding: indices in, rows out, through tensor.extract in the body.
TEST(Linalg, BodiesMayExtractAndAskForIndices) {
  const char *source = R"(
    #row = affine_map<(i, j) -> (i)>
    #id = affine_map<(i, j) -> (i, j)>
    func.func @f(%table: tensor<4x2xf32>, %rows: tensor<3xi32>) -> tensor<3x2xf32> {
      %e = tensor.empty() : tensor<3x2xf32>
      %r = linalg.generic {indexing_maps = [#row, #id],
                           iterator_types = ["parallel", "parallel"]}
          ins(%rows : tensor<3xi32>) outs(%e : tensor<3x2xf32>) {
      ^bb0(%row: i32, %unused: f32):
        %i = arith.index_cast %row : i32 to index
        %j = linalg.index 1 : index
        %x = tensor.extract %table[%i, %j] : tensor<4x2xf32>
        linalg.yield %x : f32
      } -> tensor<3x2xf32>
      return %r : tensor<3x2xf32>
    }
  )";
  RankValues results = interpret(
      source, {iota({4, 2}), tensor({3}, {3, 0, 1}, ElementType::I32)});
  EXPECT_EQ(values(results[0]), (std::vector<double>{6, 7, 0, 1, 2, 3}));
  EXPECT_EQ(expectFailure(source, {{iota({4, 2}),
                                    tensor({3}, {3, 9, 1}, ElementType::I32)}}),
            std::vector<std::string>{"12: index 9 is out of bounds for a "
                                     "dimension of size 4 on rank 0"});
}

/// A body with control flow is evaluated step by step; captured values and
/// loop indices mean the same there.
TEST(Linalg, BodiesMayHaveControlFlow) {
  RankValues results =
      interpret(R"(
    #id = affine_map<(i) -> (i)>
    func.func @f(%a: tensor<4xf32>, %limit: index) -> tensor<4xf32> {
      %ten = arith.constant 10.0 : f32
      %r = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]}
          outs(%a : tensor<4xf32>) {
      ^bb0(%x: f32):
        %i = linalg.index 0 : index
        %small = arith.cmpi ult, %i, %limit : index
        %y = scf.if %small -> f32 {
          %p = arith.addf %x, %ten : f32
          scf.yield %p : f32
        } else {
          scf.yield %x : f32
        }
        linalg.yield %y : f32
      } -> tensor<4xf32>
      return %r : tensor<4xf32>
    }
  )",
                {iota({4}), tensor({}, {2}, ElementType::I64)});
  EXPECT_EQ(values(results[0]), (std::vector<double>{10, 11, 2, 3}));
}

TEST(Linalg, MapsNeedNotBeLinear) {
  RankValues results = interpret(R"(
    func.func @f(%a: tensor<2xf32>) -> tensor<4xf32> {
      %e = tensor.empty() : tensor<4xf32>
      %r = linalg.generic {
          indexing_maps = [affine_map<(i) -> (i floordiv 2)>, affine_map<(i) -> (i)>],
          iterator_types = ["parallel"]}
          ins(%a : tensor<2xf32>) outs(%e : tensor<4xf32>) {
      ^bb0(%x: f32, %unused: f32):
        linalg.yield %x : f32
      } -> tensor<4xf32>
      return %r : tensor<4xf32>
    }
  )",
                                 {tensor({2}, {5, 7})});
  EXPECT_EQ(values(results[0]), (std::vector<double>{5, 5, 7, 7}));
}

TEST(Linalg, SoftmaxSumsToOne) {
  RankValues results = interpret(R"(
    func.func @f(%a: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %e = tensor.empty() : tensor<2x2xf32>
      %r = linalg.softmax dimension(0) ins(%a : tensor<2x2xf32>)
                                       outs(%e : tensor<2x2xf32>) -> tensor<2x2xf32>
      return %r : tensor<2x2xf32>
    }
  )",
                                 {tensor({2, 2}, {1, 1000, 1, 999})});
  std::vector<double> out = values(results[0]);
  EXPECT_EQ(out[0], 0.5);
  EXPECT_EQ(out[2], 0.5);
  EXPECT_NEAR(out[1], 1 / (1 + std::exp(-1.0)), 1e-6);
}

/// Not a limit, only a number to look at.
TEST(Linalg, Speed) {
  Program program(R"(
    func.func @f(%a: tensor<128x128xf32>, %b: tensor<128x128xf32>, %c: tensor<128x128xf32>)
        -> tensor<128x128xf32> {
      %r = linalg.matmul ins(%a, %b : tensor<128x128xf32>, tensor<128x128xf32>)
                         outs(%c : tensor<128x128xf32>) -> tensor<128x128xf32>
      return %r : tensor<128x128xf32>
    }
  )");
  RankValues arguments(3, iota({128, 128}));
  auto begin = std::chrono::steady_clock::now();
  ASSERT_FALSE(program.runOne(arguments).empty());
  std::chrono::duration<double, std::nano> time =
      std::chrono::steady_clock::now() - begin;
  RecordProperty("nanoseconds_per_scalar_op",
                 std::to_string(time.count() / (128.0 * 128 * 128 * 2)));
}
