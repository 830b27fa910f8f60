//===- KernelsPlain.cpp - Block kernels for every machine -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SoftmaxLoops.h"

using namespace regather::runtime;

namespace {
struct Lanes {
  float values[kLanes];

  template <typename F> static Lanes make(F f) {
    Lanes lanes;
    for (int64_t i = 0; i < kLanes; ++i)
      lanes.values[i] = f(i);
    return lanes;
  }
  static Lanes load(const float *from) {
    return make([=](int64_t i) { return from[i]; });
  }
  void store(float *to) const {
    for (int64_t i = 0; i < kLanes; ++i)
      to[i] = values[i];
  }
  static Lanes broadcast(float number) {
    return make([=](int64_t) { return number; });
  }
  static Lanes add(const Lanes &a, const Lanes &b) {
    return make([&](int64_t i) { return a.values[i] + b.values[i]; });
  }
  /// With one rounding, whatever instructions there are.
  static Lanes multiplyAdd(const Lanes &a, const Lanes &b, const Lanes &c) {
    return make([&](int64_t i) {
      return __builtin_fmaf(a.values[i], b.values[i], c.values[i]);
    });
  }
  static Lanes subtract(const Lanes &a, const Lanes &b) {
    return make([&](int64_t i) { return a.values[i] - b.values[i]; });
  }
  static Lanes multiply(const Lanes &a, const Lanes &b) {
    return make([&](int64_t i) { return a.values[i] * b.values[i]; });
  }
  static Lanes divide(const Lanes &a, const Lanes &b) {
    return make([&](int64_t i) { return a.values[i] / b.values[i]; });
  }
  /// The second one if either is NaN.
  static Lanes greater(const Lanes &a, const Lanes &b) {
    return make([&](int64_t i) {
      return a.values[i] > b.values[i] ? a.values[i] : b.values[i];
    });
  }
  static Lanes lesser(const Lanes &a, const Lanes &b) {
    return make([&](int64_t i) {
      return a.values[i] < b.values[i] ? a.values[i] : b.values[i];
    });
  }
  /// 2^n for the number n in the low bits.
  static Lanes powerOfTwo(const Lanes &bits) {
    return make([&](int64_t i) {
      uint32_t power;
      __builtin_memcpy(&power, &bits.values[i], sizeof(power));
      power = (power << 23) + 0x3f800000u;
      float value;
      __builtin_memcpy(&value, &power, sizeof(value));
      return value;
    });
  }
  /// Zero where x is below the bound, else `value`.
  static Lanes clearBelow(const Lanes &x, const Lanes &bound,
                          const Lanes &value) {
    return make([&](int64_t i) {
      return x.values[i] < bound.values[i] ? 0.0f : value.values[i];
    });
  }
  /// `below` where x is below the bound, else `other`.
  static Lanes chooseBelow(const Lanes &x, const Lanes &bound,
                           const Lanes &below, const Lanes &other) {
    return make([&](int64_t i) {
      return x.values[i] < bound.values[i] ? below.values[i] : other.values[i];
    });
  }
  /// Zero where the offset is negative.
  static Lanes gather(const float *data, const int32_t *offsets) {
    return make(
        [=](int64_t i) { return offsets[i] < 0 ? 0.0f : data[offsets[i]]; });
  }
  /// Zero where the mask has no bit; nothing is read there.
  static Lanes loadSome(const float *from, uint16_t mask) {
    return make([=](int64_t i) { return mask >> i & 1 ? from[i] : 0.0f; });
  }
  static void copyPart(const float *from, float *to) {
    __builtin_memcpy(to, from, kPart * sizeof(float));
  }
  static void transpose(const float *from, int64_t stride, float *to,
                        int64_t toStride) {
    for (int64_t i = 0; i < 8; ++i)
      for (int64_t l = 0; l < 8; ++l)
        to[l * toStride + i] = from[i * stride + l];
  }
  static void transposeShort(const float *from, int64_t stride, int64_t width,
                             float *to) {
    for (int64_t i = 0; i < width; ++i)
      for (int64_t l = 0; l < 8; ++l)
        to[l * width + i] = from[i * stride + l];
  }
};
} // namespace

const BlockKernels *regather::runtime::getPlainKernels() {
  static constexpr auto kernels =
      makeBlockKernels<Lanes, /*numRows=*/4, /*numVectors=*/1>("plain");
  return &kernels;
}
