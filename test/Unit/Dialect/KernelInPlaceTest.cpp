//===- KernelInPlaceTest.cpp - Results in the place of arguments ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Kernels/KernelInPlace.h"
#include "regather/InitAll.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace regather::tg;

namespace {
using Pairs = std::vector<InPlacePair>;

class KernelInPlaceTest : public ::testing::Test {
protected:
  KernelInPlaceTest() : context(makeRegistry()) {
    context.loadAllAvailableDialects();
  }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    regather::registerAllDialects(registry);
    return registry;
  }

  /// The pairs of the only kernel.
  Pairs pairsOf(StringRef source) {
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(source, &context);
    EXPECT_TRUE(module);
    SmallVector<InPlacePair> pairs =
        getInPlacePairs(*module->getOps<KernelOp>().begin());
    return Pairs(pairs.begin(), pairs.end());
  }

  MLIRContext context;
};
} // namespace

TEST_F(KernelInPlaceTest, ChainWithBroadcasts) {
  // The row and the scalar have other shapes; both matrices will do.
  EXPECT_EQ(pairsOf(R"(
    tg.kernel @k(%x: tensor<4x8xf32>, %row: tensor<8xf32>, %s: tensor<f32>,
                 %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %a = tg.node "aten.mul.Tensor"(%x, %row)
          : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
      %b = tg.node "aten.add.Tensor"(%a, %s)
          : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
      %c = arith.addf %b, %y : tensor<4x8xf32>
      tg.return %c : tensor<4x8xf32>
    })"),
            (Pairs{{0, 0}, {3, 0}}));
}

TEST_F(KernelInPlaceTest, SeveralResultsOfOneLoop) {
  // The second is not computed from the first argument: it might be written
  // before that is read.
  EXPECT_EQ(pairsOf(R"(
    #map = affine_map<(d) -> (d)>
    tg.kernel @k(%x: tensor<8xf32>, %y: tensor<8xf32>)
        -> (tensor<8xf32>, tensor<8xf32>) {
      %e = tensor.empty() : tensor<8xf32>
      %r:2 = linalg.generic {indexing_maps = [#map, #map, #map, #map],
                             iterator_types = ["parallel"]}
          ins(%x, %y : tensor<8xf32>, tensor<8xf32>)
          outs(%e, %e : tensor<8xf32>, tensor<8xf32>) {
      ^body(%a: f32, %b: f32, %c: f32, %d: f32):
        %s = arith.addf %a, %b : f32
        %p = arith.negf %b : f32
        linalg.yield %s, %p : f32, f32
      } -> (tensor<8xf32>, tensor<8xf32>)
      tg.return %r#0, %r#1 : tensor<8xf32>, tensor<8xf32>
    })"),
            (Pairs{{0, 0}, {1, 0}, {1, 1}}));
}

TEST_F(KernelInPlaceTest, ResultsOfSeveralTypes) {
  // As in an optimizer: a parameter of another type than its state.
  EXPECT_EQ(pairsOf(R"(
    #map = affine_map<(d) -> (d)>
    tg.kernel @k(%x: tensor<8xbf16>, %y: tensor<8xf32>)
        -> (tensor<8xbf16>, tensor<8xf32>) {
      %e = tensor.empty() : tensor<8xbf16>
      %f = tensor.empty() : tensor<8xf32>
      %r:2 = linalg.generic {indexing_maps = [#map, #map, #map, #map],
                             iterator_types = ["parallel"]}
          ins(%x, %y : tensor<8xbf16>, tensor<8xf32>)
          outs(%e, %f : tensor<8xbf16>, tensor<8xf32>) {
      ^body(%a: bf16, %b: f32, %c: bf16, %d: f32):
        %w = arith.extf %a : bf16 to f32
        %s = arith.addf %w, %b : f32
        %t = arith.truncf %s : f32 to bf16
        linalg.yield %t, %s : bf16, f32
      } -> (tensor<8xbf16>, tensor<8xf32>)
      tg.return %r#0, %r#1 : tensor<8xbf16>, tensor<8xf32>
    })"),
            (Pairs{{0, 0}, {1, 1}}));
}

TEST_F(KernelInPlaceTest, ChainThroughAnotherType) {
  EXPECT_EQ(pairsOf(R"(
    tg.kernel @k(%x: tensor<8xf32>) -> tensor<8xf32> {
      %a = arith.truncf %x : tensor<8xf32> to tensor<8xbf16>
      %b = arith.extf %a : tensor<8xbf16> to tensor<8xf32>
      tg.return %b : tensor<8xf32>
    })"),
            (Pairs{{0, 0}}));
  EXPECT_EQ(pairsOf(R"(
    tg.kernel @k(%x: tensor<8xf32>) -> tensor<8xbf16> {
      %a = arith.truncf %x : tensor<8xf32> to tensor<8xbf16>
      tg.return %a : tensor<8xbf16>
    })"),
            Pairs());
}

TEST_F(KernelInPlaceTest, ArgumentThatGivesAShape) {
  StringRef source = R"(
    #map = affine_map<(d) -> (d)>
    tg.kernel @k(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
      %r = linalg.generic {indexing_maps = [#map, #map, #map],
                           iterator_types = ["parallel"]}
          ins(%x, %y : tensor<8xf32>, tensor<8xf32>)
          outs(%x : tensor<8xf32>) {
      ^body(%a: f32, %b: f32, %c: f32):
        %s = arith.addf %a, %VALUE : f32
        linalg.yield %s : f32
      } -> tensor<8xf32>
      tg.return %r : tensor<8xf32>
    })";
  auto withValue = [&](StringRef value) {
    std::string text = source.str();
    text.replace(text.find("%VALUE"), 6, value);
    return text;
  };
  EXPECT_EQ(pairsOf(withValue("%b")), (Pairs{{0, 0}, {1, 0}}));
  EXPECT_EQ(pairsOf(withValue("%c")), (Pairs{{1, 0}}));
}

TEST_F(KernelInPlaceTest, NotIfTheArgumentIsReadTwice) {
  // A second loop might read what the first has overwritten.
  EXPECT_EQ(pairsOf(R"(
    tg.kernel @k(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %a = arith.negf %x : tensor<8xf32>
      %b = arith.addf %x, %x : tensor<8xf32>
      tg.return %a, %b : tensor<8xf32>, tensor<8xf32>
    })"),
            Pairs());
}

TEST_F(KernelInPlaceTest, NotIfAResultIsReadBesides) {
  // LLVM may compute the second from the argument, and load that again when the
  // first lies there.
  EXPECT_EQ(pairsOf(R"(
    tg.kernel @k(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %a = arith.negf %x : tensor<8xf32>
      %b = arith.addf %a, %a : tensor<8xf32>
      tg.return %a, %b : tensor<8xf32>, tensor<8xf32>
    })"),
            Pairs());
}

TEST_F(KernelInPlaceTest, NotInAnotherOrder) {
  EXPECT_EQ(pairsOf(R"(
    tg.kernel @k(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
      %a = tg.node "aten.t.default"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
      %b = arith.negf %a : tensor<4x4xf32>
      tg.return %b : tensor<4x4xf32>
    })"),
            Pairs());
}

TEST_F(KernelInPlaceTest, NotAcrossASum) {
  EXPECT_EQ(pairsOf(R"(
    tg.kernel @k(%x: tensor<4x4xf32>, %y: tensor<4x1xf32>) -> tensor<4x1xf32> {
      %a = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [1], true]
          : (tensor<4x4xf32>) -> tensor<4x1xf32>
      %b = arith.addf %a, %y : tensor<4x1xf32>
      tg.return %b : tensor<4x1xf32>
    })"),
            (Pairs{{1, 0}}));
}

TEST_F(KernelInPlaceTest, NotIfSumsHaveOneTerm) {
  // Element i of the result comes from element i of x alone, and still the
  // product is added to what lies in the result.
  EXPECT_EQ(pairsOf(R"(
    tg.kernel @k(%x: tensor<6x1xf32>, %y: tensor<1x1xf32>) -> tensor<6x1xf32> {
      %a = tg.node "aten.mm.default"(%x, %y)
          : (tensor<6x1xf32>, tensor<1x1xf32>) -> tensor<6x1xf32>
      tg.return %a : tensor<6x1xf32>
    })"),
            Pairs());
  EXPECT_EQ(pairsOf(R"(
    tg.kernel @k(%x: tensor<6x1xf32>, %y: tensor<1x1xf32>,
                 %z: tensor<6x1xf32>) -> tensor<6x1xf32> {
      %a = linalg.matmul ins(%x, %y : tensor<6x1xf32>, tensor<1x1xf32>)
          outs(%z : tensor<6x1xf32>) -> tensor<6x1xf32>
      tg.return %a : tensor<6x1xf32>
    })"),
            Pairs());
  EXPECT_EQ(pairsOf(R"(
    tg.kernel @k(%x: tensor<6x1xf32>) -> tensor<6x1xf32> {
      %a = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [1], true]
          : (tensor<6x1xf32>) -> tensor<6x1xf32>
      tg.return %a : tensor<6x1xf32>
    })"),
            Pairs());
}

TEST_F(KernelInPlaceTest, NotWithAnotherElementType) {
  EXPECT_EQ(pairsOf(R"(
    tg.kernel @k(%x: tensor<8xf32>) -> tensor<8xi32> {
      %a = arith.bitcast %x : tensor<8xf32> to tensor<8xi32>
      tg.return %a : tensor<8xi32>
    })"),
            Pairs());
}

TEST_F(KernelInPlaceTest, NotIfEachBlockReadsTheWholeArgument) {
  StringRef source = R"(
    tg.kernel @k(%x: tensor<4x8xf32> {{0}}, %y: tensor<4x8xf32> {tg.rows = 0})
        -> (tensor<4x8xf32> {tg.rows = 0}) {
      %a = arith.addf %x, %y : tensor<4x8xf32>
      tg.return %a : tensor<4x8xf32>
    })";
  auto withRows = [&](StringRef rows) {
    std::string text = source.str();
    text.replace(text.find("{{0}}"), 5, rows);
    return text;
  };
  EXPECT_EQ(pairsOf(withRows("")), (Pairs{{1, 0}}));
  EXPECT_EQ(pairsOf(withRows("{tg.rows = 1}")), (Pairs{{1, 0}}));
  EXPECT_EQ(pairsOf(withRows("{tg.rows = 0}")), (Pairs{{0, 0}, {1, 0}}));
}

TEST_F(KernelInPlaceTest, NotTheArgumentItself) {
  EXPECT_EQ(pairsOf(R"(
    tg.kernel @k(%x: tensor<8xf32>) -> tensor<8xf32> {
      tg.return %x : tensor<8xf32>
    })"),
            Pairs());
}
