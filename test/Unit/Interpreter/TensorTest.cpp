//===- TensorTest.cpp - Tensor operations ---------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interpret.h"

#include <cmath>

using namespace regather;
using namespace regather::test;

static HostTensor index(double value) {
  return tensor({}, {value}, ElementType::I64);
}

TEST(Tensor, SlicesWithStridesAndDynamicOffsets) {
  const char *source = R"(
    func.func @f(%a: tensor<4x6xf32>, %i: index) -> (tensor<2x2xf32>, tensor<2xf32>) {
      %s = tensor.extract_slice %a[%i, 1] [2, 2] [2, 3] : tensor<4x6xf32> to tensor<2x2xf32>
      %r = tensor.extract_slice %a[%i, 4] [1, 2] [1, 1] : tensor<4x6xf32> to tensor<2xf32>
      return %s, %r : tensor<2x2xf32>, tensor<2xf32>
    }
  )";
  RankValues results = interpret(source, {iota({4, 6}), index(1)});
  EXPECT_EQ(values(results[0]), (std::vector<double>{7, 10, 19, 22}));
  EXPECT_EQ(values(results[1]), (std::vector<double>{10, 11}));
  EXPECT_EQ(expectFailure(source, {{iota({4, 6}), index(2)}}),
            std::vector<std::string>{
                "3: slice reaches index 4, which is out of bounds for "
                "dimension 0 of size 4 on rank 0"});
}

TEST(Tensor, InsertSliceLeavesTheOriginalAlone) {
  RankValues results = interpret(R"(
    func.func @f(%a: tensor<4xf32>, %b: tensor<2xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %r = tensor.insert_slice %b into %a[0] [2] [2] : tensor<2xf32> into tensor<4xf32>
      return %r, %a : tensor<4xf32>, tensor<4xf32>
    }
  )",
                                 {iota({4}), tensor({2}, {10, 20})});
  EXPECT_EQ(values(results[0]), (std::vector<double>{10, 1, 20, 3}));
  EXPECT_EQ(values(results[1]), (std::vector<double>{0, 1, 2, 3}));
}

TEST(Tensor, ElementsAreInsertedAndExtracted) {
  const char *source = R"(
    func.func @f(%a: tensor<2x2xf32>, %i: index) -> (f32, tensor<2x2xf32>) {
      %x = tensor.extract %a[%i, %i] : tensor<2x2xf32>
      %y = arith.addf %x, %x : f32
      %r = tensor.insert %y into %a[%i, %i] : tensor<2x2xf32>
      return %x, %r : f32, tensor<2x2xf32>
    }
  )";
  RankValues results = interpret(source, {iota({2, 2}, 1), index(1)});
  EXPECT_EQ(values(results[0])[0], 4);
  EXPECT_EQ(values(results[1]), (std::vector<double>{1, 2, 3, 8}));
  EXPECT_EQ(expectFailure(source, {{iota({2, 2}), index(-1)}}),
            std::vector<std::string>{"3: index -1 is out of bounds for "
                                     "dimension 0 of size 2 on rank 0"});
}

TEST(Tensor, PadConcatGenerate) {
  RankValues results =
      interpret(R"(
    func.func @f(%a: tensor<2xf32>, %b: tensor<1x2xf32>, %c: tensor<1x1xf32>)
        -> (tensor<5xf32>, tensor<1x3xf32>, tensor<2x2xi64>) {
      %zero = arith.constant -1.0 : f32
      %p = tensor.pad %a low[1] high[2] {
      ^bb0(%i: index):
        tensor.yield %zero : f32
      } : tensor<2xf32> to tensor<5xf32>
      %k = tensor.concat dim(1) %b, %c : (tensor<1x2xf32>, tensor<1x1xf32>) -> tensor<1x3xf32>
      %g = tensor.generate {
      ^bb0(%i: index, %j: index):
        %ten = arith.constant 10 : index
        %m = arith.muli %i, %ten : index
        %s = arith.addi %m, %j : index
        %v = arith.index_cast %s : index to i64
        tensor.yield %v : i64
      } : tensor<2x2xi64>
      return %p, %k, %g : tensor<5xf32>, tensor<1x3xf32>, tensor<2x2xi64>
    }
  )",
                {iota({2}, 5), iota({1, 2}), tensor({1, 1}, {9})});
  EXPECT_EQ(values(results[0]), (std::vector<double>{-1, 5, 6, -1, -1}));
  EXPECT_EQ(values(results[1]), (std::vector<double>{0, 1, 9}));
  EXPECT_EQ(values(results[2]), (std::vector<double>{0, 1, 10, 11}));
}

TEST(Tensor, ShapesChangeAndElementsStay) {
  RankValues results = interpret(R"(
    func.func @f(%a: tensor<2x3xf32>) -> (tensor<6xf32>, tensor<3x2xf32>, tensor<2x3xi32>, index) {
      %c = tensor.collapse_shape %a [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
      %e = tensor.expand_shape %c [[0, 1]] output_shape [3, 2] : tensor<6xf32> into tensor<3x2xf32>
      %i = tensor.bitcast %a : tensor<2x3xf32> to tensor<2x3xi32>
      %one = arith.constant 1 : index
      %d = tensor.dim %a, %one : tensor<2x3xf32>
      return %c, %e, %i, %d : tensor<6xf32>, tensor<3x2xf32>, tensor<2x3xi32>, index
    }
  )",
                                 {iota({2, 3})});
  EXPECT_EQ(results[0].getShape(), (Shape{6}));
  EXPECT_EQ(results[1].getShape(), (Shape{3, 2}));
  EXPECT_EQ(values(results[1]), values(iota({6})));
  EXPECT_EQ(results[2].getAsInteger(1), 0x3F800000);
  EXPECT_EQ(results[3].getAsInteger(0), 3);
}

TEST(Tensor, GatherTakesRows) {
  RankValues results =
      interpret(R"(
    func.func @f(%a: tensor<3x2xf32>, %i: tensor<2x1xi32>) -> tensor<2x1x2xf32> {
      %g = tensor.gather %a[%i] gather_dims([0])
          : (tensor<3x2xf32>, tensor<2x1xi32>) -> tensor<2x1x2xf32>
      return %g : tensor<2x1x2xf32>
    }
  )",
                {iota({3, 2}), tensor({2, 1}, {2, 0}, ElementType::I32)});
  EXPECT_EQ(values(results[0]), (std::vector<double>{4, 5, 0, 1}));
}

TEST(Tensor, UninitialisedElementsAreSeen) {
  RankValues results = interpret(R"(
    func.func @f() -> (tensor<2xf32>, tensor<2xbf16>, tensor<2xi32>) {
      %a = tensor.empty() : tensor<2xf32>
      %b = tensor.empty() : tensor<2xbf16>
      %c = tensor.empty() : tensor<2xi32>
      return %a, %b, %c : tensor<2xf32>, tensor<2xbf16>, tensor<2xi32>
    }
  )");
  EXPECT_TRUE(std::isnan(results[0].getAsDouble(1)));
  EXPECT_TRUE(std::isnan(results[1].getAsDouble(1)));
  EXPECT_EQ(bits(results[2]), 0xA5A5A5A5u);
}

TEST(Tensor, ConstantsAndElementwiseArithmetic) {
  RankValues results =
      interpret(R"(
    func.func @f(%c: i1, %a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xi1>, tensor<2xbf16>) {
      %k = arith.constant dense<[1.5, 2.5]> : tensor<2xf32>
      %s = arith.addf %a, %k : tensor<2xf32>
      %r = arith.select %c, %s, %a : tensor<2xf32>
      %b = arith.constant dense<[true, false]> : tensor<2xi1>
      %t = arith.truncf %s : tensor<2xf32> to tensor<2xbf16>
      return %r, %b, %t : tensor<2xf32>, tensor<2xi1>, tensor<2xbf16>
    }
  )",
                {tensor({}, {1}, ElementType::I1), tensor({2}, {1, 1})});
  EXPECT_EQ(values(results[0]), (std::vector<double>{2.5, 3.5}));
  EXPECT_EQ(values(results[1]), (std::vector<double>{1, 0}));
  EXPECT_EQ(values(results[2]), (std::vector<double>{2.5, 3.5}));
}
