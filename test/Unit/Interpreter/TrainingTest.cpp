//===- TrainingTest.cpp - Many steps of one engine ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interpret.h"

using namespace regather;
using namespace regather::test;

/// Linear regression, the weight sharded over the ranks: gather, forward,
/// backward, scatter, update.
static const char *kStep = R"(
  tg.mesh @mesh [dp = 4]
  func.func @step(%w: tensor<2x1xf32>, %x: tensor<16x8xf32>, %y: tensor<16x1xf32>)
      -> (tensor<2x1xf32>, tensor<f32>) {
    %zero = arith.constant dense<0.0> : tensor<16x1xf32>
    %zeroGradient = arith.constant dense<0.0> : tensor<8x1xf32>
    %zeroLoss = arith.constant dense<0.0> : tensor<f32>
    %f = tg.all_gather %w on @mesh [dp] dim 0 phase forward
        : (tensor<2x1xf32>) -> !tg.future<tensor<8x1xf32>>
    %full = tg.wait %f : !tg.future<tensor<8x1xf32>>
    %p = linalg.matmul ins(%x, %full : tensor<16x8xf32>, tensor<8x1xf32>)
                       outs(%zero : tensor<16x1xf32>) -> tensor<16x1xf32>
    %e = arith.subf %p, %y : tensor<16x1xf32>
    %sq = arith.mulf %e, %e : tensor<16x1xf32>
    %l = linalg.reduce { arith.addf } ins(%sq : tensor<16x1xf32>)
        outs(%zeroLoss : tensor<f32>) dimensions = [0, 1]
    %empty = tensor.empty() : tensor<8x16xf32>
    %xt = linalg.transpose ins(%x : tensor<16x8xf32>) outs(%empty : tensor<8x16xf32>)
                           permutation = [1, 0]
    %g = linalg.matmul ins(%xt, %e : tensor<8x16xf32>, tensor<16x1xf32>)
                       outs(%zeroGradient : tensor<8x1xf32>) -> tensor<8x1xf32>
    %s = tg.reduce_scatter avg %g on @mesh [dp] dim 0 phase backward
        : (tensor<8x1xf32>) -> !tg.future<tensor<2x1xf32>>
    %ar = tg.all_reduce avg %l on @mesh [dp] phase backward
        : (tensor<f32>) -> !tg.future<tensor<f32>>
    %gs = tg.wait %s : !tg.future<tensor<2x1xf32>>
    %loss = tg.wait %ar : !tg.future<tensor<f32>>
    %rate = arith.constant dense<0.2> : tensor<2x1xf32>
    %d = arith.mulf %gs, %rate : tensor<2x1xf32>
    %new = arith.subf %w, %d : tensor<2x1xf32>
    return %new, %loss : tensor<2x1xf32>, tensor<f32>
  }
)";

static std::vector<double> train(uint64_t seed) {
  Program program(kStep, 4, seed);
  std::vector<RankValues> arguments;
  for (int64_t rank = 0; rank < 4; ++rank) {
    HostTensor x = HostTensor::zeros(ElementType::F32, {16, 8});
    HostTensor y = HostTensor::zeros(ElementType::F32, {16, 1});
    for (int64_t i = 0; i < 16; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < 8; ++j) {
        double value = ((rank * 128 + i * 8 + j) * 37 % 101) / 101.0 - 0.5;
        x.setFromDouble(i * 8 + j, value);
        sum += value * j;
      }
      y.setFromDouble(i, sum);
    }
    arguments.push_back({HostTensor::zeros(ElementType::F32, {2, 1}), x, y});
  }
  std::vector<double> losses;
  for (int step = 0; step < 20; ++step) {
    std::vector<RankValues> results = program.run(arguments);
    if (results.empty())
      return {};
    for (int64_t rank = 0; rank < 4; ++rank)
      arguments[rank][0] = results[rank][0];
    losses.push_back(results[0][1].getAsDouble(0));
  }
  return losses;
}

TEST(Training, LossFallsAndDoesNotDependOnTheSeed) {
  std::vector<double> losses = train(0);
  ASSERT_EQ(losses.size(), 20u);
  EXPECT_LT(losses.back(), losses.front() / 4);
  EXPECT_EQ(train(1), losses);
  EXPECT_EQ(train(99), losses);
}
