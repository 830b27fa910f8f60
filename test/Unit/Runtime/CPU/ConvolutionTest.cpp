//===- ConvolutionTest.cpp - Convolutions of the runtime ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Support/Half.h"

#include "regather/Runtime/Convolution.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>
#include <vector>

using namespace regather::runtime;

namespace {
using Sizes = std::vector<int64_t>;

int64_t countElements(const Sizes &shape) {
  int64_t product = 1;
  for (int64_t size : shape)
    product *= size;
  return product;
}

float roundTo(int32_t dtype, float value) {
  if (dtype == RG_BF16)
    return fromBF16(toBF16(value));
  return dtype == RG_F16 ? fromF16(toF16(value)) : value;
}

/// A tensor whose dimensions lie in memory in some order.
struct TestTensor {
  Sizes shape;
  rg_convolution_operand desc = {-1, RG_F32, 0, {}};
  std::vector<float> values;
  std::vector<uint16_t> narrow;

  /// `order` lists dimensions, the slowest first.
  void create(int32_t buffer, int32_t dtype, const Sizes &sizes,
              const Sizes &order) {
    shape = sizes;
    desc.buffer = buffer;
    desc.dtype = dtype;
    desc.offset = 2;
    int64_t stride = 1;
    for (size_t i = order.size(); i-- > 0; stride *= sizes[size_t(order[i])])
      desc.strides[order[i]] = stride;
    values.assign(size_t(countElements(shape) + desc.offset), 0.0f);
    narrow.assign(values.size(), 0);
  }

  size_t at(const Sizes &index) const {
    int64_t offset = desc.offset;
    for (size_t d = 0; d < index.size(); ++d)
      offset += index[d] * desc.strides[d];
    return size_t(offset);
  }

  /// Small integers: sums of products are exact in any order.
  void fill(std::mt19937 &random) {
    for (float &value : values)
      value = static_cast<float>(random() % 5) - 2;
  }

  void *getData() {
    if (desc.dtype == RG_F32)
      return values.data();
    for (size_t i = 0; i < values.size(); ++i)
      narrow[i] = desc.dtype == RG_BF16 ? toBF16(values[i]) : toF16(values[i]);
    return narrow.data();
  }
  void takeData() {
    if (desc.dtype != RG_F32)
      for (size_t i = 0; i < values.size(); ++i)
        values[i] =
            desc.dtype == RG_BF16 ? fromBF16(narrow[i]) : fromF16(narrow[i]);
  }
};

/// A convolution with its numbers, and what it must compute.
struct ConvolutionCase {
  rg_convolution_desc desc = {};
  TestTensor x, w, y, bias, toX, toW, toY, toBias;

  /// `layer` is true for what a layer gives, false for its gradients.
  ConvolutionCase(const rg_convolution_desc &sizes, int32_t dtype,
                  bool isForward, unsigned seed)
      : desc(sizes) {
    std::mt19937 random(seed);
    Sizes xShape = {desc.batch, desc.groups, desc.inner};
    Sizes yShape = {desc.batch, desc.groups, desc.outer};
    Sizes wShape = {desc.groups, desc.outer, desc.inner};
    for (int64_t d = 0; d < desc.rank; ++d) {
      xShape.push_back(desc.extents[d]);
      yShape.push_back(desc.counts[d]);
      wShape.push_back(desc.sizes[d]);
    }
    auto draw = [&](const Sizes &shape) {
      Sizes order(shape.size());
      for (size_t i = 0; i < order.size(); ++i)
        order[i] = int64_t(i);
      if (random() % 2)
        std::shuffle(order.begin(), order.end(), random);
      return order;
    };
    int32_t buffer = 0;
    auto add = [&](TestTensor &operand, const Sizes &shape) {
      operand.create(buffer++, dtype, shape, draw(shape));
      operand.fill(random);
    };
    bool isTransposed = desc.transposed != 0;
    Sizes biasShape = {desc.groups, isTransposed ? desc.inner : desc.outer};
    add(w, wShape);
    if (!isForward || !isTransposed)
      add(x, xShape);
    if (!isForward || isTransposed)
      add(y, yShape);
    if (isForward && random() % 2)
      add(bias, biasShape);
    if (isForward == isTransposed)
      add(toX, xShape);
    if (isForward != isTransposed)
      add(toY, yShape);
    if (!isForward) {
      add(toW, wShape);
      add(toBias, biasShape);
    }
    desc.x = x.desc;
    desc.w = w.desc;
    desc.y = y.desc;
    desc.bias = bias.desc;
    desc.to_x = toX.desc;
    desc.to_w = toW.desc;
    desc.to_y = toY.desc;
    desc.to_bias = toBias.desc;
  }

  std::vector<TestTensor *> getOperands() {
    std::vector<TestTensor *> operands;
    for (TestTensor *operand : {&x, &w, &y, &bias, &toX, &toW, &toY, &toBias})
      if (operand->desc.buffer >= 0)
        operands.push_back(operand);
    std::sort(operands.begin(), operands.end(),
              [](TestTensor *a, TestTensor *b) {
                return a->desc.buffer < b->desc.buffer;
              });
    return operands;
  }

  /// Runs all tasks, the last first.
  void run() {
    std::vector<void *> buffers;
    for (TestTensor *operand : getOperands())
      buffers.push_back(operand->getData());
    rg_convolution *convolution = nullptr;
    ASSERT_EQ(rg_convolution_create(&desc, &convolution), RG_OK);
    std::vector<double> scratch(
        rg_convolution_scratch(convolution) / sizeof(double) + 16);
    auto address = reinterpret_cast<uintptr_t>(scratch.data());
    auto *aligned = reinterpret_cast<void *>((address + 63) / 64 * 64);
    for (int64_t task = rg_convolution_tasks(convolution); task-- > 0;)
      EXPECT_EQ(
          rg_convolution_run_task(convolution, buffers.data(), task, aligned),
          RG_OK);
    rg_convolution_destroy(convolution);
    for (TestTensor *operand : getOperands())
      operand->takeData();
  }

  /// Calls `use(x, w, y)` with the index of each product of the definition.
  template <typename Use> void forEachProduct(Use use) {
    Sizes sizes = {desc.batch, desc.groups, desc.outer, desc.inner};
    sizes.insert(sizes.end(), desc.counts, desc.counts + desc.rank);
    sizes.insert(sizes.end(), desc.sizes, desc.sizes + desc.rank);
    int64_t total = countElements(sizes);
    for (int64_t number = 0; number < total; ++number) {
      Sizes index(sizes.size());
      int64_t rest = number;
      for (size_t d = sizes.size(); d-- > 0; rest /= sizes[d])
        index[d] = rest % sizes[d];
      Sizes xIndex = {index[0], index[1], index[3]};
      Sizes wIndex = {index[1], index[2], index[3]};
      Sizes yIndex = {index[0], index[1], index[2]};
      bool isInside = true;
      for (int64_t d = 0; d < desc.rank; ++d) {
        int64_t i = index[size_t(4 + d)], s = index[size_t(4 + desc.rank + d)];
        int64_t p =
            i * desc.strides[d] - desc.padding[d] + s * desc.dilation[d];
        isInside &= p >= 0 && p < desc.extents[d];
        xIndex.push_back(p);
        wIndex.push_back(s);
        yIndex.push_back(i);
      }
      if (isInside)
        use(xIndex, wIndex, yIndex);
    }
  }

  /// The results by the definition.
  void check() {
    TestTensor x2 = toX, w2 = toW, y2 = toY, bias2 = toBias;
    for (TestTensor *operand : {&x2, &w2, &y2, &bias2})
      std::fill(operand->values.begin(), operand->values.end(), 0.0f);
    forEachProduct([&](const Sizes &xi, const Sizes &wi, const Sizes &yi) {
      if (toY.desc.buffer >= 0)
        y2.values[y2.at(yi)] += x.values[x.at(xi)] * w.values[w.at(wi)];
      if (toX.desc.buffer >= 0)
        x2.values[x2.at(xi)] += y.values[y.at(yi)] * w.values[w.at(wi)];
      if (toW.desc.buffer >= 0)
        w2.values[w2.at(wi)] += x.values[x.at(xi)] * y.values[y.at(yi)];
    });
    bool isTransposed = desc.transposed != 0;
    TestTensor &given = isTransposed ? x2 : y2;
    if (bias.desc.buffer >= 0)
      forEachElement(given.shape, [&](const Sizes &index) {
        given.values[given.at(index)] +=
            bias.values[bias.at({index[1], index[2]})];
      });
    if (toBias.desc.buffer >= 0) {
      const TestTensor &gradient = isTransposed ? x : y;
      forEachElement(gradient.shape, [&](const Sizes &index) {
        bias2.values[bias2.at({index[1], index[2]})] +=
            gradient.values[gradient.at(index)];
      });
    }
    compare(toX, x2, "x");
    compare(toW, w2, "w");
    compare(toY, y2, "y");
    compare(toBias, bias2, "bias");
  }

  template <typename Use>
  static void forEachElement(const Sizes &shape, Use use) {
    for (int64_t number = 0; number < countElements(shape); ++number) {
      Sizes index(shape.size());
      int64_t rest = number;
      for (size_t d = shape.size(); d-- > 0; rest /= shape[d])
        index[d] = rest % shape[d];
      use(index);
    }
  }

  static void compare(const TestTensor &actual, const TestTensor &expected,
                      const char *name) {
    if (actual.desc.buffer < 0)
      return;
    int64_t wrong = 0;
    forEachElement(actual.shape, [&](const Sizes &index) {
      float value =
          roundTo(actual.desc.dtype, expected.values[actual.at(index)]);
      wrong += actual.values[actual.at(index)] != value;
    });
    EXPECT_EQ(wrong, 0) << "of " << countElements(actual.shape)
                        << " elements of " << name;
  }
};

rg_convolution_desc drawSizes(std::mt19937 &random) {
  rg_convolution_desc desc = {};
  desc.rank = 1 + int64_t(random() % 3);
  int64_t largest = desc.rank == 1 ? 40 : desc.rank == 2 ? 13 : 6;
  desc.batch = int64_t(random() % 4);
  desc.groups = 1 + int64_t(random() % 3);
  desc.inner = 1 + int64_t(random() % 5);
  desc.outer = 1 + int64_t(random() % 19);
  desc.transposed = random() % 2;
  for (int64_t d = 0; d < desc.rank; ++d) {
    desc.sizes[d] = 1 + int64_t(random() % 4);
    desc.strides[d] = 1 + int64_t(random() % 3);
    desc.dilation[d] = 1 + int64_t(random() % 2);
    desc.padding[d] = int64_t(random() % 3);
    int64_t span = (desc.sizes[d] - 1) * desc.dilation[d] + 1;
    desc.extents[d] = std::max<int64_t>(span - 2 * desc.padding[d], 1) +
                      int64_t(random()) % largest;
    desc.counts[d] =
        (desc.extents[d] + 2 * desc.padding[d] - span) / desc.strides[d] + 1;
  }
  return desc;
}
} // namespace

TEST(Convolution, EqualsItsDefinition) {
  std::mt19937 random(7);
  const int32_t dtypes[] = {RG_F32, RG_F32, RG_BF16, RG_F16};
  for (unsigned i = 0; i < 300; ++i) {
    rg_convolution_desc desc = drawSizes(random);
    SCOPED_TRACE("case " + std::to_string(i) + ", rank " +
                 std::to_string(desc.rank));
    ConvolutionCase test(desc, dtypes[i % 4], random() % 2 == 0, i);
    test.run();
    test.check();
    if (HasFailure())
      break;
  }
}

/// Square windows over square images, with as many positions or half of them.
static rg_convolution_desc makeSquares(int64_t size, int64_t extent,
                                       int64_t stride) {
  rg_convolution_desc desc = {};
  desc.rank = 2;
  desc.groups = 1;
  desc.outer = 8;
  for (int64_t d = 0; d < 2; ++d) {
    desc.sizes[d] = size;
    desc.strides[d] = stride;
    desc.dilation[d] = 1;
    desc.padding[d] = size / 2;
    desc.extents[d] = extent;
    desc.counts[d] = (extent - 1) / stride + 1;
  }
  return desc;
}

/// Sums that are cut into blocks and tiles, and dimensions that are merged.
TEST(Convolution, LargeSums) {
  for (int32_t dtype : {RG_F32, RG_BF16})
    for (int64_t size : {1, 3})
      for (bool isForward : {true, false}) {
        rg_convolution_desc desc = makeSquares(size, 15, 1);
        desc.batch = 3;
        desc.inner = dtype == RG_BF16 ? 60 : 30;
        ConvolutionCase test(desc, dtype, isForward, 3);
        test.run();
        test.check();
      }
}

/// Rows so short that a piece of 16 elements has several, and channels of an
/// odd number of elements of a window.
TEST(Convolution, SmallImages) {
  for (int32_t dtype : {RG_F32, RG_BF16, RG_F16})
    for (int64_t extent : {2, 3, 4, 7})
      for (int64_t stride : {1, 2})
        for (bool isForward : {true, false}) {
          rg_convolution_desc desc = makeSquares(3, extent, stride);
          desc.batch = 5;
          desc.inner = 7;
          ConvolutionCase test(desc, dtype, isForward, 4);
          test.run();
          test.check();
        }
}

TEST(Convolution, RefusesWhatItCannotCompute) {
  std::mt19937 random(1);
  rg_convolution_desc desc = drawSizes(random);
  desc.transposed = 0;
  ConvolutionCase test(desc, RG_F32, true, 0);
  rg_convolution *convolution = nullptr;
  auto refuse = [&](auto change) {
    rg_convolution_desc changed = test.desc;
    change(changed);
    EXPECT_EQ(rg_convolution_create(&changed, &convolution), RG_ERROR_ARGUMENT);
  };
  refuse([](rg_convolution_desc &d) { d.rank = 0; });
  refuse([](rg_convolution_desc &d) { d.rank = 4; });
  refuse([](rg_convolution_desc &d) { d.groups = 0; });
  refuse([](rg_convolution_desc &d) { d.strides[0] = 0; });
  refuse([](rg_convolution_desc &d) { d.x.dtype = RG_F64; });
  refuse([](rg_convolution_desc &d) { d.x.buffer = -1; });
  refuse([](rg_convolution_desc &d) { d.to_w = d.w; });
  refuse([](rg_convolution_desc &d) { d.to_bias = d.w; });
  EXPECT_EQ(rg_convolution_create(nullptr, &convolution), RG_ERROR_ARGUMENT);
  ASSERT_EQ(rg_convolution_create(&test.desc, &convolution), RG_OK);
  EXPECT_EQ(rg_convolution_run_task(convolution, nullptr,
                                    rg_convolution_tasks(convolution), nullptr),
            RG_ERROR_ARGUMENT);
  rg_convolution_destroy(convolution);
}
