//===- LibraryCallsTest.cpp - Kernels that libraries compute --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Library/LibraryCalls.h"
#include "regather/InitAll.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace regather::tg;

namespace {
class LibraryCallsTest : public ::testing::Test {
protected:
  LibraryCallsTest() : context(makeRegistry()) {
    context.loadAllAvailableDialects();
  }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    regather::registerAllDialects(registry);
    return registry;
  }

  KernelOp parse(StringRef source) {
    module = parseSourceString<ModuleOp>(source, &context);
    EXPECT_TRUE(module);
    return *module->getOps<KernelOp>().begin();
  }

  /// A call in the syntax of the dialect.
  Attribute parseCall(StringRef text) { return parseAttribute(text, &context); }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};
} // namespace

TEST_F(LibraryCallsTest, ViewsBecomeStrides) {
  auto match = matchGemm(parse(R"(
    tg.kernel @k(%w: tensor<96x128xf32>, %x: tensor<2x64x256xf32>,
                 %r: tensor<96xbf16>) -> tensor<96x128xbf16> {
      %t = tg.node "aten.t.default"(%w) : (tensor<96x128xf32>) -> tensor<128x96xf32>
      %s = tg.node "aten.slice.Tensor"(%x) args [#tg.operand<0>, 2, 128, 256]
          : (tensor<2x64x256xf32>) -> tensor<2x64x128xf32>
      %v = tg.node "aten.view.default"(%s) args [#tg.operand<0>, [128, 128]]
          : (tensor<2x64x128xf32>) -> tensor<128x128xf32>
      %m = tg.node "aten.mm.default"(%v, %t)
          : (tensor<128x128xf32>, tensor<128x96xf32>) -> tensor<128x96xf32>
      %a = tg.node "aten.add.Tensor"(%m, %r)
          : (tensor<128x96xf32>, tensor<96xbf16>) -> tensor<128x96xf32>
      %c = tg.node "aten._to_copy.default"(%a) : (tensor<128x96xf32>) -> tensor<128x96xbf16>
      %u = tg.node "aten.t.default"(%c) : (tensor<128x96xbf16>) -> tensor<96x128xbf16>
      tg.return %u : tensor<96x128xbf16>
    })"));
  EXPECT_EQ(match.call, parseCall(R"(#tg.gemm<
      m = 128, n = 96, k = 128, a = <1 at 128 strides[256, 1]>,
      b = <0 strides[1, 128]>, c = <3 strides[1, 128]>,
      addends = [<2 strides[0, 1]>]>)"));
}

TEST_F(LibraryCallsTest, BatchesComeBeforeRowsAndColumns) {
  auto match = matchGemm(parse(R"(
    tg.kernel @k(%x: tensor<4x32x64xf32>, %y: tensor<4x64x48xf32>)
        -> tensor<4x32x48xf32> {
      %m = tg.node "aten.bmm.default"(%x, %y)
          : (tensor<4x32x64xf32>, tensor<4x64x48xf32>) -> tensor<4x32x48xf32>
      tg.return %m : tensor<4x32x48xf32>
    })"));
  EXPECT_EQ(match.call, parseCall(R"(#tg.gemm<
      m = 32, n = 48, k = 64, batch = [4], a = <0 strides[2048, 64, 1]>,
      b = <1 strides[3072, 48, 1]>, c = <2 strides[1536, 48, 1]>>)"));
}

TEST_F(LibraryCallsTest, NumbersOf16BitsAreRoundedOnce) {
  StringRef steps = R"(
    tg.kernel @k(%x: tensor<64x64xf16>, %y: tensor<64x64xf16>) -> tensor<64x64x$type> {
      %m = tg.node "aten.mm.default"(%x, %y)
          : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
      %r = tg.node "aten.relu.default"(%m) : (tensor<64x64xf16>) -> tensor<64x64xf16>
      %c = tg.node "aten._to_copy.default"(%r) : (tensor<64x64xf16>) -> tensor<64x64x$type>
      tg.return %c : tensor<64x64x$type>
    })";
  auto match = [&](StringRef type) {
    std::string text = steps.str();
    for (size_t at; (at = text.find("$type")) != std::string::npos;)
      text.replace(at, strlen("$type"), type.str());
    return matchGemm(parse(text));
  };
  auto gemm = match("f16").call;
  ASSERT_TRUE(gemm);
  EXPECT_TRUE(gemm.getRelu());
  EXPECT_FALSE(match("bf16"));
  EXPECT_FALSE(match("f32"));
}

TEST_F(LibraryCallsTest, ShapesThatDoNotFitDoNotMatch) {
  EXPECT_FALSE(matchGemm(parse(R"(
    tg.kernel @k(%x: tensor<64x64xf32>, %y: tensor<65x64xf32>) -> tensor<64x64xf32> {
      %m = tg.node "aten.mm.default"(%x, %y)
          : (tensor<64x64xf32>, tensor<65x64xf32>) -> tensor<64x64xf32>
      tg.return %m : tensor<64x64xf32>
    })")));
}

TEST_F(LibraryCallsTest, AttentionReadsHeadsWhereTheyLie) {
  auto match = matchAttention(parse(R"(
    tg.kernel @k(%x: tensor<2x16x3x4x8xf32>, %m: tensor<16x16xi1>)
        -> (tensor<2x4x16xf32>, tensor<2x16x32xf32>) {
      %q0 = tg.node "aten.select.int"(%x) args [#tg.operand<0>, 2, 0] : (tensor<2x16x3x4x8xf32>) -> tensor<2x16x4x8xf32>
      %k0 = tg.node "aten.select.int"(%x) args [#tg.operand<0>, 2, 1] : (tensor<2x16x3x4x8xf32>) -> tensor<2x16x4x8xf32>
      %v0 = tg.node "aten.select.int"(%x) args [#tg.operand<0>, 2, -1] : (tensor<2x16x3x4x8xf32>) -> tensor<2x16x4x8xf32>
      %q = tg.node "aten.transpose.int"(%q0) args [#tg.operand<0>, 1, 2] : (tensor<2x16x4x8xf32>) -> tensor<2x4x16x8xf32>
      %k = tg.node "aten.transpose.int"(%k0) args [#tg.operand<0>, 1, 2] : (tensor<2x16x4x8xf32>) -> tensor<2x4x16x8xf32>
      %v = tg.node "aten.transpose.int"(%v0) args [#tg.operand<0>, 1, 2] : (tensor<2x16x4x8xf32>) -> tensor<2x4x16x8xf32>
      %o, %l = tg.node "aten._scaled_dot_product_flash_attention_for_cpu.default"(%q, %k, %v, %m)
          args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, 0.0, true]
          kwargs {attn_mask = #tg.operand<3>, scale = 0.5}
          : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<16x16xi1>)
          -> (tensor<2x4x16x8xf32>, tensor<2x4x16xf32>)
      %t = tg.node "aten.transpose.int"(%o) args [#tg.operand<0>, 1, 2] : (tensor<2x4x16x8xf32>) -> tensor<2x16x4x8xf32>
      %r = tg.node "aten.view.default"(%t) args [#tg.operand<0>, [2, 16, 32]] : (tensor<2x16x4x8xf32>) -> tensor<2x16x32xf32>
      tg.return %l, %r : tensor<2x4x16xf32>, tensor<2x16x32xf32>
    })"));
  EXPECT_EQ(match.call, parseCall(R"(#tg.attention<
      batch = 2, heads = 4, rows = 16, columns = 16, width = 8,
      value_width = 8, scale = 0.5 : f32, causal = true,
      q = <0 strides[1536, 8, 96, 1]>, k = <0 at 32 strides[1536, 8, 96, 1]>,
      v = <0 at 64 strides[1536, 8, 96, 1]>, mask = <1 strides[0, 0, 16, 1]>,
      o = <3 strides[512, 8, 32, 1]>, l = <2 strides[64, 16, 1]>>)"));
}

TEST_F(LibraryCallsTest, GradientsOfAttentionAreAllGiven) {
  auto match = matchAttention(parse(R"(
    tg.kernel @k(%g: tensor<1x4x16x8xf32>, %q: tensor<1x4x16x8xf32>, %k: tensor<1x2x16x8xf32>,
                 %o: tensor<1x4x16x8xf32>, %l: tensor<1x4x16xf32>)
        -> (tensor<1x4x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>) {
      %r:3 = tg.node "aten._scaled_dot_product_flash_attention_for_cpu_backward.default"(%g, %q, %k, %k, %o, %l)
          args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, #tg.operand<3>, #tg.operand<4>, #tg.operand<5>, 0.0, false]
          : (tensor<1x4x16x8xf32>, tensor<1x4x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1x4x16x8xf32>, tensor<1x4x16xf32>)
          -> (tensor<1x4x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>)
      tg.return %r#0, %r#1, %r#2 : tensor<1x4x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>
    })"));
  EXPECT_EQ(match.call, parseCall(R"(#tg.attention<
      batch = 1, heads = 4, groups = 2, rows = 16, columns = 16, width = 8,
      value_width = 8, scale = 0.353553385 : f32,
      q = <1 strides[512, 128, 8, 1]>, k = <2 strides[256, 128, 8, 1]>,
      v = <2 strides[256, 128, 8, 1]>, o = <3 strides[512, 128, 8, 1]>,
      l = <4 strides[64, 16, 1]>, grad_o = <0 strides[512, 128, 8, 1]>,
      grad_q = <5 strides[512, 128, 8, 1]>,
      grad_k = <6 strides[256, 128, 8, 1]>,
      grad_v = <7 strides[256, 128, 8, 1]>>)"));
}
