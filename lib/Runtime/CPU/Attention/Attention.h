//===- Attention.h - Blocks of scores ---------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_CPU_ATTENTION_ATTENTION_H
#define REGATHER_LIB_RUNTIME_CPU_ATTENTION_ATTENTION_H

#include "CPU/Blocks/BlockKernels.h"
#include "Numeric/RoundUp.h"

#include "regather/Runtime/Attention.h"

#include <algorithm>
#include <cstddef>
#include <memory>

namespace regather::runtime {

/// Sizes of a block of scores. Bits of gradients depend on them.
inline constexpr int64_t kRowBlock = 128, kColumnBlock = 128;

/// Logarithms that are at least so large, of either sign, have lost too much to
/// rounding to divide by: a mask has hidden all of the row by a finite number.
inline constexpr float kLargeLog = 4096;

/// A score that is lowered so far adds nothing to the softmax of a row that
/// sees another one.
inline constexpr float kHiddenScore = -1e30f;

/// One head of one element of the batch.
class HeadView {
public:
  HeadView(const rg_attention_operand &operand, void *const *buffers,
           int64_t batch, int64_t head);

  /// Rows as those of the left or columns of the right operand of a GEMM.
  BlockSource getRows(int64_t row, int64_t count, int64_t width) const {
    return {at(row, 0), dtype, count, strides[0], width, strides[1]};
  }
  /// Elements as the columns of the right operand.
  BlockSource getElements(int64_t row, int64_t count, int64_t width) const {
    return {at(row, 0), dtype, width, strides[1], count, strides[0]};
  }

  /// Copies `count` elements of a row to f32, and fills up to a multiple of 16
  /// with zeros.
  void read(int64_t row, int64_t count, float *to) const;
  void write(int64_t row, int64_t count, const float *from) const;
  /// The same for a mask from some column on; false masks with -inf.
  void readMask(int64_t row, int64_t column, int64_t count, float *to) const;
  /// to[j] += from[j], for elements of f32 from some column on.
  void add(int64_t row, int64_t column, int64_t count, const float *from) const;
  void clear(int64_t rows, int64_t count) const;
  /// True if all rows are the same.
  bool repeatsRow() const { return strides[0] == 0; }

private:
  void *at(int64_t row, int64_t element) const;

  char *data;
  int32_t dtype;
  int64_t elementBytes;
  int64_t strides[2];
};

/// What is not zero of a block of scores in which each row sees one column more
/// than the row before: the first row sees `visible` columns. Zeros add nothing
/// to sums, so that they need not be multiplied.
struct SeenScores {
  int64_t visible;
  /// The block is transposed: its columns are added up over the rows.
  bool isTransposed = false;

  /// The part of a sum of `depth` scores in which rows, or columns, [first,
  /// first + count) may have others than zero.
  int64_t getBegin(int64_t first) const {
    return isTransposed ? std::max<int64_t>(first - visible + 1, 0) : 0;
  }
  int64_t getEnd(int64_t first, int64_t count, int64_t depth) const {
    return isTransposed ? depth : std::min(depth, visible + first + count - 1);
  }
};

/// A matrix of sums in tiles as wide as the panels of a right operand: what
/// the GEMMs of blocks are added to.
class TiledSums {
public:
  TiledSums(const BlockKernels &kernels, int64_t rows, int64_t columns,
            float *data)
      : kernels(kernels), rows(rows), columns(columns), data(data) {}
  static int64_t getSize(const BlockKernels &kernels, int64_t rows,
                         int64_t columns) {
    return rows * roundUp(columns, kernels.columns);
  }

  void clear();
  /// rows [first, first + count) += left right, both packed; the left operand
  /// is a block of scores.
  void add(const float *left, const float *right, int64_t first, int64_t count,
           int64_t depth, SeenScores seen);
  void multiplyRow(int64_t row, float factor);
  /// Copies a row, of a multiple of 16 columns.
  void getRow(int64_t row, float *to) const;

private:
  const BlockKernels &kernels;
  int64_t rows, columns;
  float *data;
};

/// tile[i * stride + j] = left right, both packed. Row i need not have columns
/// from `visible` + i on.
void multiplyBlock(const BlockKernels &kernels, const float *left,
                   const float *right, int64_t depth, int64_t numRows,
                   int64_t numColumns, int64_t visible, float *tile,
                   int64_t stride);

/// True if a mask lowers all scores of a block to kHiddenScore or below. `line`
/// has room for a row of a block.
bool hidesBlock(const HeadView &mask, int64_t row, int64_t numRows,
                int64_t column, int64_t numColumns, float *line);

/// Hands out parts of scratch memory, or counts them without any.
class ScratchParts {
public:
  explicit ScratchParts(void *memory) : memory(static_cast<float *>(memory)) {}

  float *take(int64_t count) {
    constexpr int64_t line = 16;
    float *part = memory ? memory + used : nullptr;
    used += roundUp(count, line);
    return part;
  }
  size_t getBytes() const { return static_cast<size_t>(used) * sizeof(float); }

private:
  float *memory;
  int64_t used = 0;
};

/// Forward or backward. Several threads may run tasks at a time.
class Attention {
public:
  explicit Attention(const rg_attention_desc &desc);
  virtual ~Attention() = default;

  virtual int64_t getNumTasks() const = 0;
  virtual size_t getScratchBytes() const = 0;
  virtual void run(void *const *buffers, int64_t task, void *scratch) const = 0;

protected:
  /// Columns that a row sees, of all.
  int64_t getVisible(int64_t row) const;
  /// Columns from `column` on that a row sees; the next row sees one more.
  int64_t getVisibleInBlock(int64_t row, int64_t column) const {
    return desc.causal ? row + 1 - column : desc.columns;
  }
  /// How many of the columns [column, column + numColumns) a row sees.
  int64_t countVisible(int64_t row, int64_t column, int64_t numColumns) const {
    return std::clamp<int64_t>(getVisible(row) - column, 0, numColumns);
  }

  /// Makes scores of `count` products of a row, of which `visible` are seen,
  /// and the slopes of their bound, unless that is null. The largest score.
  float makeScores(float *products, int64_t visible, int64_t count,
                   const float *mask, float *slopes) const;

  rg_attention_desc desc;
  const BlockKernels &kernels;
};

std::unique_ptr<Attention>
createAttentionForward(const rg_attention_desc &desc);
std::unique_ptr<Attention>
createAttentionBackward(const rg_attention_desc &desc);

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_CPU_ATTENTION_ATTENTION_H
