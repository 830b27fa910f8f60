//===- ShardingRuleTest.cpp - Rules of linalg, tensor and arith -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardingFixture.h"

using namespace mlir;
using namespace regather;
using ShardingRule = ShardingTest;

//===----------------------------------------------------------------------===//
// linalg
//===----------------------------------------------------------------------===//

// The initial value would count on each rank, unless it is zero.
TEST_F(ShardingRule, GemmIntoZeros) {
  auto product = [&](StringRef number) {
    return ruleOf("%a: tensor<4x8xbf16>, %b: tensor<8x2xbf16>",
                  ("%n = arith.constant " + number + R"( : f32
                      %e = tensor.empty() : tensor<4x2xf32>
                      %f = linalg.fill ins(%n : f32)
                             outs(%e : tensor<4x2xf32>) -> tensor<4x2xf32>
                      %r = linalg.matmul
                             ins(%a, %b : tensor<4x8xbf16>, tensor<8x2xbf16>)
                             outs(%f : tensor<4x2xf32>) -> tensor<4x2xf32>)")
                      .str());
  };
  EXPECT_EQ(product("0.0"), "[a b], [b c], [a c] -> [a c] sum(b) linear(0) "
                            "linear(0 2) linear(1) linear(1 2)");
  EXPECT_EQ(product("1.0"), "[a b], [b c], [a c] -> [a c] whole(b) "
                            "linear(0 2) linear(1 2)");
}

TEST_F(ShardingRule, Reductions) {
  auto reduce = [&](StringRef combiner, StringRef type) {
    std::string tensor = ("tensor<4x8x" + type + ">").str();
    std::string init = ("tensor<4x" + type + ">").str();
    return ruleOf("%a: " + tensor + ", %i: " + init,
                  ("%r = linalg.reduce { " + combiner + " } ins(%a : " +
                   tensor + ") outs(%i : " + init + ") dimensions = [1]")
                      .str());
  };
  EXPECT_EQ(reduce("arith.maximumf", "f32"), "[a b], [a] -> [a] max(b)");
  EXPECT_EQ(reduce("arith.minsi", "i32"), "[a b], [a] -> [a] min(b)");
  EXPECT_EQ(reduce("arith.mulf", "f32"), "[a b], [a] -> [a] whole(b)");
  EXPECT_EQ(reduce("arith.addf", "f32"),
            "[a b], [a] -> [a] whole(b) linear(0 1)");
}

static std::string makeGeneric(StringRef maps, StringRef iterators,
                               StringRef body) {
  return ("%r = linalg.generic {indexing_maps = [" + maps +
          "], iterator_types = [" + iterators +
          R"(]} ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>)
            outs(%c : tensor<4x4xf32>) {
          ^bb0(%x: f32, %y: f32, %z: f32):
            )" +
          body + "\n} -> tensor<4x4xf32>")
      .str();
}

TEST_F(ShardingRule, LinearityOfBodies) {
  StringRef arguments =
      "%a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %c: tensor<4x4xf32>";
  StringRef d = "affine_map<(i, j) -> (i, j)>";
  std::string maps = (d + ", " + d + ", " + d).str();
  auto generic = [&](StringRef body) {
    return ruleOf(arguments,
                  makeGeneric(maps, R"("parallel", "parallel")", body));
  };
  std::string factors = "[a b], [a b], [a b] -> [a b]";
  EXPECT_EQ(generic(R"(%0 = arith.mulf %x, %y : f32
                       linalg.yield %0 : f32)"),
            factors + " linear(0) linear(1)");
  EXPECT_EQ(generic(R"(%0 = arith.mulf %x, %x : f32
                       linalg.yield %0 : f32)"),
            factors);
  EXPECT_EQ(generic(R"(%0 = arith.mulf %x, %y : f32
                       %1 = arith.addf %0, %z : f32
                       linalg.yield %1 : f32)"),
            factors + " linear(0 2) linear(1 2)");
  // x y + x is linear in x only, x y + y in y only.
  EXPECT_EQ(generic(R"(%0 = arith.mulf %x, %y : f32
                       %1 = arith.addf %0, %x : f32
                       linalg.yield %1 : f32)"),
            factors + " linear(0)");
  EXPECT_EQ(generic(R"(%n = arith.constant 2.0 : f32
                       %0 = arith.divf %x, %n : f32
                       %1 = arith.negf %0 : f32
                       linalg.yield %1 : f32)"),
            factors + " linear(0)");
  EXPECT_EQ(generic(R"(%n = arith.constant 2.0 : f32
                       %0 = arith.addf %x, %n : f32
                       linalg.yield %0 : f32)"),
            factors);
  EXPECT_EQ(generic(R"(%0 = arith.divf %x, %y : f32
                       linalg.yield %0 : f32)"),
            factors + " linear(0)");
  EXPECT_EQ(generic(R"(%0 = math.exp %x : f32
                       linalg.yield %0 : f32)"),
            factors);
}

// The first sum adds up the second one as it grows.
TEST_F(ShardingRule, SumsThatDependOnEachOtherAreWhole) {
  auto sums = [&](StringRef factor) {
    return ruleOf("%a: tensor<8xf32>",
                  (R"(%n = arith.constant dense<0.0> : tensor<f32>
                      %r:2 = linalg.generic {
                        indexing_maps = [affine_map<(i) -> (i)>,
                                         affine_map<(i) -> ()>,
                                         affine_map<(i) -> ()>],
                        iterator_types = ["reduction"]}
                        ins(%a : tensor<8xf32>)
                        outs(%n, %n : tensor<f32>, tensor<f32>) {
                      ^bb0(%x: f32, %y: f32, %z: f32):
                        %0 = arith.mulf %x, )" +
                   factor + R"( : f32
                        %1 = arith.addf %y, %0 : f32
                        %2 = arith.addf %z, %x : f32
                        linalg.yield %1, %2 : f32, f32
                      } -> (tensor<f32>, tensor<f32>))")
                      .str());
  };
  EXPECT_EQ(sums("%x"), "[a], [], [] -> [], [] sum(a)");
  EXPECT_EQ(sums("%z"), "[a], [], [] -> [], [] whole(a)");
}

TEST_F(ShardingRule, LoopsThatCannotBeSplit) {
  StringRef arguments =
      "%a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %c: tensor<4x4xf32>";
  StringRef d = "affine_map<(i, j) -> (i, j)>";
  StringRef parallel = R"("parallel", "parallel")";
  StringRef copy = "linalg.yield %x : f32";
  // The diagonal: a part of the loop is not a part of both dimensions.
  EXPECT_EQ(ruleOf(arguments,
                   makeGeneric(
                       ("affine_map<(i, j) -> (i, i)>, " + d + ", " + d).str(),
                       parallel, copy)),
            "[a a], [a b], [a b] -> [a b] whole(a) linear(0)");
  EXPECT_EQ(
      ruleOf(arguments,
             makeGeneric((d + ", affine_map<(i, j) -> (j, i)>, " + d).str(),
                         parallel, copy)),
      "[a b], [b a], [a b] -> [a b] linear(0)");
  // Positions of parts are not those of the whole.
  EXPECT_EQ(ruleOf(arguments,
                   makeGeneric((d + ", " + d + ", " + d).str(), parallel, R"(
                     %i = linalg.index 1 : index
                     %k = arith.index_cast %i : index to i32
                     %f = arith.sitofp %k : i32 to f32
                     linalg.yield %f : f32)")),
            "[a b], [a b], [a b] -> [a b] whole(b)");
  // What is read from a tensor that is no operand is not known.
  EXPECT_EQ(ruleOf(arguments,
                   makeGeneric((d + ", " + d + ", " + d).str(), parallel, R"(
                     %i = linalg.index 0 : index
                     %f = tensor.extract %b[%i, %i] : tensor<4x4xf32>
                     linalg.yield %f : f32)")),
            "[a b], [c d], [e f] -> [g h] whole(a b c d e f g h)");
}

TEST_F(ShardingRule, WindowsAreWhole) {
  EXPECT_EQ(ruleOf("%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, "
                   "%o: tensor<2x4x6x6xf32>",
                   R"(%r = linalg.conv_2d_nchw_fchw
                        ins(%x, %w : tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>)
                        outs(%o : tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>)"),
            "[a b c d], [e b f g], [a e h i] -> [a e h i] "
            "whole(b c d f g h i) linear(0 2) linear(1 2)");
}

//===----------------------------------------------------------------------===//
// tensor
//===----------------------------------------------------------------------===//

TEST_F(ShardingRule, Reshapes) {
  EXPECT_EQ(ruleOf("%a: tensor<6x4xf32>",
                   R"(%r = tensor.expand_shape %a [[0, 1], [2]]
                        output_shape [2, 3, 4]
                        : tensor<6x4xf32> into tensor<2x3x4xf32>)"),
            "[(a b) c] -> [a b c] linear(0)");
  EXPECT_EQ(ruleOf("%a: tensor<2x3x4xf32>",
                   R"(%r = tensor.collapse_shape %a [[0], [1, 2]]
                        : tensor<2x3x4xf32> into tensor<2x12xf32>)"),
            "[a b c] -> [a (b c)] linear(0)");
  EXPECT_EQ(ruleOf("%a: tensor<?x4xf32>",
                   R"(%r = tensor.collapse_shape %a [[0, 1]]
                        : tensor<?x4xf32> into tensor<?xf32>)"),
            "[a b] -> [c] whole(a b c)");
}

TEST_F(ShardingRule, Slices) {
  EXPECT_EQ(ruleOf("%a: tensor<2x4x8xf32>",
                   R"(%r = tensor.extract_slice %a[0, 1, 0] [2, 1, 6] [1, 1, 1]
                        : tensor<2x4x8xf32> to tensor<2x6xf32>)"),
            "[a b c] -> [a d] whole(b c d) linear(0)");
  EXPECT_EQ(ruleOf("%s: tensor<4x2xf32>, %d: tensor<4x8xf32>",
                   R"(%r = tensor.insert_slice %s into %d[0, 3] [4, 2] [1, 1]
                        : tensor<4x2xf32> into tensor<4x8xf32>)"),
            "[a b], [a c] -> [a c] whole(b c) linear(0 1)");
  EXPECT_EQ(ruleOf("%a: tensor<4x2xf32>, %b: tensor<4x3xf32>",
                   R"(%r = tensor.concat dim(1) %a, %b
                        : (tensor<4x2xf32>, tensor<4x3xf32>)
                        -> tensor<4x5xf32>)"),
            "[a b], [a c] -> [a d] whole(b c d) linear(0 1)");
}

TEST_F(ShardingRule, Padding) {
  auto pad = [&](StringRef number) {
    return ruleOf("%a: tensor<4x8xf32>",
                  ("%n = arith.constant " + number + R"( : f32
                      %r = tensor.pad %a low[0, 1] high[0, 1] {
                      ^bb0(%i: index, %j: index):
                        tensor.yield %n : f32
                      } : tensor<4x8xf32> to tensor<4x10xf32>)")
                      .str());
  };
  EXPECT_EQ(pad("0.0"), "[a b] -> [a c] whole(b c) linear(0)");
  EXPECT_EQ(pad("1.0"), "[a b] -> [a c] whole(b c)");
}

// All dimensions of these are as they are asked for.
TEST_F(ShardingRule, UniformTensors) {
  EXPECT_EQ(ruleOf("", "%r = tensor.empty() : tensor<4x8xf32>"), "-> [a b]");
  EXPECT_EQ(ruleOf("", "%r = arith.constant dense<1.0> : tensor<4x8xf32>"),
            "-> [a b]");
  EXPECT_EQ(ruleOf("", "%r = arith.constant dense<[1, 2]> : tensor<2xi64>"),
            "-> [a] whole(a)");
}

TEST_F(ShardingRule, PartsOfSplatConstants) {
  Operation *op =
      parseLast("", "%r = arith.constant dense<2.0> : tensor<4x8xf32>");
  ASSERT_TRUE(op);
  OpBuilder builder(op);
  auto type = RankedTensorType::get({2, 8}, builder.getF32Type());
  Operation *part = cast<tg::ShardingRuleOpInterface>(op).buildPart(
      builder, ValueRange(), Type(type));
  EXPECT_TRUE(succeeded(verify(part)));
  EXPECT_EQ(part->getAttr("value"),
            DenseElementsAttr::get(type, builder.getF32FloatAttr(2.0)));
}

TEST_F(ShardingRule, PartsOfSlices) {
  Operation *op = parseLast("%a: tensor<4x8xf32>, %p: tensor<2x8xf32>",
                            R"(%r = tensor.extract_slice %a[0, 1] [4, 1] [1, 1]
                                 : tensor<4x8xf32> to tensor<4xf32>)");
  ASSERT_TRUE(op);
  OpBuilder builder(op);
  auto type = RankedTensorType::get({2}, builder.getF32Type());
  Operation *part = cast<tg::ShardingRuleOpInterface>(op).buildPart(
      builder, op->getBlock()->getArgument(1), Type(type));
  EXPECT_TRUE(succeeded(verify(part)));
  op = parseLast("%a: tensor<6x4xf32>, %p: tensor<2x4xf32>",
                 R"(%r = tensor.expand_shape %a [[0, 1], [2]]
                      output_shape [6, 1, 4]
                      : tensor<6x4xf32> into tensor<6x1x4xf32>)");
  ASSERT_TRUE(op);
  builder.setInsertionPoint(op);
  type = RankedTensorType::get({2, 1, 4}, builder.getF32Type());
  part = cast<tg::ShardingRuleOpInterface>(op).buildPart(
      builder, op->getBlock()->getArgument(1), Type(type));
  EXPECT_TRUE(succeeded(verify(part)));
}

//===----------------------------------------------------------------------===//
// arith and math
//===----------------------------------------------------------------------===//

TEST_F(ShardingRule, ElementwiseOnTensors) {
  StringRef arguments = "%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %c: i1";
  EXPECT_EQ(ruleOf(arguments, "%r = arith.addf %a, %b : tensor<4x8xf32>"),
            "[a b], [a b] -> [a b] linear(0 1)");
  EXPECT_EQ(ruleOf(arguments, "%r = arith.mulf %a, %b : tensor<4x8xf32>"),
            "[a b], [a b] -> [a b] linear(0) linear(1)");
  EXPECT_EQ(ruleOf(arguments, "%r = math.tanh %a : tensor<4x8xf32>"),
            "[a b] -> [a b]");
  EXPECT_EQ(ruleOf(arguments, "%r = arith.select %c, %a, %b : tensor<4x8xf32>"),
            "[], [a b], [a b] -> [a b] linear(1 2)");
  EXPECT_EQ(
      ruleOf(arguments,
             "%r = arith.truncf %a : tensor<4x8xf32> to tensor<4x8xbf16>"),
      "[a b] -> [a b]");
}

//===----------------------------------------------------------------------===//
// Flat tensors
//===----------------------------------------------------------------------===//

// They stay whole, but sums may be moved before they are reduced.
TEST_F(ShardingRule, FlatTensors) {
  EXPECT_EQ(ruleOf("%flat: tensor<32xf32>",
                   "%r:2 = tg.unflatten %flat offsets [0, 16] : "
                   "(tensor<32xf32>) -> (tensor<4x3xf32>, tensor<5xf32>)"),
            "[a] -> [b c], [d] whole(a b c d) linear(0)");
  EXPECT_EQ(ruleOf("%a: tensor<4x3xf32>, %b: tensor<5xf32>",
                   "%r = tg.flatten %a, %b offsets [0, 16] : "
                   "(tensor<4x3xf32>, tensor<5xf32>) -> tensor<32xf32>"),
            "[a b], [c] -> [d] whole(a b c d) linear(0 1)");
}

//===----------------------------------------------------------------------===//
// Consistency
//===----------------------------------------------------------------------===//

TEST_F(ShardingRule, VerifyFindsInconsistencies) {
  Operation *op =
      parseLast("%a: tensor<4x8xf32>", "%r = math.tanh %a : tensor<4x8xf32>");
  ASSERT_TRUE(op);
  tg::ShardingRule good =
      cast<tg::ShardingRuleOpInterface>(op).getShardingRule();
  ASSERT_TRUE(succeeded(good.verify(op)));

  tg::ShardingRule rule = good;
  rule.factors[0].size = 3;
  EXPECT_TRUE(failed(rule.verify(op)));
  rule = good;
  rule.operands.clear();
  EXPECT_TRUE(failed(rule.verify(op)));
  rule = good;
  rule.operands[0][0].clear();
  EXPECT_TRUE(failed(rule.verify(op)));
  // A parallel factor that the result lacks, unless the result is not usable.
  rule = good;
  rule.results[0][0] = {rule.addFactor(4, tg::FactorKind::Whole)};
  EXPECT_TRUE(failed(rule.verify(op)));
  rule.unusable.push_back(0);
  EXPECT_TRUE(succeeded(rule.verify(op)));
  rule = good;
  rule.addLinear({});
  EXPECT_TRUE(failed(rule.verify(op)));
}
