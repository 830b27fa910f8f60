//===- LibraryCallsTest.cpp - Kernels that the runtime has ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Library/LibraryCalls.h"
#include "regather/InitAll.h"

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

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};
} // namespace

TEST_F(LibraryCallsTest, ViewsBecomeStrides) {
  auto desc = matchGemm(parse(R"(
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
  ASSERT_TRUE(desc);
  EXPECT_EQ(desc->m, 128);
  EXPECT_EQ(desc->n, 96);
  EXPECT_EQ(desc->k, 128);
  EXPECT_EQ(desc->batch_rank, 0);
  EXPECT_EQ(desc->a.buffer, 1);
  EXPECT_EQ(desc->a.offset, 128);
  EXPECT_EQ(desc->a.strides[0], 256);
  EXPECT_EQ(desc->a.strides[1], 1);
  EXPECT_EQ(desc->b.buffer, 0);
  EXPECT_EQ(desc->b.strides[0], 1);
  EXPECT_EQ(desc->b.strides[1], 128);
  EXPECT_EQ(desc->c.buffer, 3);
  EXPECT_EQ(desc->c.dtype, RG_BF16);
  EXPECT_EQ(desc->c.strides[0], 1);
  EXPECT_EQ(desc->c.strides[1], 128);
  ASSERT_EQ(desc->addend_count, 1);
  EXPECT_EQ(desc->addends[0].buffer, 2);
  EXPECT_EQ(desc->addends[0].dtype, RG_BF16);
  EXPECT_EQ(desc->addends[0].strides[0], 0);
  EXPECT_EQ(desc->addends[0].strides[1], 1);
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
  auto desc = match("f16");
  ASSERT_TRUE(desc);
  EXPECT_EQ(desc->a.dtype, RG_F16);
  EXPECT_EQ(desc->c.dtype, RG_F16);
  EXPECT_EQ(desc->relu, 1);
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
  auto desc = matchAttention(parse(R"(
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
  ASSERT_TRUE(desc);
  EXPECT_EQ(desc->batch, 2);
  EXPECT_EQ(desc->heads, 4);
  EXPECT_EQ(desc->groups, 1);
  EXPECT_EQ(desc->rows, 16);
  EXPECT_EQ(desc->columns, 16);
  EXPECT_EQ(desc->width, 8);
  EXPECT_EQ(desc->scale, 0.5f);
  EXPECT_TRUE(desc->causal);
  EXPECT_TRUE(desc->masked);
  EXPECT_FALSE(desc->backward);
  auto strides = [](const rg_attention_operand &operand) {
    return std::vector<int64_t>(operand.strides, operand.strides + 4);
  };
  std::vector<int64_t> interleaved = {16 * 96, 8, 96, 1};
  for (auto [operand, offset] :
       {std::pair(&desc->q, 0), {&desc->k, 32}, {&desc->v, 64}}) {
    EXPECT_EQ(operand->buffer, 0);
    EXPECT_EQ(operand->offset, offset);
    EXPECT_EQ(strides(*operand), interleaved);
  }
  EXPECT_EQ(desc->mask.buffer, 1);
  EXPECT_EQ(desc->mask.dtype, RG_I1);
  EXPECT_EQ(strides(desc->mask), (std::vector<int64_t>{0, 0, 16, 1}));
  EXPECT_EQ(desc->l.buffer, 2);
  EXPECT_EQ(desc->o.buffer, 3);
  EXPECT_EQ(strides(desc->o), (std::vector<int64_t>{16 * 32, 8, 32, 1}));
}

TEST_F(LibraryCallsTest, GradientsOfAttentionAreAllGiven) {
  auto desc = matchAttention(parse(R"(
    tg.kernel @k(%g: tensor<1x4x16x8xf32>, %q: tensor<1x4x16x8xf32>, %k: tensor<1x2x16x8xf32>,
                 %o: tensor<1x4x16x8xf32>, %l: tensor<1x4x16xf32>)
        -> (tensor<1x4x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>) {
      %r:3 = tg.node "aten._scaled_dot_product_flash_attention_for_cpu_backward.default"(%g, %q, %k, %k, %o, %l)
          args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, #tg.operand<3>, #tg.operand<4>, #tg.operand<5>, 0.0, false]
          : (tensor<1x4x16x8xf32>, tensor<1x4x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1x4x16x8xf32>, tensor<1x4x16xf32>)
          -> (tensor<1x4x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>)
      tg.return %r#0, %r#1, %r#2 : tensor<1x4x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>
    })"));
  ASSERT_TRUE(desc);
  EXPECT_TRUE(desc->backward);
  EXPECT_EQ(desc->groups, 2);
  EXPECT_EQ(desc->grad_o.buffer, 0);
  EXPECT_EQ(desc->v.buffer, 2);
  EXPECT_EQ(desc->l.buffer, 4);
  EXPECT_EQ(desc->grad_q.buffer, 5);
  EXPECT_EQ(desc->grad_v.buffer, 7);
}
