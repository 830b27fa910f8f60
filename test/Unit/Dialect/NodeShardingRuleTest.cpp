//===- NodeShardingRuleTest.cpp - Rules of nodes --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardingFixture.h"

using namespace mlir;
using namespace regather;
using NodeShardingRule = ShardingTest;

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

TEST_F(NodeShardingRule, BroadcastsOperands) {
  EXPECT_EQ(ruleOfNode("%a: tensor<4x8xf32>, %b: tensor<8xf32>",
                       R"("aten.mul.Tensor"(%a, %b)
                          : (tensor<4x8xf32>, tensor<8xf32>)
                          -> tensor<4x8xf32>)"),
            "[a b], [b] -> [a b] linear(0) linear(1)");
  EXPECT_EQ(ruleOfNode("%a: tensor<4x1xf32>, %b: tensor<1x8xf32>",
                       R"("aten.maximum.default"(%a, %b)
                          : (tensor<4x1xf32>, tensor<1x8xf32>)
                          -> tensor<4x8xf32>)"),
            "[a 1], [1 b] -> [a b]");
}

TEST_F(NodeShardingRule, SumsAreLinearInBoth) {
  EXPECT_EQ(ruleOfNode("%a: tensor<4xf32>, %b: tensor<4xf32>",
                       R"("aten.add.Tensor"(%a, %b)
                          args [#tg.operand<0>, #tg.operand<1>]
                          kwargs {alpha = 2 : i64}
                          : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>)"),
            "[a], [a] -> [a] linear(0 1)");
  EXPECT_EQ(ruleOfNode("%a: tensor<4xf32>", R"("aten.add.Scalar"(%a)
                          args [#tg.operand<0>, 1 : i64]
                          : (tensor<4xf32>) -> tensor<4xf32>)"),
            "[a] -> [a]");
  EXPECT_EQ(ruleOfNode("%a: tensor<4xf32>", R"("aten.div.Scalar"(%a)
                          args [#tg.operand<0>, 2 : i64]
                          : (tensor<4xf32>) -> tensor<4xf32>)"),
            "[a] -> [a] linear(0)");
}

TEST_F(NodeShardingRule, MatricesOfABatchAreIndependent) {
  EXPECT_EQ(ruleOfNode("%a: tensor<7x2x3x4xf32>",
                       R"("aten.linalg_lu_factor_ex.default"(%a)
                          : (tensor<7x2x3x4xf32>) -> (tensor<7x2x3x4xf32>,
                             tensor<7x2x3xi32>, tensor<7x2xi32>))"),
            "[a b c d] -> [a b e f], [a b g], [a b] whole(c d e f g)");
  EXPECT_EQ(ruleOfNode("%a: tensor<7x3x4xf32>, %p: tensor<7x3xi32>",
                       R"("aten.lu_unpack.default"(%a, %p)
                          : (tensor<7x3x4xf32>, tensor<7x3xi32>)
                          -> (tensor<7x3x3xf32>, tensor<7x3x3xf32>,
                             tensor<7x3x4xf32>))"),
            "[a b c], [a d] -> [a e f], [a g h], [a i j] "
            "whole(b c d e f g h i j)");
  // What was not asked for has no batch.
  EXPECT_EQ(ruleOfNode("%a: tensor<7x3x4xf32>, %p: tensor<7x3xi32>",
                       R"("aten.lu_unpack.default"(%a, %p)
                          kwargs {unpack_data = false}
                          : (tensor<7x3x4xf32>, tensor<7x3xi32>)
                          -> (tensor<7x3x3xf32>, tensor<0xf32>,
                             tensor<0xf32>))"),
            "[a b c], [a d] -> [a e f], [g], [h] whole(a b c d e f g h)");
  EXPECT_EQ(ruleOfNode("%a: tensor<4x3xf32>",
                       R"("aten.linalg_qr.default"(%a)
                          : (tensor<4x3xf32>)
                          -> (tensor<4x3xf32>, tensor<3x3xf32>))"),
            "[a b] -> [c d], [e f] whole(a b c d e f)");
}

// A tensor that is given twice is squared by a product, doubled by a sum.
TEST_F(NodeShardingRule, OneOperandForTwoParameters) {
  EXPECT_EQ(ruleOfNode("%a: tensor<4xf32>", R"("aten.mul.Tensor"(%a)
                          args [#tg.operand<0>, #tg.operand<0>]
                          : (tensor<4xf32>) -> tensor<4xf32>)"),
            "[a] -> [a]");
  EXPECT_EQ(ruleOfNode("%a: tensor<4xf32>", R"("aten.add.Tensor"(%a)
                          args [#tg.operand<0>, #tg.operand<0>]
                          : (tensor<4xf32>) -> tensor<4xf32>)"),
            "[a] -> [a] linear(0)");
  EXPECT_EQ(ruleOfNode("%a: tensor<4x4xf32>", R"("aten.mm.default"(%a)
                          args [#tg.operand<0>, #tg.operand<0>]
                          : (tensor<4x4xf32>) -> tensor<4x4xf32>)"),
            "[a b] -> [c d] whole(a b c d)");
}

TEST_F(NodeShardingRule, OnlyExactConversionsAreLinear) {
  EXPECT_EQ(ruleOfNode("%a: tensor<4xbf16>", R"("aten._to_copy.default"(%a)
                          kwargs {dtype = f32}
                          : (tensor<4xbf16>) -> tensor<4xf32>)"),
            "[a] -> [a] linear(0)");
  EXPECT_EQ(ruleOfNode("%a: tensor<4xf32>", R"("aten._to_copy.default"(%a)
                          kwargs {dtype = bf16}
                          : (tensor<4xf32>) -> tensor<4xbf16>)"),
            "[a] -> [a]");
  EXPECT_EQ(ruleOfNode("%a: tensor<4xi64>", R"("aten._to_copy.default"(%a)
                          kwargs {dtype = f32}
                          : (tensor<4xi64>) -> tensor<4xf32>)"),
            "[a] -> [a]");
}

TEST_F(NodeShardingRule, ChoicesAgainstZero) {
  StringRef arguments = "%m: tensor<4xi1>, %a: tensor<4xf32>";
  auto where = [&](StringRef number) {
    return ruleOf(arguments, (R"(%n = tg.node "aten.scalar_tensor.default"()
                                   args [)" +
                              number + R"(] : () -> tensor<f32>
                                 tg.node "aten.where.self"(%m, %a, %n)
                                   : (tensor<4xi1>, tensor<4xf32>, tensor<f32>)
                                   -> tensor<4xf32>)")
                                 .str());
  };
  EXPECT_EQ(where("0.0 : f64"), "[a], [a], [] -> [a] linear(1 2) linear(1)");
  EXPECT_EQ(where("1.0 : f64"), "[a], [a], [] -> [a] linear(1 2)");
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

TEST_F(NodeShardingRule, ViewsShareFactors) {
  auto view = [&](StringRef from, StringRef to) {
    return ruleOfNode(("%a: tensor<" + from + "xf32>").str(),
                      (R"("aten.view.default"(%a) args [#tg.operand<0>, []] :
                          (tensor<)" +
                       from + "xf32>) -> tensor<" + to + "xf32>")
                          .str());
  };
  EXPECT_EQ(view("24", "4x6"), "[(a b)] -> [a b] linear(0)");
  EXPECT_EQ(view("4x1x6", "4x6"), "[a 1 b] -> [a b] linear(0)");
  EXPECT_EQ(view("6x4", "3x8"), "[(a b) c] -> [a (b c)] linear(0)");
  EXPECT_EQ(view("2x5x3", "10x3"), "[a b c] -> [(a b) c] linear(0)");
  // The outer half of both is the same; what is left has nothing in common.
  EXPECT_EQ(view("4x3", "6x2"),
            "[(a b) c] -> [(a d) e] whole(b c d e) linear(0)");
  EXPECT_EQ(view("3x2x7", "2x3x7"),
            "[a b c] -> [d e c] whole(a b d e) linear(0)");
  EXPECT_EQ(view("0x4", "4x0"), "[a b] -> [c d] whole(a b c d) linear(0)");
}

TEST_F(NodeShardingRule, TouchedDimensionsAreWhole) {
  auto slice = [&](StringRef range, StringRef to) {
    return ruleOfNode("%a: tensor<4x8xf32>",
                      (R"("aten.slice.Tensor"(%a) args [#tg.operand<0>, )" +
                       range + "] : (tensor<4x8xf32>) -> tensor<" + to +
                       "xf32>")
                          .str());
  };
  EXPECT_EQ(slice("1, 0, 8", "4x8"), "[a b] -> [a b] linear(0)");
  EXPECT_EQ(slice("1, 0, 6", "4x6"), "[a b] -> [a c] whole(b c) linear(0)");
  EXPECT_EQ(ruleOfNode("%a: tensor<4x8xf32>", R"("aten.select.int"(%a)
                          args [#tg.operand<0>, 0, 1]
                          : (tensor<4x8xf32>) -> tensor<8xf32>)"),
            "[a b] -> [b] whole(a) linear(0)");
  EXPECT_EQ(
      ruleOfNode("%a: tensor<8xf32>", R"("aten.select_backward.default"(%a)
                          args [#tg.operand<0>, [4, 8], 0, 1]
                          : (tensor<8xf32>) -> tensor<4x8xf32>)"),
      "[a] -> [b a] whole(b) linear(0)");
  EXPECT_EQ(ruleOfNode("%a: tensor<4x8xf32>", R"("aten.flip.default"(%a)
                          args [#tg.operand<0>, [1]]
                          : (tensor<4x8xf32>) -> tensor<4x8xf32>)"),
            "[a b] -> [a b] whole(b) linear(0)");
}

TEST_F(NodeShardingRule, SplittingAndJoining) {
  EXPECT_EQ(ruleOfNode("%a: tensor<4x8xf32>, %b: tensor<4x2xf32>",
                       R"("aten.cat.default"(%a, %b)
                          args [[#tg.operand<0>, #tg.operand<1>], 1]
                          : (tensor<4x8xf32>, tensor<4x2xf32>)
                          -> tensor<4x10xf32>)"),
            "[a b], [a c] -> [a d] whole(b c d) linear(0 1)");
  EXPECT_EQ(ruleOfNode("%a: tensor<4x8xf32>, %b: tensor<4x8xf32>",
                       R"("aten.stack.default"(%a, %b)
                          args [[#tg.operand<0>, #tg.operand<1>], -1]
                          : (tensor<4x8xf32>, tensor<4x8xf32>)
                          -> tensor<4x8x2xf32>)"),
            "[a b], [a b] -> [a b c] whole(c) linear(0 1)");
  EXPECT_EQ(ruleOfNode("%a: tensor<4x6xf32>",
                       R"("aten.split.Tensor"(%a) args [#tg.operand<0>, 4, 1]
                          : (tensor<4x6xf32>)
                          -> (tensor<4x4xf32>, tensor<4x2xf32>))"),
            "[a b] -> [a c], [a d] whole(b c d) linear(0)");
}

TEST_F(NodeShardingRule, Permutations) {
  EXPECT_EQ(ruleOfNode("%a: tensor<2x3x4xf32>", R"("aten.permute.default"(%a)
                          args [#tg.operand<0>, [2, 0, -2]]
                          : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>)"),
            "[a b c] -> [c a b] linear(0)");
  EXPECT_EQ(ruleOfNode("%a: tensor<1x3xf32>", R"("aten.expand.default"(%a)
                          args [#tg.operand<0>, [2, 4, -1]]
                          : (tensor<1x3xf32>) -> tensor<2x4x3xf32>)"),
            "[1 a] -> [b c a] linear(0)");
}

// How often self repeats is an argument, which parts would keep.
TEST_F(NodeShardingRule, Repetition) {
  EXPECT_EQ(ruleOfNode("%a: tensor<3x4xf32>", R"("aten.repeat.default"(%a)
                          args [#tg.operand<0>, [2, 1, 5]]
                          : (tensor<3x4xf32>) -> tensor<2x3x20xf32>)"),
            "[a b] -> [c a d] whole(b c d) linear(0)");
}

//===----------------------------------------------------------------------===//
// Products and reductions
//===----------------------------------------------------------------------===//

TEST_F(NodeShardingRule, Gemms) {
  EXPECT_EQ(ruleOfNode("%a: tensor<4x8xf32>, %b: tensor<8x2xf32>",
                       R"("aten.mm.default"(%a, %b)
                          : (tensor<4x8xf32>, tensor<8x2xf32>)
                          -> tensor<4x2xf32>)"),
            "[a b], [b c] -> [a c] sum(b) linear(0) linear(1)");
  EXPECT_EQ(ruleOfNode("%a: tensor<3x4x8xf32>, %b: tensor<3x8x2xf32>",
                       R"("aten.bmm.default"(%a, %b)
                          : (tensor<3x4x8xf32>, tensor<3x8x2xf32>)
                          -> tensor<3x4x2xf32>)"),
            "[a b c], [a c d] -> [a b d] sum(c) linear(0) linear(1)");
}

// Each part of the sum would hold the bias.
TEST_F(NodeShardingRule, BiasKeepsSumWhole) {
  auto addmm = [&](StringRef kwargs) {
    return ruleOfNode(
        "%c: tensor<2xf32>, %a: tensor<4x8xf32>, %b: tensor<8x2xf32>",
        (R"("aten.addmm.default"(%c, %a, %b)
            args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>])" +
         kwargs + R"( : (tensor<2xf32>, tensor<4x8xf32>, tensor<8x2xf32>)
            -> tensor<4x2xf32>)")
            .str());
  };
  EXPECT_EQ(addmm(""),
            "[a], [b c], [c a] -> [b a] whole(c) linear(0 1) linear(0 2)");
  EXPECT_EQ(addmm(" kwargs {beta = 0 : i64}"),
            "[a], [b c], [c a] -> [b a] sum(c) linear(1) linear(2)");
}

TEST_F(NodeShardingRule, Reductions) {
  auto reduce = [&](StringRef name, StringRef args, StringRef result) {
    return ruleOfNode("%a: tensor<4x8xf32>",
                      ("\"aten." + name + "\"(%a) args [#tg.operand<0>" + args +
                       "] : (tensor<4x8xf32>) -> " + result)
                          .str());
  };
  EXPECT_EQ(reduce("sum.default", "", "tensor<f32>"),
            "[a b] -> [] sum(a b) linear(0)");
  EXPECT_EQ(reduce("mean.dim", ", [1], true", "tensor<4x1xf32>"),
            "[a b] -> [a 1] mean(b) linear(0)");
  EXPECT_EQ(reduce("amax.default", ", [-1]", "tensor<4xf32>"),
            "[a b] -> [a] max(b)");
  EXPECT_EQ(reduce("min.default", "", "tensor<f32>"), "[a b] -> [] min(a b)");
  EXPECT_EQ(reduce("var.correction", ", [0]", "tensor<8xf32>"),
            "[a b] -> [b] whole(a)");
  EXPECT_EQ(reduce("any.dim", ", 0", "tensor<8xi1>"), "[a b] -> [b] whole(a)");
  // Positions of parts are not those of the whole.
  EXPECT_EQ(reduce("max.dim", ", 1", "(tensor<4xf32>, tensor<4xi64>)"),
            "[a b] -> [a], [a] whole(b)");
  EXPECT_EQ(reduce("argmax.default", "", "tensor<i64>"),
            "[a b] -> [] whole(a b)");
  EXPECT_EQ(reduce("cumsum.default", ", 1", "tensor<4x8xf32>"),
            "[a b] -> [a b] whole(b) linear(0)");
  EXPECT_EQ(
      reduce("topk.default", ", 2, 1", "(tensor<4x2xf32>, tensor<4x2xi64>)"),
      "[a b] -> [a c], [a d] whole(b c d)");
}

TEST_F(NodeShardingRule, Softmax) {
  EXPECT_EQ(ruleOfNode("%a: tensor<4x8xf32>", R"("aten._softmax.default"(%a)
                          args [#tg.operand<0>, -1, false]
                          : (tensor<4x8xf32>) -> tensor<4x8xf32>)"),
            "[a b] -> [a b] whole(b)");
  EXPECT_EQ(ruleOfNode("%g: tensor<4x8xf32>, %y: tensor<4x8xf32>",
                       R"("aten._softmax_backward_data.default"(%g, %y)
                          args [#tg.operand<0>, #tg.operand<1>, 1, f32]
                          : (tensor<4x8xf32>, tensor<4x8xf32>)
                          -> tensor<4x8xf32>)"),
            "[a b], [a b] -> [a b] whole(b) linear(0)");
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

TEST_F(NodeShardingRule, LayerNorm) {
  EXPECT_EQ(ruleOfNode("%x: tensor<2x3x8xf32>, %w: tensor<8xf32>",
                       R"("aten.native_layer_norm.default"(%x, %w)
                          args [#tg.operand<0>, [8], #tg.operand<1>, unit, 1.0]
                          : (tensor<2x3x8xf32>, tensor<8xf32>)
                          -> (tensor<2x3x8xf32>, tensor<2x3x1xf32>,
                              tensor<2x3x1xf32>))"),
            "[a b c], [c] -> [a b c], [a b 1], [a b 1] whole(c)");
}

// The gradient of the input is split, those of weight and bias are sums.
TEST_F(NodeShardingRule, LayerNormBackward) {
  StringRef arguments = "%g: tensor<4x8xf32>, %x: tensor<4x8xf32>, "
                        "%m: tensor<4x1xf32>, %w: tensor<8xf32>";
  auto backward = [&](StringRef mask, StringRef weightType) {
    return ruleOfNode(
        arguments,
        (R"("aten.native_layer_norm_backward.default"(%g, %x, %m, %m, %w)
            args [#tg.operand<0>, #tg.operand<1>, [8], #tg.operand<2>,
                  #tg.operand<3>, #tg.operand<4>, unit, )" +
         mask + R"(]
            : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x1xf32>,
               tensor<4x1xf32>, tensor<8xf32>)
            -> (tensor<4x8xf32>, )" +
         weightType + ", " + weightType + ")")
            .str());
  };
  EXPECT_EQ(backward("[true, true, true]", "tensor<8xf32>"),
            "[a b], [a b], [a 1], [a 1], [b] -> [a b], [b], [b] "
            "sum(a) whole(b) linear(0)");
  EXPECT_EQ(backward("[true, false, false]", "!tg.opaque<\"none\">"),
            "[a b], [a b], [a 1], [a 1], [b] -> [a b], [], [] "
            "whole(b) linear(0)");
}

TEST_F(NodeShardingRule, BatchNorm) {
  auto norm = [&](StringRef training) {
    return ruleOfNode(
        "%x: tensor<4x3x8xf32>, %w: tensor<3xf32>",
        (R"("aten._native_batch_norm_legit.default"(%x, %w, %w, %w, %w)
            args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>,
                  #tg.operand<3>, #tg.operand<4>, )" +
         training + R"(, 0.1, 1.0e-5]
            : (tensor<4x3x8xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>,
               tensor<3xf32>)
            -> (tensor<4x3x8xf32>, )" +
         (training == "true" ? "tensor<3xf32>, tensor<3xf32>)"
                             : "tensor<0xf32>, tensor<0xf32>)"))
            .str());
  };
  EXPECT_EQ(norm("true"), "[a b c], [b], [b], [b], [b] -> [a b c], [b], [b] "
                          "whole(a c)");
  EXPECT_EQ(norm("false"), "[a b c], [b], [b], [b], [b] -> [a b c], [d], [e] "
                           "whole(d e) unusable(1 2)");
}

//===----------------------------------------------------------------------===//
// Convolutions and pooling
//===----------------------------------------------------------------------===//

TEST_F(NodeShardingRule, Convolution) {
  auto convolve = [&](StringRef bias, StringRef weight, StringRef groups) {
    return ruleOfNode(("%x: tensor<2x6x8x8xf32>, %w: tensor<" + weight +
                       "x3x3xf32>, %b: tensor<4xf32>")
                          .str(),
                      (R"("aten.convolution.default"(%x, %w)" +
                       StringRef(bias.empty() ? ") " : ", %b) ") +
                       "args [#tg.operand<0>, #tg.operand<1>, " +
                       (bias.empty() ? "unit" : bias) +
                       ", [1, 1], [1, 1], [1, 1], false, [0, 0], " + groups +
                       "] : (tensor<2x6x8x8xf32>, tensor<" + weight +
                       "x3x3xf32>" + (bias.empty() ? "" : ", tensor<4xf32>") +
                       ") -> tensor<2x4x8x8xf32>")
                          .str());
  };
  EXPECT_EQ(convolve("", "4x6", "1"),
            "[a b c d], [e b f g] -> [a e h i] sum(b) "
            "whole(c d f g h i) linear(0) linear(1)");
  EXPECT_EQ(convolve("#tg.operand<2>", "4x6", "1"),
            "[a b c d], [e b f g], [e] -> [a e h i] "
            "whole(b c d f g h i) linear(0 2) linear(1 2)");
  EXPECT_EQ(convolve("", "4x3", "2"),
            "[a b c d], [e f g h] -> [a i j k] "
            "whole(b c d e f g h i j k) linear(0) linear(1)");
}

TEST_F(NodeShardingRule, ConvolutionBackward) {
  EXPECT_EQ(ruleOfNode("%g: tensor<2x4x8xf32>, %x: tensor<2x6x8xf32>, "
                       "%w: tensor<4x6x3xf32>",
                       R"("aten.convolution_backward.default"(%g, %x, %w)
                    args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, [4],
                          [1], [1], [1], false, [0], 1, [true, true, true]]
                    : (tensor<2x4x8xf32>, tensor<2x6x8xf32>,
                       tensor<4x6x3xf32>)
                    -> (tensor<2x6x8xf32>, tensor<4x6x3xf32>, tensor<4xf32>))"),
            "[a b c], [a d e], [b d f] -> [a d e], [b d f], [b] "
            "sum(a) whole(b c d e f) linear(0)");
}

TEST_F(NodeShardingRule, GroupNorm) {
  EXPECT_EQ(ruleOfNode("%x: tensor<4x6x5xf32>",
                       R"("aten.native_group_norm.default"(%x)
                          args [#tg.operand<0>, unit, unit, 4, 6, 5, 3, 1.0e-5]
                          : (tensor<4x6x5xf32>)
                          -> (tensor<4x6x5xf32>, tensor<4x3xf32>,
                              tensor<4x3xf32>))"),
            "[a b c] -> [a b c], [a d], [a e] whole(b c d e)");
}

TEST_F(NodeShardingRule, Pooling) {
  EXPECT_EQ(ruleOfNode("%x: tensor<2x3x8x8xf32>",
                       R"("aten.max_pool2d_with_indices.default"(%x)
                          args [#tg.operand<0>, [2, 2], [2, 2]]
                          : (tensor<2x3x8x8xf32>)
                          -> (tensor<2x3x4x4xf32>, tensor<2x3x4x4xi64>))"),
            "[a b c d] -> [a b e f], [a b e f] whole(c d e f)");
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

TEST_F(NodeShardingRule, Embedding) {
  EXPECT_EQ(ruleOfNode("%w: tensor<10x8xf32>, %i: tensor<2x3xi64>",
                       R"("aten.embedding.default"(%w, %i)
                          : (tensor<10x8xf32>, tensor<2x3xi64>)
                          -> tensor<2x3x8xf32>)"),
            "[a b], [c d] -> [c d b] whole(a) linear(0)");
  EXPECT_EQ(ruleOfNode("%g: tensor<2x3x8xf32>, %i: tensor<2x3xi64>",
                       R"("aten.embedding_dense_backward.default"(%g, %i)
                          args [#tg.operand<0>, #tg.operand<1>, 10, -1, false]
                          : (tensor<2x3x8xf32>, tensor<2x3xi64>)
                          -> tensor<10x8xf32>)"),
            "[a b c], [a b] -> [d c] sum(a b) whole(d) linear(0)");
}

TEST_F(NodeShardingRule, Gather) {
  auto gather = [&](StringRef index) {
    return ruleOfNode(
        ("%a: tensor<4x8xf32>, %i: tensor<" + index + "xi64>").str(),
        (R"("aten.gather.default"(%a, %i)
            args [#tg.operand<0>, 1, #tg.operand<1>] : (tensor<4x8xf32>,
            tensor<)" +
         index + "xi64>) -> tensor<" + index + "xf32>")
            .str());
  };
  EXPECT_EQ(gather("4x3"), "[a b], [a c] -> [a c] whole(b) linear(0)");
  // Of the first dimension of self, a part is read.
  EXPECT_EQ(gather("2x3"), "[a b], [c d] -> [c d] whole(a b c) linear(0)");
}

TEST_F(NodeShardingRule, ScatterFromALargerSource) {
  auto scatter = [&](StringRef source) {
    return ruleOfNode(("%a: tensor<4x8xf32>, %i: tensor<4x3xi64>, %s: tensor<" +
                       source + "xf32>")
                          .str(),
                      (R"("aten.scatter.src"(%a, %i, %s)
            args [#tg.operand<0>, 1, #tg.operand<1>, #tg.operand<2>]
            : (tensor<4x8xf32>, tensor<4x3xi64>, tensor<)" +
                       source + "xf32>) -> tensor<4x8xf32>")
                          .str());
  };
  EXPECT_EQ(scatter("4x6"),
            "[a b], [a c], [a d] -> [a b] whole(b c d) linear(0 2)");
  EXPECT_EQ(scatter("5x3"),
            "[a b], [a c], [d c] -> [a b] whole(a b c d) linear(0 2)");
}

TEST_F(NodeShardingRule, AccumulationIntoZerosIsASum) {
  auto put = [&](StringRef number, StringRef accumulate) {
    return ruleOf("%i: tensor<6xi64>, %v: tensor<6x8xf32>",
                  (R"(%z = tg.node "aten.full.default"() args [[10, 8], )" +
                   number + R"(] : () -> tensor<10x8xf32>
                      tg.node "aten.index_put.default"(%z, %i, %v)
                      args [#tg.operand<0>, [#tg.operand<1>], #tg.operand<2>, )" +
                   accumulate + R"(]
                      : (tensor<10x8xf32>, tensor<6xi64>, tensor<6x8xf32>)
                      -> tensor<10x8xf32>)")
                      .str());
  };
  EXPECT_EQ(put("0", "true"), "[a b], [c], [c b] -> [a b] sum(c) whole(a) "
                              "linear(0 2) linear(2)");
  EXPECT_EQ(put("1", "true"),
            "[a b], [c], [c b] -> [a b] whole(a c) linear(0 2)");
  EXPECT_EQ(put("0", "false"), "[a b], [c], [c b] -> [a b] whole(a c) "
                               "linear(0 2) linear(2)");
}

TEST_F(NodeShardingRule, IndexTensorsAreBroadcast) {
  EXPECT_EQ(ruleOfNode("%a: tensor<4x5x6xf32>, %i: tensor<3x1xi64>, "
                       "%j: tensor<2xi64>",
                       R"("aten.index.Tensor"(%a, %i, %j)
                          args [#tg.operand<0>,
                                [unit, #tg.operand<1>, #tg.operand<2>]]
                          : (tensor<4x5x6xf32>, tensor<3x1xi64>, tensor<2xi64>)
                          -> tensor<4x3x2xf32>)"),
            "[a b c], [d 1], [e] -> [a d e] whole(b c) linear(0)");
}

//===----------------------------------------------------------------------===//
// Attention and losses
//===----------------------------------------------------------------------===//

// Two heads of the query share one of the key; the mask is the same for all.
TEST_F(NodeShardingRule, AttentionWithGroups) {
  StringRef shapes = "%q: tensor<2x6x4x8xf32>, %k: tensor<2x3x5x8xf32>, "
                     "%m: tensor<4x5xf32>, %l: tensor<2x6x4xf32>";
  EXPECT_EQ(
      ruleOfNode(
          shapes,
          R"("aten._scaled_dot_product_flash_attention_for_cpu.default"(%q, %k,
               %k, %m)
             args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>]
             kwargs {attn_mask = #tg.operand<3>}
             : (tensor<2x6x4x8xf32>, tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>,
                tensor<4x5xf32>)
             -> (tensor<2x6x4x8xf32>, tensor<2x6x4xf32>))"),
      "[a (b c) d e], [a b f g], [a b f h], [d i] -> [a (b c) d j], "
      "[a (b c) d] whole(e f g h i j)");
  EXPECT_EQ(
      ruleOfNode(
          shapes,
          R"("aten._scaled_dot_product_flash_attention_for_cpu_backward.default"
               (%q, %q, %k, %k, %q, %l)
             args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>,
                   #tg.operand<3>, #tg.operand<4>, #tg.operand<5>, 0.0, false]
             : (tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>, tensor<2x3x5x8xf32>,
                tensor<2x3x5x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x4xf32>)
             -> (tensor<2x6x4x8xf32>, tensor<2x3x5x8xf32>,
                 tensor<2x3x5x8xf32>))"),
      "[a (b c) d e], [a (b c) d f], [a b g h], [a b g i], [a (b c) d j], "
      "[a (b c) d] -> [a (b c) d k], [a b g h], [a b g i] "
      "sum(c d) whole(e f g h i j k) linear(0)");
}

// The gradient of a mask that all sequences share is a sum over these.
TEST_F(NodeShardingRule, GradientsOfMasks) {
  auto getRule = [&](StringRef mask) {
    return ruleOfNode(("%q: tensor<2x6x4x8xf32>, %k: tensor<2x3x5x8xf32>, "
                       "%m: " +
                       mask + ", %l: tensor<2x6x4xf32>")
                          .str(),
                      (R"("regather.biased_attention_backward.default"
               (%q, %q, %k, %k, %q, %l, %m)
             args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>,
                   #tg.operand<3>, #tg.operand<4>, #tg.operand<5>, 0.0, false]
             kwargs {attn_mask = #tg.operand<6>}
             : (tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>, tensor<2x3x5x8xf32>,
                tensor<2x3x5x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x4xf32>, )" +
                       mask + R"()
             -> (tensor<2x6x4x8xf32>, tensor<2x3x5x8xf32>,
                 tensor<2x3x5x8xf32>, )" +
                       mask + ")")
                          .str());
  };
  StringRef operands =
      "[a (b c) d e], [a (b c) d f], [a b g h], [a b g i], [a (b c) d j], "
      "[a (b c) d], ";
  StringRef gradients = " -> [a (b c) d l], [a b g h], [a b g i], ";
  EXPECT_EQ(getRule("tensor<1x6x4x5xf32>"),
            (operands + "[1 (b c) d k]" + gradients +
             "[1 (b c) d g] sum(a c d) whole(e f g h i j k l) linear(0)")
                .str());
  EXPECT_EQ(getRule("tensor<2x6x4x5xf32>"),
            (operands + "[a (b c) d k]" + gradients +
             "[a (b c) d g] sum(c d) whole(e f g h i j k l) linear(0)")
                .str());
}

TEST_F(NodeShardingRule, LossesByReduction) {
  auto mse = [&](StringRef reduction, StringRef result) {
    return ruleOfNode("%a: tensor<4x8xf32>, %b: tensor<4x8xf32>",
                      (R"("aten.mse_loss.default"(%a, %b)
                          args [#tg.operand<0>, #tg.operand<1>, )" +
                       reduction +
                       "] : (tensor<4x8xf32>, tensor<4x8xf32>) -> " + result)
                          .str());
  };
  EXPECT_EQ(mse("0", "tensor<4x8xf32>"), "[a b], [a b] -> [a b]");
  EXPECT_EQ(mse("1", "tensor<f32>"), "[a b], [a b] -> [] mean(a b)");
  EXPECT_EQ(mse("2", "tensor<f32>"), "[a b], [a b] -> [] sum(a b)");
  auto likelihood = [&](StringRef reduction) {
    return ruleOfNode("%a: tensor<4x8xf32>, %t: tensor<4xi64>",
                      (R"("aten.nll_loss_forward.default"(%a, %t)
                          args [#tg.operand<0>, #tg.operand<1>, unit, )" +
                       reduction + R"(, -100]
                          : (tensor<4x8xf32>, tensor<4xi64>)
                          -> (tensor<f32>, tensor<f32>))")
                          .str());
  };
  EXPECT_EQ(likelihood("1"), "[a b], [a] -> [], [] whole(a b)");
  EXPECT_EQ(likelihood("2"), "[a b], [a] -> [], [] sum(a) whole(b)");
}

//===----------------------------------------------------------------------===//
// Nothing known
//===----------------------------------------------------------------------===//

TEST_F(NodeShardingRule, UnknownAndMalformedNodesAreWhole) {
  StringRef whole = "[a b] -> [c d] whole(a b c d)";
  auto node = [&](StringRef text) {
    return ruleOfNode("%a: tensor<4x8xf32>",
                      (text + " : (tensor<4x8xf32>) -> tensor<4x8xf32>").str());
  };
  EXPECT_EQ(node(R"("my.op"(%a))"), whole);
  EXPECT_EQ(node(R"("aten.relu.default"(%a))"), "[a b] -> [a b]");
  EXPECT_EQ(node(R"("aten.relu.default"(%a) effects)"), whole);
  EXPECT_EQ(node(R"("aten.relu.default"(%a) args [#tg.operand<0>, 1, 2])"),
            whole);
  EXPECT_EQ(node(R"("aten.relu.default"(%a) kwargs {self = 1})"), whole);
  EXPECT_EQ(node(R"("aten.mm.default"(%a))"), whole);
  EXPECT_EQ(node(R"("aten._softmax.default"(%a) args [#tg.operand<0>, 7])"),
            whole);
  EXPECT_EQ(node(R"("aten.permute.default"(%a) args [#tg.operand<0>, [0, 0]])"),
            whole);
  EXPECT_EQ(node(R"("aten.sum.default"(%a))"), whole);
  EXPECT_EQ(node(R"("aten.cat.default"(%a) args [[unit, #tg.operand<0>], 0])"),
            whole);
}

TEST_F(NodeShardingRule, Constants) {
  EXPECT_EQ(ruleOfNode("", R"("aten.zeros.default"() args [[4, 8]]
                          : () -> tensor<4x8xf32>)"),
            "-> [a b]");
  EXPECT_EQ(ruleOfNode("%a: tensor<3xf32>",
                       R"("aten.new_zeros.default"(%a)
                          args [#tg.operand<0>, [4, 8]]
                          : (tensor<3xf32>) -> tensor<4x8xf32>)"),
            "[a] -> [b c] whole(a) unread(0)");
  EXPECT_EQ(ruleOfNode("%a: tensor<3xf32>", R"("aten.ones_like.default"(%a)
                          : (tensor<3xf32>) -> tensor<3xf32>)"),
            "[a] -> [a]");
  EXPECT_EQ(ruleOfNode("", R"("aten.arange.default"() args [4]
                          : () -> tensor<4xi64>)"),
            "-> [a] whole(a)");
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

TEST_F(NodeShardingRule, PartsTakeSizesFromResults) {
  Operation *op = parseLast("%a: tensor<8x6xf32>, %p: tensor<4x6xf32>",
                            R"(tg.node "aten.view.default"(%a)
                               args [#tg.operand<0>, [8, 2, 3]] {tg.id = "v"}
                               : (tensor<8x6xf32>) -> tensor<8x2x3xf32>)");
  ASSERT_TRUE(op);
  OpBuilder builder(op);
  Value part = op->getBlock()->getArgument(1);
  auto type = RankedTensorType::get({4, 2, 3}, builder.getF32Type());
  auto view = cast<tg::NodeOp>(cast<tg::ShardingRuleOpInterface>(op).buildPart(
      builder, part, Type(type)));
  EXPECT_EQ((*view.getArgs())[1], builder.getI64ArrayAttr({4, 2, 3}));
  EXPECT_EQ(view->getAttr("tg.id"), builder.getStringAttr("v"));
  EXPECT_EQ(view.getResult(0).getType(), Type(type));
  EXPECT_EQ(view.getLoc(), op->getLoc());
  EXPECT_TRUE(succeeded(verify(view)));
}

// On a part, the first dimension has size 1 as well, and stays.
TEST_F(NodeShardingRule, PartsKeepSqueezedDimensions) {
  Operation *op = parseLast("%a: tensor<2x1x3x1xf32>, %p: tensor<1x1x3x1xf32>",
                            R"(tg.node "aten.squeeze.default"(%a)
                               : (tensor<2x1x3x1xf32>) -> tensor<2x3xf32>)");
  ASSERT_TRUE(op);
  OpBuilder builder(op);
  auto type = RankedTensorType::get({1, 3}, builder.getF32Type());
  auto part = cast<tg::NodeOp>(cast<tg::ShardingRuleOpInterface>(op).buildPart(
      builder, op->getBlock()->getArgument(1), Type(type)));
  EXPECT_EQ(part.getTarget(), "aten.squeeze.dims");
  EXPECT_EQ((*part.getArgs())[1], builder.getI64ArrayAttr({1, 3}));
  EXPECT_TRUE(succeeded(verify(part)));
}

// The size of the batch is an argument of its own.
TEST_F(NodeShardingRule, PartsOfGroupNorm) {
  Operation *op = parseLast("%x: tensor<4x6x5xf32>, %p: tensor<2x6x5xf32>",
                            R"(tg.node "aten.native_group_norm.default"(%x)
         args [#tg.operand<0>, unit, unit, 4, 6, 5, 3, 1.0e-5]
         : (tensor<4x6x5xf32>)
         -> (tensor<4x6x5xf32>, tensor<4x3xf32>, tensor<4x3xf32>))");
  ASSERT_TRUE(op);
  OpBuilder builder(op);
  Type f32 = builder.getF32Type();
  Type statistic = RankedTensorType::get({2, 3}, f32);
  auto part = cast<tg::NodeOp>(cast<tg::ShardingRuleOpInterface>(op).buildPart(
      builder, op->getBlock()->getArgument(1),
      {RankedTensorType::get({2, 6, 5}, f32), statistic, statistic}));
  EXPECT_EQ((*part.getArgs())[3], builder.getI64IntegerAttr(2));
  EXPECT_EQ((*part.getArgs())[4], builder.getI64IntegerAttr(6));
}

//===----------------------------------------------------------------------===//
// Grouped GEMMs
//===----------------------------------------------------------------------===//

// Rows are whole, since the ends of groups count all of them.
TEST_F(NodeShardingRule, GroupedGemm) {
  EXPECT_EQ(
      ruleOfNode("%x: tensor<8x4xf32>, %w: tensor<3x4x6xf32>, "
                 "%e: tensor<3xi32>",
                 R"("aten._grouped_mm.default"(%x, %w, %e)
                          : (tensor<8x4xf32>, tensor<3x4x6xf32>, tensor<3xi32>)
                          -> tensor<8x6xf32>)"),
      "[a b], [c b d], [e] -> [a d] sum(b) whole(a c e) linear(0) linear(1)");
  EXPECT_EQ(ruleOfNode("%x: tensor<4x8xf32>, %y: tensor<8x6xf32>, "
                       "%e: tensor<3xi32>",
                       R"("aten._grouped_mm.default"(%x, %y, %e)
                          : (tensor<4x8xf32>, tensor<8x6xf32>, tensor<3xi32>)
                          -> tensor<3x4x6xf32>)"),
            "[a b], [b c], [d] -> [e a c] whole(b d e) linear(0) linear(1)");
  EXPECT_EQ(
      ruleOfNode("%w: tensor<3x6x4xf32>, %x: tensor<4x8xf32>, "
                 "%e: tensor<3xi32>",
                 R"("aten._grouped_mm.default"(%w, %x, %e)
                          : (tensor<3x6x4xf32>, tensor<4x8xf32>, tensor<3xi32>)
                          -> tensor<6x8xf32>)"),
      "[a b c], [c d], [e] -> [b d] sum(c) whole(a d e) linear(0) linear(1)");
  EXPECT_EQ(ruleOfNode("%x: tensor<8x4xf32>, %w: tensor<3x4x6xf32>, "
                       "%e: tensor<3xi32>, %g: tensor<8x6xf32>",
                       R"("transformers.grouped_mm_fallback_backward.default"
                   (%x, %w, %e, %g)
                   : (tensor<8x4xf32>, tensor<3x4x6xf32>, tensor<3xi32>,
                      tensor<8x6xf32>)
                   -> (tensor<8x4xf32>, tensor<3x4x6xf32>))"),
            "[a b], [c b d], [e], [a d] -> [a b], [c b d] sum(d) whole(a c e) "
            "linear(3)");
}
