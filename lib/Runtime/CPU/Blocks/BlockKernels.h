//===- BlockKernels.h - GEMMs of packed blocks ------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The inner loops of GEMMs and attention, one implementation for each
// instruction set. All of them carry out the same operations on an element in
// the same order, with the same roundings: the bits are those of the plain one.
//
// A block of a matrix is packed into panels: `width` rows of the left operand
// (columns of the right one), of which the elements at one position of the sum
// follow each other,
//
//   panel[l * width + i] = source[i * step + l * depthStep],
//
// and panels behind each other. The last panel is filled up with zeros.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_CPU_BLOCKS_BLOCKKERNELS_H
#define REGATHER_LIB_RUNTIME_CPU_BLOCKS_BLOCKKERNELS_H

#include <cstdint>

namespace regather::runtime {

/// Most rows and columns of a panel, on all machines.
inline constexpr int64_t kMaxPanelRows = 16, kMaxPanelColumns = 64;

/// A block of numbers in memory: `count` by `depth` elements, which are f32,
/// bf16 or f16.
struct BlockSource {
  const void *data;
  int32_t dtype;
  int64_t count, step;
  int64_t depth, depthStep;
};

struct BlockKernels {
  const char *name;
  /// Widths of the panels of the left and the right operand.
  int64_t rows, columns;

  /// Packs `source` into ceil(count / width) panels.
  void (*pack)(const BlockSource &source, int64_t width, float *panels);

  /// to[i] = data[offsets[i]], and zero where the offset is negative, for
  /// `count`, a multiple of 16, numbers.
  void (*gather)(const float *data, const int32_t *offsets, int64_t count,
                 float *to);

  /// to[i] = the sum over t < numTerms of factors[t] * terms[t][i], from zero
  /// in ascending order with one rounding for each step, for `count`, a
  /// multiple of 16, numbers.
  void (*sumRows)(const float *const *terms, const float *factors,
                  int64_t numTerms, int64_t count, float *to);

  /// tile[i * stride + j] = base[i * columns + j] + the sum over l of
  /// left[l, i] * right[l, j], from zero in ascending order with one rounding
  /// for each step, for i < numRows and j < `numColumns` rounded up to a
  /// multiple of 16. `base` may be null, for nothing, or the tile.
  void (*multiply)(const float *left, const float *right, int64_t depth,
                   int64_t numRows, int64_t numColumns, const float *base,
                   float *tile, int64_t stride);

  /// Scores of one row, `count` of them, a multiple of 16: times `scale`, plus
  /// `mask` unless it is null, and -inf from `valid` on. The largest of them
  /// that is a number.
  float (*scaleScores)(float *row, int64_t valid, int64_t count, float scale,
                       const float *mask);
  /// row[j] = exp(row[j] - shift); their sum.
  float (*exponentials)(float *row, int64_t count, float shift);
  /// gradients[j] = powers[j] * (gradients[j] - along) * scale.
  void (*gradientsOfScores)(const float *powers, float *gradients,
                            int64_t count, float along, float scale);
  /// The sum of a[j] * b[j].
  float (*sumProducts)(const float *a, const float *b, int64_t count);
  /// row[j] *= factor.
  void (*multiplyRow)(float *row, int64_t count, float factor);
};

/// The kernels for this machine. REGATHER_INSTRUCTION_SET, one of `avx512`,
/// `avx2` and `plain`, asks for lesser ones.
const BlockKernels &getBlockKernels();

/// Implementations; null if the compiler or the machine lacks the instructions.
const BlockKernels *getPlainKernels();
const BlockKernels *getAVX2Kernels();
const BlockKernels *getAVX512Kernels();

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_CPU_BLOCKS_BLOCKKERNELS_H
