//===- GroupedGemmTest.cpp - Grouped GEMMs of the runtime -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Support/Half.h"

#include "regather/Runtime/GroupedGemm.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

using namespace regather::runtime;

namespace {
using FloatList = std::vector<float>;
using EndList = std::vector<int64_t>;

struct GroupSizes {
  int64_t groups, rows, inner, outer;
};

/// The buffers of a call: x, w, y, ends, to_x, to_w, to_y.
struct GroupedCase {
  rg_grouped_gemm_desc desc = {};
  FloatList x, w, y, toX, toW, toY;
  std::vector<int32_t> ends;

  GroupedCase(const GroupSizes &sizes, const EndList &given, bool isTransposed,
              bool isExact)
      : ends(given.begin(), given.end()) {
    desc.groups = sizes.groups;
    desc.rows = sizes.rows;
    desc.inner = sizes.inner;
    desc.outer = sizes.outer;
    int64_t matrix = sizes.inner * sizes.outer;
    desc.x = {0, RG_F32, 0, {sizes.inner, 1, 0}};
    desc.w = {1, RG_F32, 0, {matrix, sizes.outer, 1}};
    desc.y = {2, RG_F32, 0, {sizes.outer, 1, 0}};
    desc.ends = {3, RG_I32, 0, {1, 0, 0}};
    if (isTransposed)
      desc.w = {1, RG_F32, 0, {matrix, 1, sizes.inner}};
    desc.to_x = desc.x;
    desc.to_w = desc.w;
    desc.to_y = desc.y;
    desc.to_x.buffer = 4;
    desc.to_w.buffer = 5;
    desc.to_y.buffer = 6;
    std::mt19937 random(7);
    auto draw = [&](int64_t count) {
      FloatList values(static_cast<size_t>(count));
      // Sums of products of small integers are exact in any order.
      for (float &value : values)
        value = isExact ? static_cast<float>(random() % 5) - 2
                        : static_cast<float>(random()) * 0x1p-32f - 0.5f;
      return values;
    };
    x = draw(sizes.rows * sizes.inner);
    w = draw(sizes.groups * matrix);
    y = draw(sizes.rows * sizes.outer);
    toX.assign(x.size(), 99);
    toW.assign(w.size(), 99);
    toY.assign(y.size(), 99);
  }

  void run() {
    rg_grouped_gemm *gemm = nullptr;
    ASSERT_EQ(rg_grouped_gemm_create(&desc, &gemm), RG_OK);
    void *buffers[] = {x.data(),   w.data(),   y.data(),  ends.data(),
                       toX.data(), toW.data(), toY.data()};
    EXPECT_EQ(rg_grouped_gemm_run(gemm, buffers), RG_OK);
    EXPECT_EQ(rg_grouped_gemm_run_task(gemm, buffers,
                                       rg_grouped_gemm_tasks(gemm), nullptr),
              RG_ERROR_ARGUMENT);
    rg_grouped_gemm_destroy(gemm);
  }

  /// The group of a row; the number of groups if it has none.
  int64_t getGroup(int64_t row) const {
    int64_t group = 0;
    while (group < desc.groups && ends[size_t(group)] <= row)
      ++group;
    return group;
  }
  size_t inW(int64_t g, int64_t k, int64_t n) const {
    const int64_t *strides = desc.w.strides;
    return size_t(g * strides[0] + k * strides[1] + n * strides[2]);
  }

  void check() const {
    FloatList sums(w.size(), 0.0f);
    for (int64_t t = 0; t < desc.rows; ++t) {
      int64_t group = getGroup(t);
      bool hasGroup = group < desc.groups;
      for (int64_t k = 0; k < desc.inner; ++k) {
        float sum = 0;
        for (int64_t n = 0; hasGroup && n < desc.outer; ++n) {
          float grad = y[size_t(t * desc.outer + n)];
          sum += grad * w[inW(group, k, n)];
          sums[inW(group, k, n)] += grad * x[size_t(t * desc.inner + k)];
        }
        expectRow(hasGroup, toX[size_t(t * desc.inner + k)], sum);
      }
      for (int64_t n = 0; n < desc.outer; ++n) {
        float sum = 0;
        for (int64_t k = 0; hasGroup && k < desc.inner; ++k)
          sum += x[size_t(t * desc.inner + k)] * w[inW(group, k, n)];
        expectRow(hasGroup, toY[size_t(t * desc.outer + n)], sum);
      }
    }
    EXPECT_EQ(toW, sums);
  }

private:
  void expectRow(bool hasGroup, float got, float expected) const {
    if (hasGroup || desc.fills_zeros)
      EXPECT_EQ(got, expected);
    else
      EXPECT_TRUE(std::isnan(got));
  }
};
} // namespace

TEST(GroupedGemm, ComputesAllThreeOfAnyGroups) {
  // With and without remainders of tiles, vectors and blocks of the depth.
  for (GroupSizes sizes : {GroupSizes{3, 7, 5, 6}, GroupSizes{3, 40, 300, 20},
                           GroupSizes{3, 700, 17, 33}, GroupSizes{3, 1, 1, 1},
                           GroupSizes{3, 0, 4, 4}, GroupSizes{3, 6, 0, 4}}) {
    int64_t rows = sizes.rows;
    for (const EndList &ends :
         {EndList{rows / 3, rows / 2, rows}, EndList{0, rows, rows},
          EndList{rows, rows, rows}, EndList{0, 0, rows / 2}, EndList{0, 0, 0},
          EndList{rows, rows / 2, rows}, EndList{-5, 1, rows + 100}})
      for (bool flag : {false, true}) {
        GroupedCase one(sizes, ends, /*isTransposed=*/flag, /*isExact=*/true);
        one.desc.fills_zeros = flag;
        one.run();
        one.check();
      }
  }
}

static bool haveEqualBits(const void *first, const void *second, size_t bytes) {
  return std::memcmp(first, second, bytes) == 0;
}

// The same row and matrix give the same bits wherever they lie and whatever
// else there is.
TEST(GroupedGemm, BitsDependOnTheRowAndItsMatrixAlone) {
  const GroupSizes sizes = {3, 600, 300, 48};
  GroupedCase whole(sizes, {600, 600, 600}, false, /*isExact=*/false);
  whole.run();
  // In the third group now, of which the matrix is the same one.
  GroupedCase parts(sizes, {1, 130, 600}, false, /*isExact=*/false);
  int64_t matrix = sizes.inner * sizes.outer;
  std::copy_n(parts.w.begin(), matrix, parts.w.begin() + 2 * matrix);
  parts.run();
  for (int64_t t = 130; t < sizes.rows; ++t) {
    EXPECT_TRUE(haveEqualBits(&whole.toY[size_t(t * sizes.outer)],
                              &parts.toY[size_t(t * sizes.outer)],
                              size_t(sizes.outer) * sizeof(float)));
    EXPECT_TRUE(haveEqualBits(&whole.toX[size_t(t * sizes.inner)],
                              &parts.toX[size_t(t * sizes.inner)],
                              size_t(sizes.inner) * sizeof(float)));
  }
  // The gradient of a matrix: the rows of its group, moved.
  GroupedCase moved({1, 470, sizes.inner, sizes.outer}, {470}, false, false);
  std::copy(parts.x.begin() + 130 * sizes.inner, parts.x.end(),
            moved.x.begin());
  std::copy(parts.y.begin() + 130 * sizes.outer, parts.y.end(),
            moved.y.begin());
  moved.run();
  EXPECT_TRUE(haveEqualBits(moved.toW.data(), &parts.toW[size_t(2 * matrix)],
                            size_t(matrix) * sizeof(float)));
}

// Sums are f32, and round once.
TEST(GroupedGemm, NarrowOperands) {
  const GroupSizes sizes = {2, 9, 70, 5};
  GroupedCase wide(sizes, {4, 9}, false, /*isExact=*/true);
  wide.run();
  GroupedCase narrow(sizes, {4, 9}, false, /*isExact=*/true);
  auto toNarrow = [](const FloatList &values) {
    std::vector<uint16_t> result;
    for (float value : values)
      result.push_back(toBF16(value));
    return result;
  };
  std::vector<uint16_t> x = toNarrow(narrow.x), w = toNarrow(narrow.w);
  std::vector<uint16_t> toY(narrow.toY.size());
  std::vector<int64_t> ends(narrow.ends.begin(), narrow.ends.end());
  narrow.desc.x.dtype = narrow.desc.w.dtype = narrow.desc.to_y.dtype = RG_BF16;
  narrow.desc.ends.dtype = RG_I64;
  narrow.desc.to_x.buffer = narrow.desc.to_w.buffer = -1;
  rg_grouped_gemm *gemm = nullptr;
  ASSERT_EQ(rg_grouped_gemm_create(&narrow.desc, &gemm), RG_OK);
  void *buffers[] = {x.data(), w.data(), nullptr,   ends.data(),
                     nullptr,  nullptr,  toY.data()};
  EXPECT_EQ(rg_grouped_gemm_run(gemm, buffers), RG_OK);
  rg_grouped_gemm_destroy(gemm);
  EXPECT_EQ(toY, toNarrow(wide.toY));
}

TEST(GroupedGemm, RefusesWhatItCannotCompute) {
  const GroupedCase valid({2, 3, 4, 5}, {1, 3}, false, true);
  auto create = [&](void (*change)(rg_grouped_gemm_desc &)) {
    rg_grouped_gemm_desc desc = valid.desc;
    change(desc);
    rg_grouped_gemm *gemm = nullptr;
    rg_status status = rg_grouped_gemm_create(&desc, &gemm);
    rg_grouped_gemm_destroy(gemm);
    return status;
  };
  using Desc = rg_grouped_gemm_desc;
  EXPECT_EQ(create([](Desc &) {}), RG_OK);
  EXPECT_EQ(create([](Desc &d) { d.groups = 0; }), RG_ERROR_ARGUMENT);
  EXPECT_EQ(create([](Desc &d) { d.rows = -1; }), RG_ERROR_ARGUMENT);
  EXPECT_EQ(create([](Desc &d) { d.x.buffer = -1; }), RG_ERROR_ARGUMENT);
  EXPECT_EQ(create([](Desc &d) { d.y.buffer = -1; }), RG_ERROR_ARGUMENT);
  EXPECT_EQ(create([](Desc &d) { d.ends.buffer = -1; }), RG_ERROR_ARGUMENT);
  EXPECT_EQ(create([](Desc &d) { d.ends.dtype = RG_F32; }), RG_ERROR_ARGUMENT);
  EXPECT_EQ(create([](Desc &d) { d.w.dtype = RG_I32; }), RG_ERROR_ARGUMENT);
  EXPECT_EQ(rg_grouped_gemm_create(nullptr, nullptr), RG_ERROR_ARGUMENT);
}
