//===- GemmPlanTest.cpp - GEMMs as cuBLASLt computes them -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPU/CublasLt/GemmPlan.h"

#include "gtest/gtest.h"

using namespace regather::runtime;

namespace {

/// [m, k] times [k, n], in row-major order.
rg_gemm_desc makeGemmDesc(int64_t m, int64_t n, int64_t k) {
  rg_gemm_desc desc = {};
  desc.m = m;
  desc.n = n;
  desc.k = k;
  desc.alpha = 1;
  desc.a = {0, RG_BF16, 0, {k, 1}, {}};
  desc.b = {1, RG_BF16, 0, {n, 1}, {}};
  desc.c = {2, RG_BF16, 0, {n, 1}, {}};
  return desc;
}

void addBatch(rg_gemm_desc &desc, int64_t size, int64_t a, int64_t b,
              int64_t c) {
  desc.batch_sizes[desc.batch_rank] = size;
  desc.a.batch_strides[desc.batch_rank] = a;
  desc.b.batch_strides[desc.batch_rank] = b;
  desc.c.batch_strides[desc.batch_rank] = c;
  ++desc.batch_rank;
}

std::string describe(const rg_gemm_desc &desc) {
  GemmPlanning planning = planGemm(desc);
  return planning.plan ? planning.plan->describe() : planning.reason;
}

TEST(GemmPlan, ComputesTheTransposeOfRowMajorResults) {
  EXPECT_EQ(describe(makeGemmDesc(2, 3, 4)),
            "a=bf16[3,4:3,0] b=bf16[4,2:4,0] c=- d=bf16[3,2:3,0] bias=- relu=0 "
            "batch=1");
}

TEST(GemmPlan, IsLargeIfASpanOrASizeIs) {
  auto isLarge = [](const rg_gemm_desc &desc) {
    return planGemm(desc).plan->isLarge();
  };
  EXPECT_FALSE(isLarge(makeGemmDesc(2, (1 << 21) - 1, 4)));
  EXPECT_TRUE(isLarge(makeGemmDesc(2, 1 << 21, 4)));
  EXPECT_TRUE(isLarge(makeGemmDesc(1 << 16, 1 << 15, 1)));
  EXPECT_FALSE(isLarge(makeGemmDesc((1 << 16) - 1, 1 << 15, 1)));
  rg_gemm_desc batched = makeGemmDesc(4, 4, 4);
  addBatch(batched, 2, int64_t(1) << 31, 16, 16);
  EXPECT_TRUE(isLarge(batched));
}

TEST(GemmPlan, TakesTransposedFactors) {
  rg_gemm_desc desc = makeGemmDesc(2, 3, 4);
  desc.a.strides[0] = 1;
  desc.a.strides[1] = 2;
  desc.b.strides[0] = 1;
  desc.b.strides[1] = 4;
  EXPECT_EQ(describe(desc),
            "a'=bf16[4,3:4,0] b'=bf16[2,4:2,0] c=- d=bf16[3,2:3,0] bias=- "
            "relu=0 batch=1");
}

TEST(GemmPlan, ComputesColumnMajorResultsAsTheyAre) {
  rg_gemm_desc desc = makeGemmDesc(2, 3, 4);
  desc.c.strides[0] = 1;
  desc.c.strides[1] = 2;
  EXPECT_EQ(describe(desc),
            "a'=bf16[4,2:4,0] b'=bf16[3,4:3,0] c=- d=bf16[2,3:2,0] bias=- "
            "relu=0 batch=1");
}

// The activations of a linear layer: one GEMM with more rows.
TEST(GemmPlan, MakesABatchRows) {
  rg_gemm_desc desc = makeGemmDesc(5, 3, 4);
  addBatch(desc, 7, 5 * 4, 0, 5 * 3);
  EXPECT_EQ(describe(desc),
            "a=bf16[3,4:3,0] b=bf16[4,35:4,0] c=- d=bf16[3,35:3,0] bias=- "
            "relu=0 batch=1");
}

TEST(GemmPlan, KeepsABatchThatRowsCannotHold) {
  rg_gemm_desc desc = makeGemmDesc(5, 3, 4);
  addBatch(desc, 7, 5 * 4, 0, 5 * 3 + 1);
  EXPECT_EQ(describe(desc),
            "a=bf16[3,4:3,0] b=bf16[4,5:4,20] c=- d=bf16[3,5:3,16] bias=- "
            "relu=0 batch=7");
}

TEST(GemmPlan, JoinsTheDimensionsOfABatch) {
  rg_gemm_desc desc = makeGemmDesc(5, 3, 4);
  addBatch(desc, 2, 7 * 20, 7 * 12, 7 * 15);
  addBatch(desc, 7, 20, 12, 15);
  GemmPlanning planning = planGemm(desc);
  ASSERT_TRUE(planning.plan);
  EXPECT_EQ(planning.plan->batch, 14);
  EXPECT_EQ(planning.plan->getNumCalls(), 1);
}

// Heads between the rows: the heads are the batch, and each sequence a call.
TEST(GemmPlan, CallsForEachElementThatNoBatchHolds) {
  rg_gemm_desc desc = makeGemmDesc(5, 3, 4);
  desc.a.strides[0] = 8 * 4;
  addBatch(desc, 2, 5 * 8 * 4, 8 * 12, 8 * 15);
  addBatch(desc, 8, 4, 12, 15);
  GemmPlanning planning = planGemm(desc);
  ASSERT_TRUE(planning.plan);
  const GemmPlan &plan = *planning.plan;
  EXPECT_EQ(plan.batch, 8);
  ASSERT_EQ(plan.getNumCalls(), 2);
  EXPECT_EQ(plan.getOffset(plan.b, 1), 5 * 8 * 4);
  EXPECT_EQ(plan.getOffset(plan.d, 1), 8 * 15);
}

TEST(GemmPlan, AddsATensorAndABias) {
  rg_gemm_desc desc = makeGemmDesc(2, 3, 4);
  desc.addends[0] = {3, RG_BF16, 0, {0, 1}, {}};
  desc.addends[1] = desc.c;
  desc.addend_count = 2;
  desc.relu = 1;
  EXPECT_EQ(describe(desc),
            "a=bf16[3,4:3,0] b=bf16[4,2:4,0] c=bf16[3,2:3,0] d=bf16[3,2:3,0] "
            "bias=bf16[3,1:3,0] relu=1 batch=1");
}

TEST(GemmPlan, NeedsNoCallForNothing) {
  rg_gemm_desc desc = makeGemmDesc(0, 3, 4);
  ASSERT_TRUE(planGemm(desc).plan);
  EXPECT_EQ(planGemm(desc).plan->getNumCalls(), 0);
}

TEST(GemmPlan, SaysWhatDoesNotFit) {
  rg_gemm_desc desc = makeGemmDesc(2, 3, 4);
  desc.k = 0;
  EXPECT_EQ(describe(desc), "there is nothing to multiply");
  desc.k = 4;
  desc.segments = 2;
  EXPECT_EQ(describe(desc), "the library does not sum over segments");
  desc.segments = 0;

  desc = makeGemmDesc(2, 3, 4);
  desc.a.strides[0] = 8;
  desc.a.strides[1] = 2;
  EXPECT_EQ(describe(desc), "a factor lies along none of its dimensions");

  desc = makeGemmDesc(2, 3, 4);
  desc.c.strides[0] = 8;
  desc.c.strides[1] = 2;
  EXPECT_EQ(describe(desc), "the result lies along none of its dimensions");

  desc = makeGemmDesc(2, 3, 4);
  desc.a.dtype = desc.b.dtype = RG_F32;
  EXPECT_EQ(describe(desc),
            "the result is neither f32 nor of the type of the factors");

  // One type of 16 bits into the other.
  desc = makeGemmDesc(2, 3, 4);
  desc.a.dtype = desc.b.dtype = RG_F16;
  EXPECT_EQ(describe(desc),
            "the result is neither f32 nor of the type of the factors");

  desc = makeGemmDesc(2, 3, 4);
  desc.addends[0] = {3, RG_F32, 0, {0, 1}, {}};
  desc.addend_count = 1;
  EXPECT_EQ(describe(desc), "an addend has another type than the result");

  desc = makeGemmDesc(2, 3, 4);
  desc.addends[0] = desc.addends[1] = desc.c;
  desc.addend_count = 2;
  EXPECT_EQ(describe(desc), "the addends are not one tensor and one bias");

  // A bias along the rows.
  desc = makeGemmDesc(2, 3, 4);
  desc.addends[0] = {3, RG_BF16, 0, {1, 0}, {}};
  desc.addend_count = 1;
  EXPECT_EQ(describe(desc), "the addends are not one tensor and one bias");

  desc = makeGemmDesc(2, 3, 4);
  addBatch(desc, 5000, 8, 12, 6);
  addBatch(desc, 5000, 7, 11, 5);
  EXPECT_EQ(describe(desc), "the batch takes too many calls");
}

} // namespace
