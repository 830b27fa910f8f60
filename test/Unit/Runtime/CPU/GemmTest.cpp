//===- GemmTest.cpp - GEMMs of the runtime --------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Blocks/BlockKernels.h"
#include "regather/Support/Half.h"

#include "regather/Runtime/Gemm.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <limits>
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

uint16_t narrow(int32_t type, float value) {
  return type == RG_F16 ? toF16(value) : toBF16(value);
}

float widen(int32_t type, uint16_t bits) {
  return type == RG_F16 ? fromF16(bits) : fromBF16(bits);
}

/// [batch, m, k] times [batch, k, n], all contiguous.
rg_gemm_desc makeDesc(int64_t batch, int64_t m, int64_t n, int64_t k) {
  rg_gemm_desc desc = {};
  desc.m = m;
  desc.n = n;
  desc.k = k;
  desc.alpha = 1;
  desc.batch_rank = 1;
  desc.batch_sizes[0] = batch;
  desc.a = {0, RG_F32, 0, {k, 1}, {m * k}};
  desc.b = {1, RG_F32, 0, {n, 1}, {k * n}};
  desc.c = {2, RG_F32, 0, {n, 1}, {m * n}};
  return desc;
}

void transpose(rg_gemm_operand &operand, int64_t rows) {
  operand.strides[0] = 1;
  operand.strides[1] = rows;
}

void addTensor(rg_gemm_desc &desc, const rg_gemm_operand &addend) {
  desc.addends[desc.addend_count++] = addend;
}

/// Runs all tasks, the last first.
void runTasks(const rg_gemm *gemm, void *const *buffers) {
  std::vector<double> scratch(rg_gemm_scratch(gemm) / sizeof(double) + 16);
  auto address = reinterpret_cast<uintptr_t>(scratch.data());
  auto *aligned = reinterpret_cast<void *>((address + 63) / 64 * 64);
  for (int64_t task = rg_gemm_tasks(gemm); task-- > 0;)
    EXPECT_EQ(rg_gemm_run_task(gemm, buffers, task, aligned), RG_OK);
}

/// A GEMM with its numbers. Buffers: A, B, C, then those of addends.
struct Case {
  rg_gemm_desc desc;
  std::vector<std::vector<float>> values;

  explicit Case(const rg_gemm_desc &desc) : desc(desc) {
    int64_t batch = desc.batch_sizes[0];
    values = {makeIntegers(batch * desc.m * desc.k, 1),
              makeIntegers(batch * desc.k * desc.n, 2),
              makeIntegers(batch * desc.m * desc.n, 3)};
    for (int32_t i = 0; i != desc.addend_count; ++i)
      values.push_back(makeIntegers(batch * desc.m * desc.n, 4 + i));
  }

  float read(const rg_gemm_operand &operand, int64_t p, int64_t i,
             int64_t j) const {
    return values[operand.buffer]
                 [operand.offset + p * operand.batch_strides[0] +
                  i * operand.strides[0] + j * operand.strides[1]];
  }

  /// C by the definition.
  std::vector<float> compute() const {
    std::vector<float> c = values[2];
    for (int64_t p = 0; p != desc.batch_sizes[0]; ++p)
      for (int64_t i = 0; i != desc.m; ++i)
        for (int64_t j = 0; j != desc.n; ++j) {
          float sum = 0;
          for (int64_t l = 0; l != desc.k; ++l)
            sum += read(desc.a, p, i, l) * read(desc.b, p, l, j);
          sum *= desc.alpha;
          for (int32_t d = 0; d != desc.addend_count; ++d)
            sum += read(desc.addends[d], p, i, j);
          if (desc.relu && sum < 0)
            sum = 0;
          c[desc.c.offset + p * desc.c.batch_strides[0] +
            i * desc.c.strides[0] + j * desc.c.strides[1]] = sum;
        }
    return c;
  }

  /// C by the runtime. Buffers of 16 bits are narrowed and widened.
  std::vector<float> run() const {
    std::vector<std::vector<uint16_t>> narrowed(values.size());
    std::vector<std::vector<float>> wide = values;
    std::vector<void *> buffers;
    for (std::vector<float> &value : wide)
      buffers.push_back(value.data());
    std::vector<rg_gemm_operand> operands = {desc.a, desc.b, desc.c,
                                             desc.addends[0], desc.addends[1]};
    operands.resize(3 + desc.addend_count);
    for (const rg_gemm_operand &operand : operands)
      if (operand.dtype != RG_F32) {
        std::vector<uint16_t> &buffer = narrowed[operand.buffer];
        buffer.clear();
        for (float value : values[operand.buffer])
          buffer.push_back(narrow(operand.dtype, value));
        buffers[operand.buffer] = buffer.data();
      }
    rg_gemm *gemm = nullptr;
    EXPECT_EQ(rg_gemm_create(&desc, &gemm), RG_OK);
    runTasks(gemm, buffers.data());
    rg_gemm_destroy(gemm);
    if (desc.c.dtype != RG_F32)
      for (size_t i = 0; i != wide[2].size(); ++i)
        wide[2][i] = widen(desc.c.dtype, narrowed[2][i]);
    return wide[2];
  }
};

void expectEqual(const rg_gemm_desc &desc) {
  Case example(desc);
  EXPECT_EQ(example.run(), example.compute());
}
} // namespace

TEST(GemmTest, MultipliesEveryLayout) {
  for (int64_t batch : {1, 3})
    for (int64_t m : {1, 5, 33})
      for (int64_t n : {1, 16, 37})
        for (int64_t k : {1, 4, 65})
          for (unsigned flags = 0; flags != 24; ++flags) {
            rg_gemm_desc desc = makeDesc(batch, m, n, k);
            if (flags & 1)
              transpose(desc.a, m);
            if (flags & 2)
              transpose(desc.b, k);
            if (flags & 4)
              transpose(desc.c, m);
            const rg_dtype types[] = {RG_F32, RG_BF16, RG_F16};
            desc.a.dtype = desc.b.dtype = types[flags / 8];
            SCOPED_TRACE(testing::Message() << batch << ' ' << m << ' ' << n
                                            << ' ' << k << ' ' << flags);
            expectEqual(desc);
          }
}

TEST(GemmTest, TilesLargeGemms) {
  // Several tiles in both directions, and several blocks of k.
  for (rg_dtype type : {RG_F32, RG_BF16, RG_F16}) {
    rg_gemm_desc desc = makeDesc(1, 520, 530, 1030);
    desc.a.dtype = desc.b.dtype = type;
    rg_gemm *gemm = nullptr;
    ASSERT_EQ(rg_gemm_create(&desc, &gemm), RG_OK);
    EXPECT_GT(rg_gemm_tasks(gemm), 2);
    rg_gemm_destroy(gemm);
    expectEqual(desc);
  }
}

TEST(GemmTest, JoinsSmallMatricesToTasks) {
  rg_gemm_desc desc = makeDesc(100, 8, 8, 8);
  rg_gemm *gemm = nullptr;
  ASSERT_EQ(rg_gemm_create(&desc, &gemm), RG_OK);
  EXPECT_EQ(rg_gemm_tasks(gemm), 1);
  rg_gemm_destroy(gemm);
  expectEqual(desc);
}

TEST(GemmTest, AddsAndConverts) {
  for (rg_dtype type : {RG_F32, RG_BF16, RG_F16})
    for (int64_t k : {40, 300}) {
      rg_gemm_desc desc = makeDesc(2, 20, 50, k);
      desc.alpha = 0.5f;
      // A bias for each column, and a transposed matrix for each element of
      // the batch.
      addTensor(desc, {3, type, 7, {0, 1}, {0}});
      addTensor(desc, {4, RG_F32, 0, {1, 20}, {20 * 50}});
      desc.relu = 1;
      desc.c.dtype = type;
      Case example(desc);
      std::vector<float> expected = example.compute();
      if (type != RG_F32)
        for (float &value : expected)
          value = widen(type, narrow(type, value));
      EXPECT_EQ(example.run(), expected);
    }
}

TEST(GemmTest, AddsToWhatIsThere) {
  rg_gemm_desc desc = makeDesc(1, 30, 40, 600);
  addTensor(desc, desc.c);
  desc.addends[0].buffer = 2;
  Case example(desc);
  example.values.pop_back();
  EXPECT_EQ(example.run(), example.compute());
}

TEST(GemmTest, KeepsNaNAndDropsNegativeZero) {
  rg_gemm_desc desc = makeDesc(1, 1, 3, 1);
  desc.relu = 1;
  rg_gemm *gemm = nullptr;
  ASSERT_EQ(rg_gemm_create(&desc, &gemm), RG_OK);
  float a = 1, b[] = {std::numeric_limits<float>::quiet_NaN(), -0.0f, -1}, c[3];
  void *buffers[] = {&a, b, c};
  ASSERT_EQ(rg_gemm_run(gemm, buffers), RG_OK);
  EXPECT_TRUE(std::isnan(c[0]));
  EXPECT_FALSE(std::signbit(c[1]));
  EXPECT_EQ(c[2], 0);
  rg_gemm_destroy(gemm);
}

// Each f16 through a GEMM with one, as the left and as the right factor.
TEST(GemmTest, WidensEveryF16) {
  constexpr int64_t count = 1 << 16;
  std::vector<uint16_t> a(count), one = {toF16(1.0f)};
  for (int64_t i = 0; i != count; ++i)
    a[i] = static_cast<uint16_t>(i);
  for (bool transposed : {false, true}) {
    rg_gemm_desc desc =
        makeDesc(1, transposed ? 1 : count, transposed ? count : 1, 1);
    desc.a.dtype = desc.b.dtype = RG_F16;
    std::vector<float> c(count);
    void *buffers[] = {a.data(), one.data(), c.data()};
    if (transposed)
      std::swap(buffers[0], buffers[1]);
    rg_gemm *gemm = nullptr;
    ASSERT_EQ(rg_gemm_create(&desc, &gemm), RG_OK);
    ASSERT_EQ(rg_gemm_run(gemm, buffers), RG_OK);
    rg_gemm_destroy(gemm);
    for (int64_t i = 0; i != count; ++i) {
      float expected = fromF16(a[i]);
      ASSERT_TRUE(c[i] == expected ||
                  (std::isnan(c[i]) && std::isnan(expected)))
          << i << ": " << c[i] << " against " << expected;
    }
  }
}

TEST(GemmTest, RepeatsAMatrixOverTheBatch) {
  rg_gemm_desc desc = makeDesc(4, 6, 10, 8);
  desc.b.batch_strides[0] = 0;
  expectEqual(desc);
}

TEST(GemmTest, InterleavesTheBatch) {
  // Heads: [m, batch, k] times [k, batch, n] into [m, batch, n].
  rg_gemm_desc desc = makeDesc(4, 6, 10, 8);
  desc.a = {0, RG_F32, 0, {4 * 8, 1}, {8}};
  desc.b = {1, RG_F32, 0, {4 * 10, 1}, {10}};
  desc.c = {2, RG_F32, 0, {4 * 10, 1}, {10}};
  expectEqual(desc);
}

TEST(GemmTest, ClearsTheResultOfAnEmptySum) {
  for (rg_dtype type : {RG_F32, RG_BF16, RG_F16}) {
    rg_gemm_desc desc = makeDesc(1, 2, 3, 0);
    desc.a.dtype = desc.b.dtype = type;
    expectEqual(desc);
  }
}

TEST(GemmTest, DoesNothingWithoutRows) {
  rg_gemm_desc desc = makeDesc(1, 0, 3, 4);
  rg_gemm *gemm = nullptr;
  ASSERT_EQ(rg_gemm_create(&desc, &gemm), RG_OK);
  EXPECT_EQ(rg_gemm_tasks(gemm), 0);
  EXPECT_EQ(rg_gemm_run(gemm, nullptr), RG_OK);
  rg_gemm_destroy(gemm);
}

namespace {
std::vector<float> makeNumbers(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  for (float &value : values)
    value = uniform(random);
  return values;
}

/// C for given A and B, with A and B stored transposed or not.
std::vector<float> runLayout(bool left, bool right, rg_dtype type,
                             std::vector<float> a, std::vector<float> b) {
  constexpr int64_t m = 70, n = 90, k = 2100;
  rg_gemm_desc desc = makeDesc(1, m, n, k);
  auto store = [&](rg_gemm_operand &operand, std::vector<float> &values,
                   bool transposed, int64_t rows, int64_t columns) {
    operand.dtype = type;
    if (!transposed)
      return;
    std::vector<float> moved(values.size());
    for (int64_t i = 0; i != rows; ++i)
      for (int64_t j = 0; j != columns; ++j)
        moved[j * rows + i] = values[i * columns + j];
    values = moved;
    transpose(operand, rows);
  };
  store(desc.a, a, left, m, k);
  store(desc.b, b, right, k, n);
  Case example(desc);
  example.values[0] = std::move(a);
  example.values[1] = std::move(b);
  return example.run();
}
} // namespace

TEST(GemmTest, GivesTheSameBitsForEveryLayout) {
  for (rg_dtype type : {RG_F32, RG_BF16, RG_F16}) {
    std::vector<float> a = makeNumbers(70 * 2100, 1);
    std::vector<float> b = makeNumbers(2100 * 90, 2);
    std::vector<float> expected = runLayout(false, false, type, a, b);
    for (bool left : {false, true})
      for (bool right : {false, true})
        EXPECT_EQ(runLayout(left, right, type, a, b), expected);
  }
}

// Products of one row or one column do not pack the other matrix; they have the
// bits of larger ones, whatever the layout.
TEST(GemmTest, ARowHasTheBitsOfAMatrix) {
  const int64_t m = 20, n = 150, k = 603;
  std::vector<float> a = makeNumbers(m * k, 1), b = makeNumbers(k * n, 2);
  auto multiply = [&](int64_t rows, int64_t columns, bool turnsB) {
    rg_gemm_desc desc = makeDesc(1, rows, columns, k);
    desc.b.strides[0] = turnsB ? 1 : n;
    desc.b.strides[1] = turnsB ? k : 1;
    std::vector<float> c(rows * columns);
    void *buffers[] = {a.data(), b.data(), c.data()};
    rg_gemm *gemm = nullptr;
    EXPECT_EQ(rg_gemm_create(&desc, &gemm), RG_OK);
    EXPECT_EQ(rg_gemm_run(gemm, buffers), RG_OK);
    rg_gemm_destroy(gemm);
    return c;
  };
  for (bool turnsB : {false, true}) {
    std::vector<float> whole = multiply(m, n, turnsB);
    std::vector<float> row = multiply(1, n, turnsB);
    EXPECT_TRUE(std::equal(row.begin(), row.end(), whole.begin()));
    std::vector<float> column = multiply(m, 1, turnsB);
    for (int64_t i = 0; i != m; ++i)
      EXPECT_EQ(column[i], whole[i * n]);
  }
}

// What sums in f32 promise holds for pairs of bf16, too: rows and columns may
// be taken from a larger product.
TEST(GemmTest, BitsOfPairsDependOnTheDepthAlone) {
  if (!hasPairsOfBF16())
    GTEST_SKIP() << "no instructions for pairs of bf16";
  const int64_t m = 40, n = 90, k = 1301;
  auto makeHalves = [](size_t count, unsigned seed) {
    std::vector<uint16_t> halves;
    for (float value : makeNumbers(count, seed))
      halves.push_back(toBF16(value));
    return halves;
  };
  std::vector<uint16_t> a = makeHalves(m * k, 1), b = makeHalves(k * n, 2);
  auto multiply = [&](int64_t rows, int64_t columns, bool turnsB) {
    rg_gemm_desc desc = makeDesc(1, rows, columns, k);
    desc.a.dtype = desc.b.dtype = RG_BF16;
    desc.b.strides[0] = turnsB ? 1 : n;
    desc.b.strides[1] = turnsB ? k : 1;
    std::vector<float> c(rows * columns);
    void *buffers[] = {a.data(), b.data(), c.data()};
    rg_gemm *gemm = nullptr;
    EXPECT_EQ(rg_gemm_create(&desc, &gemm), RG_OK);
    EXPECT_EQ(rg_gemm_run(gemm, buffers), RG_OK);
    rg_gemm_destroy(gemm);
    return c;
  };
  for (bool turnsB : {false, true}) {
    std::vector<float> whole = multiply(m, n, turnsB);
    // One row and one column are not packed.
    for (int64_t rows : {1, 3})
      for (int64_t columns : {1, 5, 50}) {
        std::vector<float> part = multiply(rows, columns, turnsB);
        for (int64_t i = 0; i != rows; ++i)
          for (int64_t j = 0; j != columns; ++j)
            EXPECT_EQ(part[i * columns + j], whole[i * n + j]);
      }
  }
}

namespace {
/// Adds the results of separate GEMMs of one segment each as a tree.
std::vector<float> addSegments(const std::vector<std::vector<float>> &sums,
                               size_t first, size_t count) {
  if (count == 1)
    return sums[first];
  std::vector<float> low = addSegments(sums, first, count / 2);
  std::vector<float> high =
      addSegments(sums, first + count / 2, count - count / 2);
  for (size_t i = 0; i != low.size(); ++i)
    low[i] += high[i];
  return low;
}

/// What `desc` says, of separate GEMMs.
std::vector<float> computeBySegments(const rg_gemm_desc &desc,
                                     const Case &whole) {
  rg_gemm_desc part = desc;
  part.k /= desc.segments;
  part.segments = 0;
  part.segment_dtype = RG_F32;
  part.c.dtype = desc.segment_dtype;
  part.alpha = 1;
  part.addend_count = part.relu = 0;
  std::vector<std::vector<float>> sums;
  for (int64_t i = 0; i != desc.segments; ++i) {
    Case segment(part);
    segment.values = whole.values;
    segment.desc.a.offset += i * part.k * part.a.strides[1];
    segment.desc.b.offset += i * part.k * part.b.strides[0];
    sums.push_back(segment.run());
  }
  std::vector<float> c = addSegments(sums, 0, sums.size());
  for (size_t i = 0; i != c.size(); ++i) {
    c[i] *= desc.alpha;
    for (int32_t d = 0; d != desc.addend_count; ++d)
      c[i] += whole.values[desc.addends[d].buffer][i];
    if (desc.relu && c[i] < 0)
      c[i] = 0;
    if (desc.c.dtype != RG_F32)
      c[i] = widen(desc.c.dtype, narrow(desc.c.dtype, c[i]));
  }
  return c;
}

void expectSegmentsEqual(rg_gemm_desc desc) {
  Case whole(desc);
  for (size_t i = 0; i != whole.values.size(); ++i)
    whole.values[i] =
        makeNumbers(whole.values[i].size(), 11 + static_cast<unsigned>(i));
  EXPECT_EQ(whole.run(), computeBySegments(desc, whole));
  // Integers are exact in any order; these numbers are not.
  if (desc.segments > 2 && desc.k > 100 && desc.m * desc.n > 1000) {
    whole.desc.segments = 1;
    whole.desc.segment_dtype = RG_F32;
    EXPECT_NE(whole.run(), computeBySegments(desc, whole));
  }
}
} // namespace

TEST(GemmTest, SegmentsHaveTheBitsOfSeparateGemms) {
  for (rg_dtype type : {RG_F32, RG_BF16, RG_F16})
    for (int64_t segments : {2, 3, 6, 8})
      for (int64_t length : {1, 7, 260, 1030})
        for (unsigned flags = 0; flags != 8; ++flags) {
          int64_t m = flags & 1 ? 1 : 37, n = flags & 2 ? 1 : 50;
          int64_t k = segments * length;
          rg_gemm_desc desc = makeDesc(length == 7 ? 2 : 1, m, n, k);
          desc.segments = segments;
          desc.a.dtype = desc.b.dtype = type;
          if (flags & 4)
            desc.segment_dtype = type;
          // The gradient of a weight: rows of both operands are summed up.
          transpose(desc.a, m);
          if (segments == 3)
            transpose(desc.b, k);
          if (segments == 6)
            transpose(desc.c, m);
          SCOPED_TRACE(testing::Message() << type << ' ' << segments << ' '
                                          << length << ' ' << flags);
          expectSegmentsEqual(desc);
        }
}

TEST(GemmTest, SegmentsOfLargeGemmsAreTiled) {
  for (rg_dtype type : {RG_F32, RG_BF16}) {
    rg_gemm_desc desc = makeDesc(1, 530, 540, 4 * 300);
    desc.segments = 4;
    desc.segment_dtype = type;
    desc.a.dtype = desc.b.dtype = type;
    transpose(desc.a, 530);
    rg_gemm *gemm = nullptr;
    ASSERT_EQ(rg_gemm_create(&desc, &gemm), RG_OK);
    EXPECT_GT(rg_gemm_tasks(gemm), 2);
    rg_gemm_destroy(gemm);
    expectSegmentsEqual(desc);
  }
}

TEST(GemmTest, AddsBehindTheTreeOfSegments) {
  for (rg_dtype type : {RG_F32, RG_BF16, RG_F16}) {
    rg_gemm_desc desc = makeDesc(1, 20, 50, 5 * 40);
    desc.segments = 5;
    desc.alpha = 0.5f;
    addTensor(desc, {3, RG_F32, 0, {50, 1}, {0}});
    desc.relu = 1;
    desc.c.dtype = type;
    expectSegmentsEqual(desc);
  }
}

TEST(GemmTest, RefusesSegmentsThatAreNotEqual) {
  auto create = [](int64_t k, int64_t segments, int32_t dtype) {
    rg_gemm_desc desc = makeDesc(1, 2, 3, k);
    desc.segments = segments;
    desc.segment_dtype = dtype;
    rg_gemm *gemm = nullptr;
    rg_status status = rg_gemm_create(&desc, &gemm);
    rg_gemm_destroy(gemm);
    return status;
  };
  EXPECT_EQ(create(12, 4, RG_BF16), RG_OK);
  EXPECT_EQ(create(12, 5, RG_F32), RG_ERROR_ARGUMENT);
  EXPECT_EQ(create(12, -1, RG_F32), RG_ERROR_ARGUMENT);
  EXPECT_EQ(create(12, 4, RG_F64), RG_ERROR_ARGUMENT);
  EXPECT_EQ(create(12, 1, RG_BF16), RG_ERROR_ARGUMENT);
  EXPECT_EQ(create(int64_t(1) << 40, int64_t(1) << 40, RG_F32),
            RG_ERROR_ARGUMENT);
}

TEST(GemmTest, GivesTheSameBitsOnEveryThread) {
  rg_gemm_desc desc = makeDesc(1, 64, 48, 1000);
  rg_gemm *gemm = nullptr;
  ASSERT_EQ(rg_gemm_create(&desc, &gemm), RG_OK);
  std::vector<float> a = makeNumbers(64 * 1000, 1);
  std::vector<float> b = makeNumbers(1000 * 48, 2);
  std::vector<std::vector<float>> results(4, std::vector<float>(64 * 48));
  std::vector<std::thread> threads;
  for (std::vector<float> &result : results)
    threads.emplace_back([&] {
      void *buffers[] = {a.data(), b.data(), result.data()};
      for (int i = 0; i != 8; ++i)
        EXPECT_EQ(rg_gemm_run(gemm, buffers), RG_OK);
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
  desc.a.dtype = RG_I32;
  EXPECT_EQ(rg_gemm_create(&desc, &gemm), RG_ERROR_ARGUMENT);
  desc = makeDesc(1, 2, 3, 4);
  desc.a.dtype = RG_BF16;
  EXPECT_EQ(rg_gemm_create(&desc, &gemm), RG_ERROR_ARGUMENT);
  desc = makeDesc(1, 2, 3, 4);
  desc.batch_rank = RG_GEMM_MAX_BATCH + 1;
  EXPECT_EQ(rg_gemm_create(&desc, &gemm), RG_ERROR_ARGUMENT);
  desc = makeDesc(1, 2, 3, 4);
  desc.addend_count = RG_GEMM_MAX_ADDENDS + 1;
  EXPECT_EQ(rg_gemm_create(&desc, &gemm), RG_ERROR_ARGUMENT);
  EXPECT_EQ(gemm, nullptr);
  EXPECT_EQ(rg_gemm_run(nullptr, nullptr), RG_ERROR_ARGUMENT);
  desc = makeDesc(1, 2, 3, 4);
  ASSERT_EQ(rg_gemm_create(&desc, &gemm), RG_OK);
  EXPECT_EQ(rg_gemm_run_task(gemm, nullptr, 1, nullptr), RG_ERROR_ARGUMENT);
  rg_gemm_destroy(gemm);
  rg_gemm_destroy(nullptr);
}

// Every set of block kernels that this machine has gives the bits of the plain
// one.
TEST(BlockKernelsTest, AgreeOnEveryBit) {
  constexpr int64_t depth = 37, rows = 3, columns = 16;
  std::vector<float> a = makeNumbers(rows * depth, 1);
  std::vector<float> b = makeNumbers(depth * columns, 2);
  auto run = [&](const BlockKernels &kernels) {
    std::vector<float> left(kernels.rows * depth),
        right(kernels.columns * depth);
    std::vector<float> tile(rows * kernels.columns, 1.0f), result;
    kernels.pack({a.data(), false, rows, depth, depth, 1}, kernels.rows,
                 left.data());
    kernels.pack({b.data(), false, columns, 1, depth, columns}, kernels.columns,
                 right.data());
    kernels.multiply(left.data(), right.data(), depth, rows, columns,
                     tile.data(), tile.data(), kernels.columns);
    for (int64_t i = 0; i != rows; ++i)
      for (int64_t j = 0; j != columns; ++j)
        result.push_back(tile[i * kernels.columns + j]);
    return result;
  };
  std::vector<float> expected = run(*getPlainKernels());
  for (const BlockKernels *kernels : {getAVX2Kernels(), getAVX512Kernels()})
    if (kernels) {
      EXPECT_EQ(run(*kernels), expected) << kernels->name;
    }
}
