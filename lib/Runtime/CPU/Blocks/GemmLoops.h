//===- GemmLoops.h - Loops of the block GEMMs -------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included by one source file for each instruction set, which is compiled for
// it. Nothing here may call an inline function from elsewhere: the linker could
// pick the copy made here for machines that lack the instructions.
//
// `Lanes` stands for 16 numbers.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_CPU_BLOCKS_GEMMLOOPS_H
#define REGATHER_LIB_RUNTIME_CPU_BLOCKS_GEMMLOOPS_H

#include "BlockKernels.h"

#include "regather/Runtime/Runtime.h"

namespace regather::runtime {
namespace {

constexpr int64_t kLanes = 16;
/// What is copied or transposed at a time.
constexpr int64_t kPart = 8;

//===----------------------------------------------------------------------===//
// GEMMs
//===----------------------------------------------------------------------===//

/// The GEMM of `numRows` rows and `numVectors` times 16 columns of panels
/// that are `panelRows` and `panelColumns` wide.
template <typename Lanes, int panelRows, int panelColumns, int numRows,
          int numVectors>
void multiplyTile(const float *left, const float *right, int64_t depth,
                  const float *base, float *tile, int64_t stride) {
  Lanes sums[numRows][numVectors];
#pragma GCC unroll 16
  for (int i = 0; i < numRows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < numVectors; ++j)
      sums[i][j] = Lanes::broadcast(0.0f);
  for (int64_t l = 0; l < depth; ++l) {
    Lanes row[numVectors];
#pragma GCC unroll 4
    for (int j = 0; j < numVectors; ++j)
      row[j] = Lanes::load(right + j * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < numRows; ++i) {
      Lanes factor = Lanes::broadcast(left[i]);
#pragma GCC unroll 4
      for (int j = 0; j < numVectors; ++j)
        sums[i][j] = Lanes::multiplyAdd(factor, row[j], sums[i][j]);
    }
    left += panelRows;
    right += panelColumns;
  }
#pragma GCC unroll 16
  for (int i = 0; i < numRows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < numVectors; ++j) {
      if (base)
        sums[i][j] = Lanes::add(
            Lanes::load(base + i * panelColumns + j * kLanes), sums[i][j]);
      sums[i][j].store(tile + i * stride + j * kLanes);
    }
}

using TileFunction = void (*)(const float *, const float *, int64_t,
                              const float *, float *, int64_t);

/// One function for each number of rows and of vectors.
template <typename Lanes, int panelRows, int panelVectors> struct TileTable {
  TileFunction functions[panelRows][panelVectors];

  template <int numRows = panelRows, int numVectors = panelVectors>
  constexpr void fill() {
    functions[numRows - 1][numVectors - 1] =
        multiplyTile<Lanes, panelRows, panelVectors * kLanes, numRows,
                     numVectors>;
    if constexpr (numVectors > 1)
      fill<numRows, numVectors - 1>();
    else if constexpr (numRows > 1)
      fill<numRows - 1, panelVectors>();
  }
  constexpr TileTable() : functions() { fill(); }
};

template <typename Lanes, int panelRows, int panelVectors>
void multiplyPanels(const float *left, const float *right, int64_t depth,
                    int64_t numRows, int64_t numColumns, const float *base,
                    float *tile, int64_t stride) {
  static constexpr TileTable<Lanes, panelRows, panelVectors> table;
  int64_t numVectors = (numColumns + kLanes - 1) / kLanes;
  table.functions[numRows - 1][numVectors - 1](left, right, depth, base, tile,
                                               stride);
}

template <typename Lanes, int numVectors>
void sumRowBlock(const float *const *terms, const float *factors,
                 int64_t numTerms, int64_t begin, float *to) {
  Lanes sums[numVectors];
#pragma GCC unroll 8
  for (int j = 0; j < numVectors; ++j)
    sums[j] = Lanes::broadcast(0.0f);
  for (int64_t t = 0; t < numTerms; ++t) {
    Lanes factor = Lanes::broadcast(factors[t]);
    const float *from = terms[t] + begin;
#pragma GCC unroll 8
    for (int j = 0; j < numVectors; ++j)
      sums[j] =
          Lanes::multiplyAdd(factor, Lanes::load(from + j * kLanes), sums[j]);
  }
#pragma GCC unroll 8
  for (int j = 0; j < numVectors; ++j)
    sums[j].store(to + begin + j * kLanes);
}

template <typename Lanes>
void sumRows(const float *const *terms, const float *factors, int64_t numTerms,
             int64_t count, float *to) {
  // As many as hide the latency of a multiply-add.
  constexpr int block = 8;
  int64_t i = 0;
  for (; i + block * kLanes <= count; i += block * kLanes)
    sumRowBlock<Lanes, block>(terms, factors, numTerms, i, to);
  for (; i < count; i += kLanes)
    sumRowBlock<Lanes, 1>(terms, factors, numTerms, i, to);
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// Elements of 16 bits.
struct BF16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};

inline float toFloat(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

inline float widen(float value) { return value; }
inline float widen(BF16 value) {
  return toFloat(static_cast<uint32_t>(value.bits) << 16);
}
/// Without branches, so that loops over it vectorize.
inline float widen(F16 value) {
  constexpr uint32_t one = 1u << 23, rebias = 112 * one, infinite = 31 * one;
  uint32_t sign = (value.bits & 0x8000u) << 16;
  uint32_t magnitude = (value.bits & 0x7FFFu) << 13;
  uint32_t normal = magnitude + (magnitude < infinite ? rebias : 2 * rebias);
  // Zero and subnormals: what they add to 2^-14.
  float small = toFloat((rebias + one) | magnitude) - toFloat(rebias + one);
  uint32_t smallBits;
  __builtin_memcpy(&smallBits, &small, sizeof(small));
  return toFloat(sign | (magnitude < one ? smallBits : normal));
}

/// As toBF16. Short, so that loops over it vectorize.
inline uint16_t roundToBF16(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
  uint32_t quiet = (bits >> 16) | 0x40;
  return static_cast<uint16_t>((bits & 0x7FFFFFFF) > 0x7F800000 ? quiet
                                                                : rounded);
}

/// A template only to exist once for each instruction set.
template <typename Lanes>
void narrowNumbers(const float *from, int64_t count, uint16_t *to) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = roundToBF16(from[i]);
}

template <typename Lanes>
void addNarrowNumbers(const uint16_t *from, int64_t count, float *to) {
  for (int64_t i = 0; i < count; ++i)
    to[i] += widen(BF16{from[i]});
}

template <typename Lanes> void roundNumbers(float *numbers, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    numbers[i] = widen(BF16{roundToBF16(numbers[i])});
}

template <typename Lanes>
void addNumbers(const float *low, const float *high, int64_t count, float *to) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    Lanes::add(Lanes::load(low + i), Lanes::load(high + i)).store(to + i);
  for (; i < count; ++i)
    to[i] = low[i] + high[i];
}

/// Packs one panel element by element, `count` of whose `width` rows exist.
template <typename T>
void packElements(const T *source, int64_t step, int64_t depthStep,
                  int64_t count, int64_t begin, int64_t depth, int64_t width,
                  float *panel) {
  for (int64_t l = begin; l < depth; ++l) {
    for (int64_t i = 0; i < count; ++i)
      panel[l * width + i] = widen(source[i * step + l * depthStep]);
    for (int64_t i = count; i < width; ++i)
      panel[l * width + i] = 0;
  }
}

/// Where a block of 8 rows or columns begins, so that it ends within `width` of
/// them. Blocks may overlap: the same numbers are written twice.
inline int64_t clampBlock(int64_t i, int64_t width) {
  return i + kPart <= width ? i : width - kPart;
}

/// The least width of a panel that is not packed element by element.
constexpr int64_t kLeastWidth = 4;

/// Copies fewer than 8 numbers.
inline void copyShort(const float *from, int64_t count, float *to) {
  if (count < kLeastWidth) {
    for (int64_t i = 0; i < count; ++i)
      to[i] = from[i];
    return;
  }
  constexpr int64_t bytes = kLeastWidth * sizeof(float);
  int64_t rest = count - kLeastWidth;
  __builtin_memcpy(to, from, bytes);
  __builtin_memcpy(to + rest, from + rest, bytes);
}

/// Packs full panels whose rows lie beside each other. What is contiguous in
/// memory is read in one go.
template <typename Lanes>
void packRows(const float *source, int64_t depthStep, int64_t depth,
              int64_t numPanels, int64_t width, float *panels) {
  // Rows are far apart, so that the hardware does not see what comes next.
  constexpr int64_t ahead = 8;
  for (int64_t l = 0; l < depth; ++l) {
    const float *from = source + l * depthStep;
    const float *next = from + (l + ahead < depth ? ahead * depthStep : 0);
    for (int64_t p = 0; p < numPanels; ++p, from += width, next += width) {
      for (int64_t i = 0; i < width; i += kLanes)
        __builtin_prefetch(next + i);
      float *to = panels + (p * depth + l) * width;
      int64_t i = 0;
      for (; i + kLanes <= width; i += kLanes)
        Lanes::load(from + i).store(to + i);
      if (width < kPart) {
        copyShort(from, width, to);
        continue;
      }
      for (; i < width; i += kPart)
        Lanes::copyPart(from + clampBlock(i, width), to + clampBlock(i, width));
    }
  }
}

/// Packs full panels whose depth is contiguous, 8 by 8 elements at a time.
template <typename Lanes>
void packColumns(const float *source, int64_t step, int64_t depth,
                 int64_t width, float *panel) {
  if (width < kLeastWidth || depth < kPart)
    return packElements(source, step, 1, width, 0, depth, width, panel);
  if (width < kPart) {
    for (int64_t l = 0; l < depth; l += kPart) {
      int64_t column = clampBlock(l, depth);
      Lanes::transposeShort(source + column, step, width,
                            panel + column * width);
    }
    return;
  }
  for (int64_t l = 0; l < depth; l += kPart)
    for (int64_t i = 0; i < width; i += kPart) {
      int64_t row = clampBlock(i, width), column = clampBlock(l, depth);
      Lanes::transpose(source + row * step + column, step,
                       panel + column * width + row, width);
    }
}

//===----------------------------------------------------------------------===//
// A row times a matrix
//===----------------------------------------------------------------------===//

/// The rows of the matrix lie contiguous: `numRows` of them are read at a time.
template <typename Lanes, int numRows>
void addRows(const float *vector, const float *matrix, int64_t depthStep,
             int64_t count, float *sums) {
  Lanes factors[numRows];
#pragma GCC unroll 4
  for (int r = 0; r < numRows; ++r)
    factors[r] = Lanes::broadcast(vector[r]);
  int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    Lanes sum = Lanes::load(sums + j);
#pragma GCC unroll 4
    for (int r = 0; r < numRows; ++r)
      sum = Lanes::multiplyAdd(factors[r],
                               Lanes::load(matrix + r * depthStep + j), sum);
    sum.store(sums + j);
  }
  for (; j < count; ++j)
    for (int r = 0; r < numRows; ++r)
      sums[j] = __builtin_fmaf(vector[r], matrix[r * depthStep + j], sums[j]);
}

/// The columns of the matrix lie contiguous: blocks of 16 by 16 are transposed.
template <typename Lanes>
void addColumns(const float *vector, const float *matrix, int64_t step,
                int64_t depth, int64_t count, float *sums) {
  constexpr int64_t ahead = 8 * kLanes;
  float block[kLanes * kLanes];
  int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    const float *columns = matrix + j * step;
    Lanes sum = Lanes::load(sums + j);
    int64_t l = 0;
    for (; l + kLanes <= depth; l += kLanes) {
      // A line of the cache is used up at once: columns that lie a power of two
      // apart share few places in it.
      for (int64_t i = 0; i < kLanes; i += kPart)
        for (int64_t part = 0; part < kLanes; part += kPart)
          Lanes::transpose(columns + i * step + l + part, step,
                           block + part * kLanes + i, kLanes);
      for (int64_t c = 0; c < kLanes; ++c)
        __builtin_prefetch(columns + c * step + l + ahead);
#pragma GCC unroll 16
      for (int64_t p = 0; p < kLanes; ++p)
        sum = Lanes::multiplyAdd(Lanes::broadcast(vector[l + p]),
                                 Lanes::load(block + p * kLanes), sum);
    }
    sum.store(sums + j);
    for (; l < depth; ++l)
      for (int64_t i = 0; i < kLanes; ++i)
        sums[j + i] =
            __builtin_fmaf(vector[l], columns[i * step + l], sums[j + i]);
  }
  for (; j < count; ++j)
    for (int64_t l = 0; l < depth; ++l)
      sums[j] = __builtin_fmaf(vector[l], matrix[j * step + l], sums[j]);
}

template <typename Lanes>
void multiplyVector(const float *vector, const void *data, int64_t step,
                    int64_t depthStep, int64_t depth, int64_t count,
                    float *sums) {
  const auto *matrix = static_cast<const float *>(data);
  for (int64_t j = 0; j < count; ++j)
    sums[j] = 0;
  if (step != 1)
    return addColumns<Lanes>(vector, matrix, step, depth, count, sums);
  constexpr int rows = 4;
  int64_t l = 0;
  for (; l + rows <= depth; l += rows)
    addRows<Lanes, rows>(vector + l, matrix + l * depthStep, depthStep, count,
                         sums);
  for (; l < depth; ++l)
    addRows<Lanes, 1>(vector + l, matrix + l * depthStep, depthStep, count,
                      sums);
}

template <typename Lanes>
void gatherNumbers(const float *data, const int32_t *offsets, int64_t count,
                   float *to) {
  for (int64_t i = 0; i < count; i += kLanes)
    Lanes::gather(data, offsets + i).store(to + i);
}

template <typename Lanes>
void copyPieces(const float *data, const RowPiece *pieces, float *to) {
  for (; pieces->length != 0; to += pieces->length, ++pieces)
    Lanes::loadSome(data + pieces->offset, pieces->mask).store(to);
}

inline void copyNarrowPieces(const uint16_t *data, const RowPiece *pieces,
                             uint16_t *to) {
  for (; pieces->length != 0; to += pieces->length, ++pieces)
    for (int64_t i = 0; i < pieces->length; ++i)
      to[i] = pieces->mask >> i & 1 ? data[pieces->offset + i] : uint16_t(0);
}

/// Packs panels of elements that have to be widened.
template <typename T>
void packNarrow(const BlockSource &block, int64_t width, float *panels) {
  const auto *source = static_cast<const T *>(block.data);
  for (int64_t i = 0; i < block.count; i += width) {
    int64_t rest = block.count - i;
    packElements(source + i * block.step, block.step, block.depthStep,
                 rest < width ? rest : width, 0, block.depth, width,
                 panels + i * block.depth);
  }
}

template <typename Lanes>
void packPanels(const BlockSource &block, int64_t width, float *panels) {
  if (block.dtype == RG_BF16)
    return packNarrow<BF16>(block, width, panels);
  if (block.dtype == RG_F16)
    return packNarrow<F16>(block, width, panels);
  const auto *wide = static_cast<const float *>(block.data);
  int64_t first = 0;
  if (block.step == 1) {
    first = block.count / width * width;
    packRows<Lanes>(wide, block.depthStep, block.depth, first / width, width,
                    panels);
  }
  for (int64_t i = first; i < block.count; i += width) {
    int64_t rest = block.count - i;
    int64_t count = rest < width ? rest : width;
    float *panel = panels + i * block.depth;
    if (count == width && block.depthStep == 1)
      packColumns<Lanes>(wide + i * block.step, block.step, block.depth, width,
                         panel);
    else
      packElements(wide + i * block.step, block.step, block.depthStep, count, 0,
                   block.depth, width, panel);
  }
}

} // namespace
} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_CPU_BLOCKS_GEMMLOOPS_H
