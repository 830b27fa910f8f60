//===- GemmTest.cpp - Matrix products of the runtime ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatrixProduct.h"
#include "Numeric/Half.h"

#include "gtest/gtest.h"

#include <random>
#include <thread>
#include <vector>

using namespace regather::runtime;

namespace {
/// Small integers: products and sums of them are exact in any order.
std::vector<float> makeIntegers(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float &value : values)
    value = static_cast<float>(random() % 7) - 3;
  return values;
}

std::vector<uint16_t> narrow(const std::vector<float> &values) {
  std::vector<uint16_t> narrowed;
  for (float value : values)
    narrowed.push_back(toBF16(value));
  return narrowed;
}

/// [batch, m, k] times [batch, k, n], all contiguous.
rg_gemm_desc makeDesc(int64_t batch, int64_t m, int64_t n, int64_t k) {
  rg_gemm_desc desc = {};
  desc.input_dtype = RG_F32;
  desc.m = m;
  desc.n = n;
  desc.k = k;
  desc.a_strides[0] = k;
  desc.a_strides[1] = 1;
  desc.b_strides[0] = n;
  desc.b_strides[1] = 1;
  desc.c_strides[0] = n;
  desc.c_strides[1] = 1;
  desc.batch_rank = 1;
  desc.batch_sizes[0] = batch;
  desc.a_batch_strides[0] = m * k;
  desc.b_batch_strides[0] = k * n;
  desc.c_batch_strides[0] = m * n;
  return desc;
}

void transpose(int64_t (&strides)[2], int64_t rows) {
  strides[0] = 1;
  strides[1] = rows;
}

/// The sum by the definition, with the batch of rank one.
std::vector<float> compute(const rg_gemm_desc &desc,
                           const std::vector<float> &a,
                           const std::vector<float> &b, std::vector<float> c) {
  for (int64_t p = 0; p != desc.batch_sizes[0]; ++p)
    for (int64_t i = 0; i != desc.m; ++i)
      for (int64_t j = 0; j != desc.n; ++j) {
        float sum = 0;
        for (int64_t l = 0; l != desc.k; ++l)
          sum += a[p * desc.a_batch_strides[0] + i * desc.a_strides[0] +
                   l * desc.a_strides[1]] *
                 b[p * desc.b_batch_strides[0] + l * desc.b_strides[0] +
                   j * desc.b_strides[1]];
        float &out = c[p * desc.c_batch_strides[0] + i * desc.c_strides[0] +
                       j * desc.c_strides[1]];
        out = desc.accumulate ? out + sum : sum;
      }
  return c;
}

void expectEqual(const rg_gemm_desc &desc) {
  int64_t batch = desc.batch_sizes[0];
  std::vector<float> a = makeIntegers(batch * desc.m * desc.k, 1);
  std::vector<float> b = makeIntegers(batch * desc.k * desc.n, 2);
  std::vector<float> c = makeIntegers(batch * desc.m * desc.n, 3);
  std::vector<float> expected = compute(desc, a, b, c);
  std::vector<uint16_t> narrowA = narrow(a), narrowB = narrow(b);
  bool wide = desc.input_dtype == RG_F32;
  const void *dataA = wide ? static_cast<const void *>(a.data())
                           : static_cast<const void *>(narrowA.data());
  const void *dataB = wide ? static_cast<const void *>(b.data())
                           : static_cast<const void *>(narrowB.data());
  for (bool plain : {false, true}) {
    std::unique_ptr<MatrixProduct> product =
        plain ? createPlainProduct(desc) : createOneDNNProduct(desc);
    if (!product)
      continue;
    std::vector<float> result = c;
    ASSERT_TRUE(product->run(dataA, dataB, result.data()));
    EXPECT_EQ(result, expected) << product->getName();
  }
}
} // namespace

TEST(GemmTest, MultipliesEveryLayout) {
  for (int64_t batch : {1, 3})
    for (int64_t m : {1, 5, 33})
      for (int64_t n : {1, 16, 37})
        for (int64_t k : {1, 4, 65})
          for (unsigned flags = 0; flags != 16; ++flags) {
            rg_gemm_desc desc = makeDesc(batch, m, n, k);
            if (flags & 1)
              transpose(desc.a_strides, m);
            if (flags & 2)
              transpose(desc.b_strides, k);
            desc.accumulate = (flags & 4) != 0;
            desc.input_dtype = flags & 8 ? RG_BF16 : RG_F32;
            SCOPED_TRACE(testing::Message() << batch << ' ' << m << ' ' << n
                                            << ' ' << k << ' ' << flags);
            expectEqual(desc);
          }
}

TEST(GemmTest, RepeatsAMatrixOverTheBatch) {
  rg_gemm_desc desc = makeDesc(4, 6, 10, 8);
  desc.b_batch_strides[0] = 0;
  expectEqual(desc);
}

TEST(GemmTest, InterleavesTheBatch) {
  // Heads: [m, batch, k] times [k, batch, n] into [m, batch, n].
  rg_gemm_desc desc = makeDesc(4, 6, 10, 8);
  desc.a_strides[0] = 4 * 8;
  desc.a_batch_strides[0] = 8;
  desc.b_strides[0] = 4 * 10;
  desc.b_batch_strides[0] = 10;
  desc.c_strides[0] = 4 * 10;
  desc.c_batch_strides[0] = 10;
  expectEqual(desc);
}

TEST(GemmTest, ClearsTheResultOfAnEmptySum) {
  rg_gemm_desc desc = makeDesc(1, 2, 3, 0);
  rg_gemm *gemm = nullptr;
  ASSERT_EQ(rg_gemm_create(&desc, &gemm), RG_OK);
  std::vector<float> c(6, 1.0f);
  EXPECT_EQ(rg_gemm_run(gemm, nullptr, nullptr, c.data()), RG_OK);
  EXPECT_EQ(c, std::vector<float>(6, 0.0f));
  rg_gemm_destroy(gemm);
}

TEST(GemmTest, GivesTheSameBitsOnEveryThread) {
  rg_gemm_desc desc = makeDesc(1, 64, 48, 1000);
  rg_gemm *gemm = nullptr;
  ASSERT_EQ(rg_gemm_create(&desc, &gemm), RG_OK);
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> a(64 * 1000), b(1000 * 48);
  for (float &value : a)
    value = uniform(random);
  for (float &value : b)
    value = uniform(random);
  std::vector<std::vector<float>> results(4, std::vector<float>(64 * 48));
  std::vector<std::thread> threads;
  for (std::vector<float> &result : results)
    threads.emplace_back([&] {
      for (int i = 0; i != 8; ++i)
        EXPECT_EQ(rg_gemm_run(gemm, a.data(), b.data(), result.data()), RG_OK);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::vector<float> &result : results)
    EXPECT_EQ(result, results.front());
  rg_gemm_destroy(gemm);
}

TEST(GemmTest, RejectsWrongDescriptions) {
  rg_gemm *gemm = nullptr;
  rg_gemm_desc desc = makeDesc(1, 2, 3, 4);
  EXPECT_EQ(rg_gemm_create(nullptr, &gemm), RG_ERROR_ARGUMENT);
  EXPECT_EQ(rg_gemm_create(&desc, nullptr), RG_ERROR_ARGUMENT);
  desc.m = -1;
  EXPECT_EQ(rg_gemm_create(&desc, &gemm), RG_ERROR_ARGUMENT);
  desc = makeDesc(1, 2, 3, 4);
  desc.input_dtype = RG_I32;
  EXPECT_EQ(rg_gemm_create(&desc, &gemm), RG_ERROR_ARGUMENT);
  desc = makeDesc(1, 2, 3, 4);
  desc.batch_rank = RG_GEMM_MAX_BATCH + 1;
  EXPECT_EQ(rg_gemm_create(&desc, &gemm), RG_ERROR_ARGUMENT);
  EXPECT_EQ(gemm, nullptr);
  EXPECT_EQ(rg_gemm_run(nullptr, nullptr, nullptr, nullptr), RG_ERROR_ARGUMENT);
  rg_gemm_destroy(nullptr);
}
