//===- LanesAVX512.h - 16 numbers in a register of AVX-512 ------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included like GemmLoops.h, by source files that are compiled for AVX-512.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_CPU_BLOCKS_LANESAVX512_H
#define REGATHER_LIB_RUNTIME_CPU_BLOCKS_LANESAVX512_H

#include "Transpose.h"

#include <immintrin.h>

namespace regather::runtime {
namespace {
struct Lanes {
  __m512 value;

  static Lanes load(const float *from) { return {_mm512_loadu_ps(from)}; }
  void store(float *to) const { _mm512_storeu_ps(to, value); }
  static Lanes broadcast(float number) { return {_mm512_set1_ps(number)}; }
  static Lanes add(Lanes a, Lanes b) {
    return {_mm512_add_ps(a.value, b.value)};
  }
  static Lanes multiplyAdd(Lanes a, Lanes b, Lanes c) {
    return {_mm512_fmadd_ps(a.value, b.value, c.value)};
  }
  static Lanes subtract(Lanes a, Lanes b) {
    return {_mm512_sub_ps(a.value, b.value)};
  }
  static Lanes multiply(Lanes a, Lanes b) {
    return {_mm512_mul_ps(a.value, b.value)};
  }
  static Lanes divide(Lanes a, Lanes b) {
    return {_mm512_div_ps(a.value, b.value)};
  }
  /// The second one if either is NaN.
  static Lanes greater(Lanes a, Lanes b) {
    return {_mm512_max_ps(a.value, b.value)};
  }
  static Lanes lesser(Lanes a, Lanes b) {
    return {_mm512_min_ps(a.value, b.value)};
  }
  /// 2^n for the number n in the low bits.
  static Lanes powerOfTwo(Lanes bits) {
    __m512i power = _mm512_slli_epi32(_mm512_castps_si512(bits.value), 23);
    __m512i one = _mm512_castps_si512(_mm512_set1_ps(1.0f));
    return {_mm512_castsi512_ps(_mm512_add_epi32(power, one))};
  }
  /// Zero where x is below the bound, else `value`.
  static Lanes clearBelow(Lanes x, Lanes bound, Lanes value) {
    __mmask16 kept = _mm512_cmp_ps_mask(x.value, bound.value, _CMP_NLT_UQ);
    return {_mm512_maskz_mov_ps(kept, value.value)};
  }
  /// `below` where x is below the bound, else `other`.
  static Lanes chooseBelow(Lanes x, Lanes bound, Lanes below, Lanes other) {
    __mmask16 is = _mm512_cmp_ps_mask(x.value, bound.value, _CMP_LT_OQ);
    return {_mm512_mask_mov_ps(other.value, is, below.value)};
  }
  /// Zero where the offset is negative.
  static Lanes gather(const float *data, const int32_t *offsets) {
    __m512i places = _mm512_loadu_si512(offsets);
    __mmask16 seen = _mm512_cmpge_epi32_mask(places, _mm512_setzero_si512());
    return {_mm512_mask_i32gather_ps(_mm512_setzero_ps(), seen, places, data,
                                     sizeof(float))};
  }
  /// Zero where the mask has no bit; nothing is read there.
  static Lanes loadSome(const float *from, uint16_t mask) {
    return {_mm512_maskz_loadu_ps(mask, from)};
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
} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_CPU_BLOCKS_LANESAVX512_H
