//===- AttentionPlanTest.cpp - What cuDNN computes ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPU/Cudnn/AttentionPlan.h"

#include "gtest/gtest.h"

using namespace regather::runtime;

namespace {

/// Dense, in the order of the dimensions.
rg_attention_operand makeOperand(int32_t buffer, int64_t heads, int64_t rows,
                                 int64_t width, int32_t dtype = RG_BF16) {
  return {buffer, dtype, 0, {heads * rows * width, rows * width, width, 1}};
}

rg_attention_desc makeDesc(bool isBackward = false) {
  rg_attention_desc desc = {};
  desc.batch = 2;
  desc.heads = 4;
  desc.groups = 2;
  desc.rows = desc.columns = 128;
  desc.width = desc.value_width = 64;
  desc.scale = 0.125F;
  desc.backward = isBackward;
  desc.q = makeOperand(0, 4, 128, 64);
  desc.k = makeOperand(1, 2, 128, 64);
  desc.v = makeOperand(2, 2, 128, 64);
  desc.o = makeOperand(3, 4, 128, 64);
  desc.l = makeOperand(4, 4, 128, 1, RG_F32);
  desc.grad_o = makeOperand(5, 4, 128, 64);
  desc.grad_q = makeOperand(6, 4, 128, 64);
  desc.grad_k = makeOperand(7, 2, 128, 64);
  desc.grad_v = makeOperand(8, 2, 128, 64);
  return desc;
}

CudnnAttentionPlan plan(const rg_attention_desc &desc, int architecture = 90,
                        size_t version = 92800) {
  return planCudnnAttention(desc, {{}, architecture, version});
}

TEST(CudnnAttentionPlan, TakesWhatFits) {
  for (int architecture : {80, 86, 89, 90, 100, 103})
    for (bool isBackward : {false, true})
      EXPECT_EQ(plan(makeDesc(isBackward), architecture).reason, "");
  // L is not needed forward, and rows and columns may differ.
  rg_attention_desc desc = makeDesc();
  desc.l.buffer = -1;
  desc.causal = 1;
  desc.rows = 1;
  desc.columns = 77;
  EXPECT_EQ(plan(desc).reason, "");
}

TEST(CudnnAttentionPlan, TakesF16) {
  rg_attention_desc desc = makeDesc();
  for (rg_attention_operand *operand : {&desc.q, &desc.k, &desc.v, &desc.o})
    operand->dtype = RG_F16;
  EXPECT_EQ(plan(desc).reason, "");
  desc.o.dtype = RG_BF16;
  EXPECT_EQ(plan(desc).reason, "O has another type than Q");
}

TEST(CudnnAttentionPlan, TakesHeadsBesideEachOther) {
  rg_attention_desc desc = makeDesc();
  // Q, K and V of one product: rows of 4 + 2 + 2 heads.
  for (rg_attention_operand *operand : {&desc.q, &desc.k, &desc.v}) {
    operand->strides[0] = 128L * 512;
    operand->strides[1] = 64;
    operand->strides[2] = 512;
  }
  desc.k.offset = 256;
  desc.v.offset = 384;
  EXPECT_EQ(plan(desc).reason, "");
}

/// A description is changed in one way, and its reason has these words.
struct Obstacle {
  void (*change)(rg_attention_desc &desc);
  const char *reason;
};

TEST(CudnnAttentionPlan, SaysWhyNot) {
  const Obstacle obstacles[] = {
      {[](auto &desc) { desc.masked = 1; }, "it has a mask"},
      {[](auto &desc) { desc.q.dtype = RG_F32; }, "Q is neither bf16 nor f16"},
      {[](auto &desc) { desc.grad_v.dtype = RG_F32; },
       "the gradient of V has another type than Q"},
      {[](auto &desc) { desc.rows = 0; }, "it is empty"},
      {[](auto &desc) { desc.width = 60; },
       "heads are 60 elements wide, no multiple of 8"},
      {[](auto &desc) { desc.width = desc.value_width = 264; },
       "heads are 264 elements wide, more than 256"},
      {[](auto &desc) { desc.value_width = 136; },
       "heads are 136 elements wide, more than 128"},
      {[](auto &desc) { desc.v.strides[3] = 2; },
       "V has elements that do not follow each other"},
      {[](auto &desc) { desc.k.strides[1] = 0; }, "K repeats elements"},
      {[](auto &desc) { desc.o.strides[2] = 68; },
       "O has a stride that is no multiple of 16 bytes"},
      {[](auto &desc) { desc.grad_q.offset = 4; },
       "the gradient of Q is not aligned to 16 bytes"},
      {[](auto &desc) { desc.l.strides[2] = 2; }, "L is not dense"},
      {[](auto &desc) { desc.l.offset = 2; }, "L is not aligned to 16 bytes"}};
  for (const Obstacle &obstacle : obstacles) {
    rg_attention_desc desc = makeDesc(/*isBackward=*/true);
    obstacle.change(desc);
    EXPECT_EQ(plan(desc).reason, obstacle.reason);
  }
}

// A batch of one and one row are never stepped over.
TEST(CudnnAttentionPlan, TakesDimensionsOfOneElement) {
  for (int dimension : {0, 1, 2}) {
    rg_attention_desc desc = makeDesc(/*isBackward=*/true);
    int64_t *sizes[] = {&desc.batch, &desc.heads, &desc.rows};
    *sizes[dimension] = 1;
    if (dimension == 1)
      desc.groups = 1;
    rg_attention_desc dense = desc;
    for (rg_attention_operand *operand :
         {&desc.q, &desc.o, &desc.l, &desc.grad_o, &desc.grad_q})
      operand->strides[dimension] = 0;
    EXPECT_NE(plan(desc).reason, "");
    rg_attention_desc mended = setUnitStrides(desc);
    EXPECT_GT(mended.grad_q.strides[dimension], 0);
    EXPECT_EQ(mended.l.strides[dimension],
              setUnitStrides(dense).l.strides[dimension]);
    for (int other = 0; other < 4; ++other)
      if (other != dimension)
        EXPECT_EQ(mended.q.strides[other], desc.q.strides[other]);
  }
  rg_attention_desc desc = makeDesc(/*isBackward=*/true);
  desc.batch = 1;
  desc.k.strides[0] = desc.v.strides[0] = desc.grad_v.strides[0] = 0;
  EXPECT_EQ(plan(setUnitStrides(desc)).reason, "");
  // What is stepped over stays as it is.
  desc.batch = 2;
  EXPECT_EQ(plan(setUnitStrides(desc)).reason, "K repeats elements");
}

TEST(CudnnAttentionPlan, LooksWhereBuffersLie) {
  CudnnAttentionSite site = {{256, 256, 8, 256, 256}, 90, 92800};
  EXPECT_EQ(planCudnnAttention(makeDesc(), site).reason,
            "V is not aligned to 16 bytes");
}

TEST(CudnnAttentionPlan, KnowsDevices) {
  for (int architecture : {0, 75, 110, 120})
    EXPECT_EQ(plan(makeDesc(), architecture).reason,
              "only devices from sm_80 to sm_103 are known");
  rg_attention_desc wide = makeDesc();
  wide.width = wide.value_width = 256;
  EXPECT_EQ(plan(wide, 90).reason, "");
  EXPECT_EQ(plan(wide, 100).reason,
            "heads are 256 elements wide, more than 128");
}

TEST(CudnnAttentionPlan, KnowsVersions) {
  rg_attention_desc backward = makeDesc(/*isBackward=*/true);
  backward.columns = 100;
  EXPECT_NE(plan(backward, 90, 91500).reason.find("no multiple of 128"),
            std::string::npos);
  EXPECT_EQ(plan(backward, 90, 91501).reason, "");
  backward = makeDesc(/*isBackward=*/true);
  EXPECT_NE(plan(backward, 100, 91700).reason.find("need cuDNN 9.18.0"),
            std::string::npos);
  EXPECT_EQ(plan(backward, 100, 91800).engine.describe(),
            "engine 5, knobs 24=31 14=2");
  EXPECT_EQ(plan(backward, 100, 92300).engine.describe(),
            "engine 5, knobs 40=3 41=2 24=2 38=0 27=0 14=2");
  // Forward, the library proposes.
  EXPECT_EQ(plan(makeDesc(), 100).engine.engine, -1);
}

TEST(CudnnAttentionPlan, KeepsWorkspacesSmall) {
  rg_attention_desc desc = makeDesc(/*isBackward=*/true);
  EXPECT_EQ(plan(desc).gradient, QueryGradient::FromScores);
  EXPECT_EQ(plan(desc).engine.engine, -1);
  // 512 MiB for the gradients of scores.
  desc.batch = 1;
  desc.heads = 16;
  desc.rows = desc.columns = 4096;
  desc.l.strides[0] = 16L * 4096;
  desc.l.strides[1] = 4096;
  EXPECT_EQ(plan(desc, 90, 92500).gradient, QueryGradient::Ordered);
  EXPECT_EQ(plan(desc, 90, 92500).engine.describe(),
            "engine 6, knobs 40=2 41=1 24=2 38=0 27=0 14=4");
  EXPECT_EQ(plan(desc, 90, 92400).gradient, QueryGradient::FromScores);
  EXPECT_EQ(plan(desc, 80).reason, "");
  // 8 GiB.
  desc.rows = desc.columns = 16384;
  desc.l.strides[0] = 16L * 16384;
  desc.l.strides[1] = 16384;
  EXPECT_EQ(plan(desc, 80).reason,
            "the same bits in every run need a workspace of 8589934592 bytes");
  EXPECT_EQ(plan(desc, 90).gradient, QueryGradient::Ordered);
  EXPECT_EQ(plan(desc, 100).reason, "");
}

TEST(DnnEngineChoice, IsReadAsWritten) {
  for (const char *text : {"engine 0", "engine 6, knobs 40=2",
                           "engine 5, knobs 40=3 41=2 14=-1"}) {
    DnnEngineChoice choice;
    EXPECT_TRUE(choice.parse(text)) << text;
    EXPECT_EQ(choice.describe(), text);
  }
  for (const char *text :
       {"", "engine", "engine -1", "engine x", "engine 1 knobs 2=3",
        "engine 1, knobs", "engine 1, knobs 2", "engine 1, knobs 2=",
        "engine 1, knobs 2=3 ", "engine 1, knobs 2=3x", "engine  1"}) {
    DnnEngineChoice choice;
    EXPECT_FALSE(choice.parse(text)) << text;
  }
}

} // namespace
