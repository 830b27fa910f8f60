//===- KernelsAVX2.cpp - Block kernels for AVX2 with FMA ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockKernels.h"

#if defined(__AVX2__) && defined(__FMA__)

#include "SoftmaxLoops.h"
#include "Transpose.h"

#include <immintrin.h>

using namespace regather::runtime;

namespace {
struct Lanes {
  __m256 low, high;

  static Lanes load(const float *from) {
    return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)};
  }
  void store(float *to) const {
    _mm256_storeu_ps(to, low);
    _mm256_storeu_ps(to + 8, high);
  }
  static Lanes broadcast(float number) {
    return {_mm256_set1_ps(number), _mm256_set1_ps(number)};
  }
  static Lanes add(Lanes a, Lanes b) {
    return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
  }
  static Lanes multiplyAdd(Lanes a, Lanes b, Lanes c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low),
            _mm256_fmadd_ps(a.high, b.high, c.high)};
  }
  static Lanes subtract(Lanes a, Lanes b) {
    return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
  }
  static Lanes multiply(Lanes a, Lanes b) {
    return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
  }
  static Lanes divide(Lanes a, Lanes b) {
    return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)};
  }
  /// The second one if either is NaN.
  static Lanes greater(Lanes a, Lanes b) {
    return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
  }
  static Lanes lesser(Lanes a, Lanes b) {
    return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)};
  }
  /// 2^n for the number n in the low bits.
  static Lanes powerOfTwo(Lanes bits) {
    auto raise = [](__m256 half) {
      __m256i power = _mm256_slli_epi32(_mm256_castps_si256(half), 23);
      __m256i one = _mm256_castps_si256(_mm256_set1_ps(1.0f));
      return _mm256_castsi256_ps(_mm256_add_epi32(power, one));
    };
    return {raise(bits.low), raise(bits.high)};
  }
  /// Zero where x is below the bound, else `value`.
  static Lanes clearBelow(Lanes x, Lanes bound, Lanes value) {
    auto clear = [](__m256 half, __m256 limit, __m256 result) {
      return _mm256_and_ps(_mm256_cmp_ps(half, limit, _CMP_NLT_UQ), result);
    };
    return {clear(x.low, bound.low, value.low),
            clear(x.high, bound.high, value.high)};
  }
  /// `below` where x is below the bound, else `other`.
  static Lanes chooseBelow(Lanes x, Lanes bound, Lanes below, Lanes other) {
    auto choose = [](__m256 half, __m256 limit, __m256 first, __m256 second) {
      return _mm256_blendv_ps(second, first,
                              _mm256_cmp_ps(half, limit, _CMP_LT_OQ));
    };
    return {choose(x.low, bound.low, below.low, other.low),
            choose(x.high, bound.high, below.high, other.high)};
  }
  /// Zero where the offset is negative.
  static Lanes gather(const float *data, const int32_t *offsets) {
    auto gatherHalf = [data](const int32_t *half) {
      __m256i places =
          _mm256_loadu_si256(reinterpret_cast<const __m256i *>(half));
      __m256i seen = _mm256_cmpgt_epi32(places, _mm256_set1_epi32(-1));
      return _mm256_mask_i32gather_ps(_mm256_setzero_ps(), data, places,
                                      _mm256_castsi256_ps(seen), sizeof(float));
    };
    return {gatherHalf(offsets), gatherHalf(offsets + kPart)};
  }
  /// Zero where the mask has no bit; nothing is read there.
  static Lanes loadSome(const float *from, uint16_t mask) {
    auto loadHalf = [](const float *half, int bits) {
      __m256i lanes = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
      __m256i taken = _mm256_and_si256(_mm256_set1_epi32(bits), lanes);
      return _mm256_maskload_ps(half, _mm256_cmpeq_epi32(taken, lanes));
    };
    return {loadHalf(from, mask), loadHalf(from + kPart, mask >> kPart)};
  }
  static void copyPart(const float *from, float *to) {
    _mm256_storeu_ps(to, _mm256_loadu_ps(from));
  }
  static void transpose(const float *from, int64_t stride, float *to,
                        int64_t toStride) {
    transpose8x8(from, stride, to, toStride);
  }
  static void transposeShort(const float *from, int64_t stride, int64_t width,
                             float *to) {
    ::transposeShort(from, stride, width, to);
  }
};
} // namespace

const BlockKernels *regather::runtime::getAVX2Kernels() {
  static constexpr auto kernels =
      makeBlockKernels<Lanes, /*numRows=*/6, /*numVectors=*/1>("avx2");
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
             ? &kernels
             : nullptr;
}

#else

const regather::runtime::BlockKernels *regather::runtime::getAVX2Kernels() {
  return nullptr;
}

#endif
