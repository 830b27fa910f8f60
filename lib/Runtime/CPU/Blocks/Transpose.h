//===- Transpose.h - Transpose 8 by 8 numbers with AVX ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_CPU_BLOCKS_TRANSPOSE_H
#define REGATHER_LIB_RUNTIME_CPU_BLOCKS_TRANSPOSE_H

#include <cstdint>
#include <immintrin.h>

namespace {

/// to[l * toStride + i] = from[i * stride + l] for i, l < 8.
inline void transpose8x8(const __m256 (&rows)[8], __m256 (&columns)[8]) {
  __m256 pairs[8], quads[8];
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
  }
  // Columns 0 and 4, 1 and 5, 2 and 6, 3 and 7 of four rows each.
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    quads[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
    quads[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xee);
    quads[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
    quads[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xee);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    columns[i] = _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x20);
    columns[i + 4] = _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x31);
  }
}

inline void transpose8x8(const float *from, int64_t stride, float *to,
                         int64_t toStride) {
  __m256 rows[8], columns[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i)
    rows[i] = _mm256_loadu_ps(from + i * stride);
  transpose8x8(rows, columns);
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i)
    _mm256_storeu_ps(to + i * toStride, columns[i]);
}

/// to[l * width + i] = from[i * stride + l] for i < width and l < 8, where
/// 4 <= width < 8.
inline void transposeShort(const float *from, int64_t stride, int64_t width,
                           float *to) {
  __m256 rows[8], columns[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i)
    rows[i] =
        i < width ? _mm256_loadu_ps(from + i * stride) : _mm256_setzero_ps();
  transpose8x8(rows, columns);
  // Each overwrites what the one before has written too much.
#pragma GCC unroll 7
  for (int i = 0; i < 7; ++i)
    _mm256_storeu_ps(to + i * width, columns[i]);
  float last[8];
  _mm256_storeu_ps(last, columns[7]);
  for (int64_t i = 0; i < width; ++i)
    to[7 * width + i] = last[i];
}

} // namespace

#endif // REGATHER_LIB_RUNTIME_CPU_BLOCKS_TRANSPOSE_H
