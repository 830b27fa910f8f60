//===- AttentionTest.cpp - Attention of the runtime -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Runtime/Attention.h"
#include "CPU/Blocks/BlockKernels.h"
#include "regather/Support/Half.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <random>
#include <thread>
#include <vector>

using namespace regather::runtime;

namespace {
enum Buffer {
  Q,
  K,
  V,
  O,
  L,
  GradO,
  GradQ,
  GradK,
  GradV,
  Mask,
  GradMask,
  NumBuffers
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Attention on random numbers, by the runtime and by the definition.
struct Example {
  rg_attention_desc desc = {};
  std::vector<std::vector<float>> values{NumBuffers};
  std::vector<std::vector<double>> expected{NumBuffers};

  Example(int64_t batch, int64_t heads, int64_t groups, int64_t rows,
          int64_t columns, int64_t width, int64_t valueWidth) {
    desc.batch = batch;
    desc.heads = heads;
    desc.groups = groups;
    desc.rows = rows;
    desc.columns = columns;
    desc.width = width;
    desc.value_width = valueWidth;
    desc.scale = static_cast<float>(1 / std::sqrt(double(width)));
    int64_t keyHeads = heads / groups;
    describe(desc.q, Q, heads, rows, width);
    describe(desc.k, K, keyHeads, columns, width);
    describe(desc.v, V, keyHeads, columns, valueWidth);
    describe(desc.o, O, heads, rows, valueWidth);
    describe(desc.l, L, heads, rows, 1);
    describe(desc.grad_o, GradO, heads, rows, valueWidth);
    describe(desc.grad_q, GradQ, heads, rows, width);
    describe(desc.grad_k, GradK, keyHeads, columns, width);
    describe(desc.grad_v, GradV, keyHeads, columns, valueWidth);
    describe(desc.mask, Mask, heads, rows, columns);
    describe(desc.grad_mask, GradMask, heads, rows, columns);
    // Of all elements of the batch together.
    desc.grad_mask.strides[0] = 0;
    values[GradMask].resize(heads * rows * columns);
  }

  /// [batch, heads, rows, elements], dense, of random numbers.
  void describe(rg_attention_operand &operand, int32_t buffer, int64_t heads,
                int64_t rows, int64_t elements) {
    operand = {buffer,
               RG_F32,
               0,
               {heads * rows * elements, rows * elements, elements, 1}};
    std::mt19937 random(buffer);
    std::normal_distribution<float> normal;
    values[buffer].resize(desc.batch * heads * rows * elements);
    for (float &value : values[buffer])
      value = normal(random);
  }

  /// Stores an operand as [batch, rows, heads, elements].
  void interleave(rg_attention_operand &operand, int64_t heads, int64_t rows,
                  int64_t elements) {
    std::vector<float> moved(values[operand.buffer].size());
    rg_attention_operand old = operand;
    operand.strides[1] = elements;
    operand.strides[2] = heads * elements;
    for (int64_t b = 0; b != desc.batch; ++b)
      for (int64_t h = 0; h != heads; ++h)
        for (int64_t i = 0; i != rows; ++i)
          for (int64_t e = 0; e != elements; ++e)
            moved[getPosition(operand, b, h, i, e)] =
                values[old.buffer][getPosition(old, b, h, i, e)];
    values[operand.buffer] = moved;
  }

  static int64_t getPosition(const rg_attention_operand &operand, int64_t b,
                             int64_t h, int64_t i, int64_t e) {
    return operand.offset + b * operand.strides[0] + h * operand.strides[1] +
           i * operand.strides[2] + e * operand.strides[3];
  }
  double read(const rg_attention_operand &operand, int64_t b, int64_t h,
              int64_t i, int64_t e) const {
    return values[operand.buffer][getPosition(operand, b, h, i, e)];
  }
  double &expect(const rg_attention_operand &operand, int64_t b, int64_t h,
                 int64_t i, int64_t e) {
    return expected[operand.buffer][getPosition(operand, b, h, i, e)];
  }

  void computeRow(int64_t b, int64_t h, int64_t i);
  void compute() {
    for (int32_t buffer = 0; buffer != NumBuffers; ++buffer)
      expected[buffer].assign(values[buffer].size(), 0.0);
    for (int64_t b = 0; b != desc.batch; ++b)
      for (int64_t h = 0; h != desc.heads; ++h)
        for (int64_t i = 0; i != desc.rows; ++i)
          computeRow(b, h, i);
  }

  std::vector<void *> getBuffers() {
    std::vector<void *> buffers;
    for (std::vector<float> &value : values)
      buffers.push_back(value.data());
    return buffers;
  }

  void run() {
    for (int32_t backward : {0, 1}) {
      desc.backward = backward;
      rg_attention_desc used = desc;
      used.mask_gradient = backward && desc.mask_gradient;
      rg_attention *attention = nullptr;
      ASSERT_EQ(rg_attention_create(&used, &attention), RG_OK);
      ASSERT_EQ(rg_attention_run(attention, getBuffers().data()), RG_OK);
      rg_attention_destroy(attention);
    }
  }

  /// Within so much of the largest number of each tensor.
  void expectNear(double tolerance = 2e-6) {
    compute();
    run();
    for (int32_t buffer : {O, L, GradQ, GradK, GradV, GradMask}) {
      if (buffer == GradMask && !desc.mask_gradient)
        continue;
      // Numbers that cancel are as exact as what they are sums of.
      double largest = 1;
      for (double value : expected[buffer])
        if (std::isfinite(value))
          largest = std::max(largest, std::abs(value));
      for (size_t i = 0; i != expected[buffer].size(); ++i) {
        if (std::isinf(expected[buffer][i]))
          ASSERT_EQ(values[buffer][i], expected[buffer][i]) << buffer;
        else
          ASSERT_NEAR(values[buffer][i], expected[buffer][i],
                      tolerance * largest)
              << "element " << i << " of buffer " << buffer;
      }
    }
  }
};
} // namespace

/// One row of everything, in doubles.
void Example::computeRow(int64_t b, int64_t h, int64_t i) {
  int64_t g = h / desc.groups;
  std::vector<double> powers(desc.columns), slopes(desc.columns, 1);
  std::vector<double> output(desc.value_width);
  double max = -kInfinity, sum = 0, along = 0;
  for (int64_t j = 0; j != desc.columns; ++j) {
    double score = 0;
    for (int64_t e = 0; e != desc.width; ++e)
      score += read(desc.q, b, h, i, e) * read(desc.k, b, g, j, e);
    score *= desc.scale;
    if (desc.softcap != 0) {
      double t = std::tanh(score / desc.softcap);
      score = desc.softcap * t;
      slopes[j] = 1 - t * t;
    }
    if (desc.masked)
      score += read(desc.mask, b, h, i, j);
    powers[j] = desc.causal && j > i ? -kInfinity : score;
    max = std::max(max, powers[j]);
  }
  for (double &power : powers)
    sum += power = max == -kInfinity ? 0 : std::exp(power - max);
  for (int64_t j = 0; j != desc.columns; ++j) {
    powers[j] = sum == 0 ? 0 : powers[j] / sum;
    for (int64_t e = 0; e != desc.value_width; ++e)
      output[e] += powers[j] * read(desc.v, b, g, j, e);
  }
  for (int64_t e = 0; e != desc.value_width; ++e) {
    expect(desc.o, b, h, i, e) = output[e];
    along += output[e] * read(desc.grad_o, b, h, i, e);
  }
  expect(desc.l, b, h, i, 0) = max + std::log(sum);
  for (int64_t j = 0; j != desc.columns; ++j) {
    double gradPower = 0;
    for (int64_t e = 0; e != desc.value_width; ++e) {
      gradPower += read(desc.grad_o, b, h, i, e) * read(desc.v, b, g, j, e);
      expect(desc.grad_v, b, g, j, e) +=
          powers[j] * read(desc.grad_o, b, h, i, e);
    }
    double gradScore = powers[j] * (gradPower - along);
    expect(desc.grad_mask, b, h, i, j) += gradScore;
    gradScore *= desc.scale * slopes[j];
    for (int64_t e = 0; e != desc.width; ++e) {
      expect(desc.grad_q, b, h, i, e) += gradScore * read(desc.k, b, g, j, e);
      expect(desc.grad_k, b, g, j, e) += gradScore * read(desc.q, b, h, i, e);
    }
  }
}

TEST(AttentionTest, EqualsTheDefinition) {
  for (int32_t causal : {0, 1}) {
    Example example(2, 2, 1, 150, 150, 40, 40);
    example.desc.causal = causal;
    example.expectNear();
  }
}

TEST(AttentionTest, TakesRowsAndWidthsOfAnySize) {
  for (int64_t rows : {1, 17, 130})
    for (int64_t columns : {1, 33, 257})
      for (int64_t width : {1, 20, 64}) {
        SCOPED_TRACE(testing::Message()
                     << rows << ' ' << columns << ' ' << width);
        Example example(1, 1, 1, rows, columns, width, width + 3);
        example.desc.causal = width == 20;
        // Of one column, the gradient of a score is a difference that is zero.
        example.expectNear(1e-5);
      }
}

TEST(AttentionTest, SharesHeadsOfTheKey) {
  Example(1, 6, 3, 70, 90, 16, 16).expectNear();
}

TEST(AttentionTest, ReadsAndWritesHeadsWhereTheyLie) {
  Example example(2, 3, 1, 50, 50, 16, 16);
  for (rg_attention_operand *operand :
       {&example.desc.q, &example.desc.k, &example.desc.v, &example.desc.o,
        &example.desc.grad_o, &example.desc.grad_q, &example.desc.grad_k,
        &example.desc.grad_v})
    example.interleave(*operand, 3, 50, 16);
  example.expectNear();
}

TEST(AttentionTest, AddsMasks) {
  Example example(2, 2, 1, 40, 150, 16, 16);
  example.desc.masked = 1;
  // One for all of the batch and all heads.
  example.desc.mask.strides[0] = example.desc.mask.strides[1] = 0;
  example.expectNear();
}

TEST(AttentionTest, GivesZeroWhereAllIsMasked) {
  Example example(1, 1, 1, 20, 150, 16, 16);
  example.desc.masked = 1;
  auto &mask = example.values[Mask];
  for (size_t i = 0; i != mask.size(); ++i)
    // Row 3 as a whole, and the first block of columns of row 4.
    if (i / 150 == 3 || (i / 150 == 4 && i % 150 < 140))
      mask[i] = -std::numeric_limits<float>::infinity();
  example.expectNear();
  for (int64_t e = 0; e != 16; ++e) {
    EXPECT_EQ(example.values[O][3 * 16 + e], 0);
    EXPECT_EQ(example.values[GradQ][3 * 16 + e], 0);
  }
}

/// The scores are lost beside such a number, and the logarithm of the number of
/// columns is, too: all have the same share, forward and backward.
TEST(AttentionTest, CountsWhatAFiniteNumberHides) {
  for (float hidden : {-3.4e38f, -1e9f}) {
    Example example(1, 2, 1, 140, 150, 16, 16);
    example.desc.masked = 1;
    auto &mask = example.values[Mask];
    for (size_t i = 0; i != mask.size(); ++i)
      // Rows 3 and 130 as a whole.
      mask[i] = i / 150 % 140 == 3 || i / 150 % 140 == 130 ? hidden : 0;
    // In doubles, scores are not lost beside -1e9.
    if (hidden == -1e9f)
      for (size_t i = 0; i != example.values[Q].size(); ++i)
        if (i / 16 % 140 == 3 || i / 16 % 140 == 130)
          example.values[Q][i] = 0;
    example.expectNear();
  }
}

TEST(AttentionTest, ReadsLogicalMasks) {
  Example example(1, 2, 1, 30, 40, 16, 16);
  example.desc.masked = 1;
  std::vector<char> logical(2 * 30 * 40);
  for (size_t i = 0; i != logical.size(); ++i) {
    logical[i] = i % 3 != 0;
    example.values[Mask][i] =
        logical[i] ? 0 : -std::numeric_limits<float>::infinity();
  }
  example.run();
  std::vector<float> expected = example.values[O];
  example.desc.mask.dtype = RG_I1;
  example.desc.backward = 0;
  std::vector<void *> buffers = example.getBuffers();
  buffers[Mask] = logical.data();
  rg_attention *attention = nullptr;
  ASSERT_EQ(rg_attention_create(&example.desc, &attention), RG_OK);
  ASSERT_EQ(rg_attention_run(attention, buffers.data()), RG_OK);
  rg_attention_destroy(attention);
  EXPECT_EQ(example.values[O], expected);
}

TEST(AttentionTest, CapsScores) {
  for (int32_t masked : {0, 1})
    for (float softcap : {0.5f, 2.0f, 50.0f}) {
      Example example(2, 4, 2, 140, 150, 20, 24);
      example.desc.softcap = softcap;
      example.desc.masked = masked;
      example.desc.causal = 1 - masked;
      example.expectNear(4e-6);
    }
}

TEST(AttentionTest, SumsGradientsOfTheMaskOverTheBatch) {
  for (float softcap : {0.0f, 2.0f}) {
    Example example(3, 4, 2, 140, 150, 20, 24);
    example.desc.softcap = softcap;
    example.desc.masked = example.desc.mask_gradient = 1;
    example.desc.causal = 1;
    example.desc.mask.strides[0] = 0;
    example.expectNear(4e-6);
  }
}

TEST(AttentionTest, GivesGradientsOfAMaskForEachElementOfTheBatch) {
  Example example(3, 2, 1, 40, 150, 20, 24);
  example.desc.masked = example.desc.mask_gradient = 1;
  example.describe(example.desc.grad_mask, GradMask, 2, 40, 150);
  example.expectNear();
}

namespace {
/// A window: rows see 90 columns up to their own.
Example makeWindow(float hidden) {
  Example example(1, 2, 1, 600, 600, 16, 16);
  example.desc.masked = 1;
  example.desc.mask.strides[1] = 0;
  auto &mask = example.values[Mask];
  for (int64_t i = 0; i != 600; ++i)
    for (int64_t j = 0; j != 600; ++j)
      if (j > i || j + 90 <= i)
        mask[i * 600 + j] = hidden;
  return example;
}
} // namespace

// -9e29 hides as well as -3.4e38 does, but no blocks are left out for it.
TEST(AttentionTest, LeavesOutHiddenBlocksWithoutChangingBits) {
  Example added = makeWindow(-9e29f);
  added.run();
  for (float hidden : {-3.4e38f, -std::numeric_limits<float>::infinity()}) {
    Example example = makeWindow(hidden);
    example.run();
    example.values[Mask] = added.values[Mask];
    EXPECT_EQ(example.values, added.values);
  }
}

TEST(AttentionTest, ReadsNothingOfHiddenBlocks) {
  Example example(1, 1, 1, 300, 300, 16, 16);
  example.desc.masked = 1;
  auto hide = [&](float *mask) { std::fill(mask + 128, mask + 300, -3.4e38f); };
  for (int64_t i = 0; i != 300; ++i)
    hide(&example.values[Mask][i * 300]);
  for (int32_t buffer : {K, V})
    std::fill(example.values[buffer].begin() + 128 * 16,
              example.values[buffer].end(),
              std::numeric_limits<float>::quiet_NaN());
  example.run();
  for (int32_t buffer : {O, GradQ, GradK, GradV})
    for (float value : example.values[buffer])
      ASSERT_TRUE(std::isfinite(value));
}

// Rows 200 to 260 see nothing, for which all columns have the same share, also
// those of blocks that are hidden from all rows.
TEST(AttentionTest, CountsHiddenBlocksOfRowsThatSeeNothing) {
  Example example(1, 1, 1, 300, 300, 16, 16);
  example.desc.masked = 1;
  auto &mask = example.values[Mask];
  for (int64_t i = 0; i != 300; ++i) {
    bool isBlind = i >= 200 && i < 260;
    std::fill(&mask[i * 300], &mask[i * 300] + (isBlind ? 300 : 140), -3.4e38f);
  }
  example.expectNear();
}

namespace {
/// Forward on numbers of 16 bits.
void expectComputedInF32(rg_dtype type, uint16_t (*toHalf)(float),
                         float (*fromHalf)(uint16_t)) {
  Example example(1, 2, 1, 100, 100, 32, 32);
  std::vector<std::vector<uint16_t>> narrow(NumBuffers);
  for (int32_t buffer : {Q, K, V})
    for (float &value : example.values[buffer]) {
      narrow[buffer].push_back(toHalf(value));
      value = fromHalf(narrow[buffer].back());
    }
  example.run();
  std::vector<float> expected = example.values[O];
  narrow[O].resize(expected.size());
  std::vector<void *> buffers = example.getBuffers();
  for (rg_attention_operand *operand :
       {&example.desc.q, &example.desc.k, &example.desc.v, &example.desc.o}) {
    operand->dtype = type;
    buffers[operand->buffer] = narrow[operand->buffer].data();
  }
  example.desc.backward = 0;
  rg_attention *attention = nullptr;
  ASSERT_EQ(rg_attention_create(&example.desc, &attention), RG_OK);
  ASSERT_EQ(rg_attention_run(attention, buffers.data()), RG_OK);
  rg_attention_destroy(attention);
  for (size_t i = 0; i != expected.size(); ++i)
    ASSERT_EQ(narrow[O][i], toHalf(expected[i]));
}
} // namespace

// Probabilities and gradients of scores may be rounded to bf16 before they are
// multiplied.
TEST(AttentionTest, ComputesBF16) {
  for (int64_t width : {32, 33}) {
    Example example(1, 2, 1, 150, 140, width, 24);
    std::vector<std::vector<uint16_t>> narrow(NumBuffers);
    std::vector<void *> buffers = example.getBuffers();
    rg_attention_desc &desc = example.desc;
    for (rg_attention_operand *operand :
         {&desc.q, &desc.k, &desc.v, &desc.o, &desc.grad_o, &desc.grad_q,
          &desc.grad_k, &desc.grad_v}) {
      for (float &value : example.values[operand->buffer]) {
        narrow[operand->buffer].push_back(toBF16(value));
        value = fromBF16(toBF16(value));
      }
      buffers[operand->buffer] = narrow[operand->buffer].data();
    }
    example.compute();
    for (rg_attention_operand *operand :
         {&desc.q, &desc.k, &desc.v, &desc.o, &desc.grad_o, &desc.grad_q,
          &desc.grad_k, &desc.grad_v})
      operand->dtype = RG_BF16;
    for (int32_t backward : {0, 1}) {
      desc.backward = backward;
      rg_attention *attention = nullptr;
      ASSERT_EQ(rg_attention_create(&desc, &attention), RG_OK);
      ASSERT_EQ(rg_attention_run(attention, buffers.data()), RG_OK);
      rg_attention_destroy(attention);
    }
    for (int32_t buffer : {O, GradQ, GradK, GradV}) {
      double largest = 0;
      for (double value : example.expected[buffer])
        largest = std::max(largest, std::abs(value));
      for (size_t i = 0; i != narrow[buffer].size(); ++i)
        ASSERT_NEAR(fromBF16(narrow[buffer][i]), example.expected[buffer][i],
                    largest / 128)
            << buffer << ' ' << i;
    }
  }
}

TEST(AttentionTest, ComputesF16InF32) {
  expectComputedInF32(RG_F16, toF16, fromF16);
}

namespace {
void expectSameBitsInAnyOrder(Example example, int64_t numTasks) {
  bool isBiased = example.desc.mask_gradient;
  example.run();
  std::vector<std::vector<float>> expected = example.values;
  std::vector<void *> buffers = example.getBuffers();
  for (int32_t backward : {0, 1}) {
    example.desc.backward = backward;
    example.desc.mask_gradient = backward && isBiased;
    rg_attention *attention = nullptr;
    ASSERT_EQ(rg_attention_create(&example.desc, &attention), RG_OK);
    int64_t count = rg_attention_tasks(attention);
    EXPECT_EQ(count, backward ? 2 : numTasks);
    std::vector<std::thread> threads;
    for (int64_t task = 0; task != count; ++task)
      threads.emplace_back([&, task] {
        std::vector<double> memory(rg_attention_scratch(attention) / 8 + 16);
        auto address = reinterpret_cast<uintptr_t>(memory.data());
        rg_attention_run_task(
            attention, buffers.data(), task,
            reinterpret_cast<void *>((address + 63) / 64 * 64));
      });
    for (std::thread &thread : threads)
      thread.join();
    rg_attention_destroy(attention);
  }
  EXPECT_EQ(example.values, expected);
}
} // namespace

TEST(AttentionTest, GivesTheSameBitsInAnyOrderOfTasks) {
  Example example(1, 4, 2, 300, 300, 24, 24);
  example.desc.causal = 1;
  expectSameBitsInAnyOrder(example, 12);
  // The gradient of a mask is a sum over the batch, of which a task has all.
  Example biased(2, 2, 1, 150, 150, 24, 24);
  biased.desc.softcap = 1;
  biased.desc.masked = biased.desc.mask_gradient = 1;
  expectSameBitsInAnyOrder(biased, 8);
}

TEST(AttentionTest, RejectsWrongDescriptions) {
  Example example(1, 4, 2, 3, 3, 4, 4);
  rg_attention *attention = nullptr;
  auto create = [&](void (*change)(rg_attention_desc &)) {
    rg_attention_desc desc = example.desc;
    change(desc);
    return rg_attention_create(&desc, &attention);
  };
  EXPECT_EQ(rg_attention_create(nullptr, &attention), RG_ERROR_ARGUMENT);
  EXPECT_EQ(rg_attention_create(&example.desc, nullptr), RG_ERROR_ARGUMENT);
  EXPECT_EQ(create([](rg_attention_desc &d) { d.groups = 3; }),
            RG_ERROR_ARGUMENT);
  EXPECT_EQ(create([](rg_attention_desc &d) { d.rows = -1; }),
            RG_ERROR_ARGUMENT);
  EXPECT_EQ(create([](rg_attention_desc &d) { d.q.dtype = RG_F64; }),
            RG_ERROR_ARGUMENT);
  EXPECT_EQ(create([](rg_attention_desc &d) {
              d.backward = 1;
              d.l.buffer = -1;
            }),
            RG_ERROR_ARGUMENT);
  for (float softcap : {-1.0f, std::numeric_limits<float>::infinity(),
                        std::numeric_limits<float>::quiet_NaN()}) {
    rg_attention_desc desc = example.desc;
    desc.softcap = softcap;
    EXPECT_EQ(rg_attention_create(&desc, &attention), RG_ERROR_ARGUMENT);
  }
  // Forward, and a mask that is not there.
  EXPECT_EQ(
      create([](rg_attention_desc &d) { d.masked = d.mask_gradient = 1; }),
      RG_ERROR_ARGUMENT);
  EXPECT_EQ(
      create([](rg_attention_desc &d) { d.backward = d.mask_gradient = 1; }),
      RG_ERROR_ARGUMENT);
  EXPECT_EQ(create([](rg_attention_desc &d) {
              d.backward = d.masked = d.mask_gradient = 1;
              d.mask.dtype = RG_I1;
            }),
            RG_ERROR_ARGUMENT);
  EXPECT_EQ(attention, nullptr);
  ASSERT_EQ(rg_attention_create(&example.desc, &attention), RG_OK);
  EXPECT_EQ(rg_attention_run_task(attention, nullptr, 4, nullptr),
            RG_ERROR_ARGUMENT);
  rg_attention_destroy(attention);
}

// Within one and a half units in the last place of the scores.
TEST(SoftmaxTest, CapsAgreeOnEveryBit) {
  std::vector<float> inputs = {0, INFINITY, -INFINITY};
  for (int i = 0; i < 8192; ++i)
    inputs.push_back(-20 + 0.005f * float(i));
  inputs.resize((inputs.size() + 15) / 16 * 16, 1e-3f);
  auto run = [&](const BlockKernels &kernels) {
    std::vector<float> row = inputs, slopes(inputs.size());
    kernels.capScores(row.data(), int64_t(row.size()), 0.5f, 8.0f,
                      slopes.data());
    kernels.multiplyNumbers(slopes.data(), inputs.data(),
                            int64_t(row.size() - 16));
    row.insert(row.end(), slopes.begin() + 16, slopes.end());
    return row;
  };
  std::vector<float> expected = run(*getPlainKernels());
  for (const BlockKernels *kernels : {getAVX2Kernels(), getAVX512Kernels()})
    if (kernels) {
      EXPECT_EQ(run(*kernels), expected) << kernels->name;
    }
  for (size_t i = 0; i != inputs.size(); ++i) {
    double exact = 8 * std::tanh(double(inputs[i]) / 2);
    ASSERT_NEAR(expected[i], exact, std::abs(exact) * 1.8e-7) << inputs[i];
  }
}

// Every set of block kernels that this machine has gives the bits of the plain
// one, which agree with the exponential to one unit in the last place.
TEST(SoftmaxTest, ExponentialsAgreeOnEveryBit) {
  std::vector<float> inputs;
  for (int i = 0; i < 13795; ++i)
    inputs.push_back(-100 + 0.0137f * float(i));
  inputs.push_back(-std::numeric_limits<float>::infinity());
  inputs.push_back(0);
  inputs.resize((inputs.size() + 15) / 16 * 16, 1.0f);
  auto run = [&](const BlockKernels &kernels, float &sum) {
    std::vector<float> row = inputs;
    sum = kernels.exponentials(row.data(), int64_t(row.size()), 0.0f);
    return row;
  };
  float expectedSum = 0;
  std::vector<float> expected = run(*getPlainKernels(), expectedSum);
  for (const BlockKernels *kernels : {getAVX2Kernels(), getAVX512Kernels()}) {
    float sum = 0;
    if (kernels) {
      EXPECT_EQ(run(*kernels, sum), expected) << kernels->name;
      EXPECT_EQ(sum, expectedSum) << kernels->name;
    }
  }
  for (size_t i = 0; i != inputs.size(); ++i) {
    double exact = std::exp(double(inputs[i]));
    double allowed = inputs[i] < -87.3f ? 1.2e-38 : exact * 1.2e-7;
    if (inputs[i] < 88.3f) {
      ASSERT_NEAR(expected[i], exact, allowed) << inputs[i];
    }
  }
}
