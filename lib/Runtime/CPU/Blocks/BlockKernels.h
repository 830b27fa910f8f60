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
// Kernels for pairs of bf16 are apart from that: a number of a panel is a pair
// of elements, at positions 2 l and 2 l + 1 of the sum, and one instruction
// adds both products. The sum is in f32, in ascending order of l; how the two
// products of a pair are rounded, and that subnormal numbers count as zero, is
// what the instruction says. So their bits are a function of the sum alone,
// too, but other ones than those of the plain kernels.
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

/// Up to 16 numbers in a row, some of which are zero.
struct RowPiece {
  static constexpr int64_t kMost = 16;

  /// Of number 0, which may lie outside of what is read.
  int32_t offset;
  /// Bit i: number i is read.
  uint16_t mask;
  uint16_t length;
};

struct BlockKernels {
  const char *name;
  /// Widths of the panels of the left and the right operand.
  int64_t rows, columns;
  /// Elements in a number of a panel: 1, or 2 for pairs of bf16.
  int64_t positions;

  /// Numbers of a panel, for each of its rows, that hold a sum of this length.
  int64_t getNumbers(int64_t depth) const {
    return (depth + positions - 1) / positions;
  }

  /// Packs `source` into ceil(count / width) panels of getNumbers(depth) times
  /// `width` numbers. Pairs of bf16 are made of bf16, or of f32, which is
  /// rounded.
  void (*pack)(const BlockSource &source, int64_t width, float *panels);

  /// to[i] = data[offsets[i]], and zero where the offset is negative, for
  /// `count`, a multiple of 16, numbers.
  void (*gather)(const float *data, const int32_t *offsets, int64_t count,
                 float *to);

  /// Writes pieces behind each other, up to one of length 0: data[offset + i]
  /// where the mask has bit i, else zero. Of the last one 16 numbers are
  /// written.
  void (*copyPieces)(const float *data, const RowPiece *pieces, float *to);
  /// The same of numbers of 16 bits.
  void (*copyNarrowPieces)(const uint16_t *data, const RowPiece *pieces,
                           uint16_t *to);

  /// to[i] = the sum over t < numTerms of factors[t] * terms[t][i], from zero
  /// in ascending order with one rounding for each step, for `count`, a
  /// multiple of 16, numbers.
  void (*sumRows)(const float *const *terms, const float *factors,
                  int64_t numTerms, int64_t count, float *to);

  /// tile[i * stride + j] = base[i * columns + j] + the sum over l of
  /// left[l, i] * right[l, j], from zero in ascending order with one rounding
  /// for each step, for i < numRows and j < `numColumns` rounded up to a
  /// multiple of 16. `base` may be null, for nothing, or the tile. `depth`
  /// counts the numbers of a panel.
  void (*multiply)(const float *left, const float *right, int64_t depth,
                   int64_t numRows, int64_t numColumns, const float *base,
                   float *tile, int64_t stride);

  /// sums[j] = the sum over l < depth of vector[l] * matrix[l * depthStep + j *
  /// step], from zero in ascending order with one rounding for each step, for j
  /// < `count`. One of the steps is 1. The same bits as `multiply`, without
  /// packing what is read once. The matrix is of f32, or of bf16 for pairs, of
  /// which the vector holds getNumbers(depth). There is room for sums up to the
  /// next multiple of 16.
  void (*multiplyVector)(const float *vector, const void *matrix, int64_t step,
                         int64_t depthStep, int64_t depth, int64_t count,
                         float *sums);

  /// row[j] = cap * t, where t = tanh(row[j] * factor), and, unless it is null,
  /// slopes[j] = 1 - t * t, for `count`, a multiple of 16, numbers.
  void (*capScores)(float *row, int64_t count, float factor, float cap,
                    float *slopes);
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
  /// row[j] *= factors[j].
  void (*multiplyNumbers)(float *row, const float *factors, int64_t count);

  /// Rounds `count` numbers to bf16, as toBF16 does.
  void (*narrow)(const float *from, int64_t count, uint16_t *to);
  /// to[i] += from[i], in f32.
  void (*addNarrow)(const uint16_t *from, int64_t count, float *to);
  /// Rounds `count` numbers to what bf16 has, as toBF16 does.
  void (*roundToNarrow)(float *numbers, int64_t count);
  /// to[i] = low[i] + high[i]; `to` may be one of them.
  void (*addNumbers)(const float *low, const float *high, int64_t count,
                     float *to);
};

/// The kernels for this machine and numbers of f32, to which others are
/// widened. REGATHER_INSTRUCTION_SET, one of `avx512_bf16`, `avx512`, `avx2`
/// and `plain`, asks for lesser ones.
const BlockKernels &getBlockKernels();

/// The kernels for this machine and operands of which all have this type: those
/// for pairs of bf16 if there are any.
const BlockKernels &getBlockKernels(int32_t dtype);

/// The same for what no library computes, whose tiles of bf16 would be quicker
/// than pairs.
const BlockKernels &getPairKernels(int32_t dtype);

/// True if products of bf16 have instructions for pairs here, and no faster
/// ones for tiles.
bool hasPairsOfBF16();

/// Implementations; null if the compiler or the machine lacks the instructions.
const BlockKernels *getPlainKernels();
const BlockKernels *getAVX2Kernels();
const BlockKernels *getAVX512Kernels();
const BlockKernels *getAVX512BF16Kernels();

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_CPU_BLOCKS_BLOCKKERNELS_H
