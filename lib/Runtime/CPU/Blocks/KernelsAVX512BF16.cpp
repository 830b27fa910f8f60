//===- KernelsAVX512BF16.cpp - Block kernels for pairs of bf16 ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A number of a panel holds two elements of bf16, the first in its lower half.
//
//===----------------------------------------------------------------------===//

#include "BlockKernels.h"

#ifdef __AVX512BF16__

#include "LanesAVX512.h"
#include "SoftmaxLoops.h"

using namespace regather::runtime;

namespace {
/// Elements of a vector of bf16, and pairs of them.
constexpr int64_t kElements = 16, kPairs = kElements / 2;

struct PairLanes : Lanes {
  PairLanes() = default;
  PairLanes(Lanes lanes) : Lanes(lanes) {}

  static PairLanes multiplyAdd(PairLanes a, PairLanes b, PairLanes c) {
    // Both hold 32 elements.
    return Lanes{_mm512_dpbf16_ps(
        c.value, reinterpret_cast<__m512bh>(_mm512_castps_si512(a.value)),
        reinterpret_cast<__m512bh>(_mm512_castps_si512(b.value)))};
  }
};

/// The first `count` of 16 elements, behind which there are zeros.
__mmask16 getMask(int64_t count) {
  return count >= kElements
             ? static_cast<__mmask16>(-1)
             : static_cast<__mmask16>((1u << (count < 0 ? 0 : count)) - 1);
}

__m256i loadElements(const uint16_t *from, __mmask16 mask) {
  return _mm256_maskz_loadu_epi16(mask, from);
}

/// The same of numbers, which are rounded as toBF16 does. (The instruction for
/// it would take subnormal numbers for zero.)
__m256i loadElements(const float *from, __mmask16 mask) {
  __m512 numbers = _mm512_maskz_loadu_ps(mask, from);
  __m512i bits = _mm512_castps_si512(numbers);
  __m512i upper = _mm512_srli_epi32(bits, 16);
  __m512i odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
  __m512i up = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF));
  __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, up), 16);
  __m512i quiet = _mm512_or_si512(upper, _mm512_set1_epi32(0x40));
  __mmask16 isNaN = _mm512_cmp_ps_mask(numbers, numbers, _CMP_UNORD_Q);
  return _mm512_cvtepi32_epi16(_mm512_mask_mov_epi32(rounded, isNaN, quiet));
}

/// Packs one panel, `count` of whose rows exist and have their depth
/// contiguous.
template <typename T>
void packDeepRows(const T *source, int64_t step, int64_t count, int64_t depth,
                  int64_t width, float *panel) {
  int64_t numPairs = (depth + 1) / 2;
  for (int64_t l = 0; l < numPairs; l += kPairs) {
    __mmask16 mask = getMask(depth - 2 * l);
    for (int64_t i = 0; i < width; i += kPart) {
      int64_t row = clampBlock(i, width);
      __m256 rows[8], columns[8];
#pragma GCC unroll 8
      for (int64_t r = 0; r < 8; ++r)
        rows[r] = _mm256_castsi256_ps(
            row + r < count
                ? loadElements(source + (row + r) * step + 2 * l, mask)
                : _mm256_setzero_si256());
      transpose8x8(rows, columns);
      float *to = panel + l * width + row;
      if (l + kPairs <= numPairs) {
#pragma GCC unroll 8
        for (int64_t p = 0; p < kPairs; ++p)
          _mm256_storeu_ps(to + p * width, columns[p]);
      } else {
        for (int64_t p = 0; p < numPairs - l; ++p)
          _mm256_storeu_ps(to + p * width, columns[p]);
      }
    }
  }
}

/// Packs panels of `count` rows that lie beside each other. What is contiguous
/// in memory is read in one go.
template <typename T>
void packWideRows(const T *source, int64_t depthStep, int64_t count,
                  int64_t depth, int64_t width, float *panels) {
  constexpr int64_t ahead = 8;
  int64_t numPairs = (depth + 1) / 2;
  for (int64_t l = 0; l < numPairs; ++l) {
    const T *first = source + 2 * l * depthStep;
    bool hasSecond = 2 * l + 1 < depth;
    const T *second = hasSecond ? first + depthStep : first;
    int64_t next = 2 * l + ahead + 1 < depth ? ahead * depthStep : 0;
    for (int64_t begin = 0; begin < count; begin += width) {
      float *to = panels + begin * numPairs + l * width;
      for (int64_t i = 0; i < width; i += kElements) {
        int64_t place = begin + i;
        __mmask16 mask =
            getMask(count - place < width - i ? count - place : width - i);
        __builtin_prefetch(first + place + next);
        __builtin_prefetch(second + place + next);
        __m512i low = _mm512_cvtepu16_epi32(loadElements(first + place, mask));
        __m512i high = _mm512_cvtepu16_epi32(loadElements(
            second + place, hasSecond ? mask : static_cast<__mmask16>(0)));
        __m512i pairs = _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
        _mm512_mask_storeu_epi32(to + i, getMask(width - i), pairs);
      }
    }
  }
}

float makePair(uint16_t low, uint16_t high) {
  return toFloat(static_cast<uint32_t>(high) << 16 | low);
}
uint16_t getElement(uint16_t bits) { return bits; }
uint16_t getElement(float value) { return roundToBF16(value); }

/// Packs one panel element by element, `count` of whose rows exist.
template <typename T>
void packPairs(const T *source, int64_t step, int64_t depthStep, int64_t count,
               int64_t depth, int64_t width, float *panel) {
  for (int64_t l = 0; l < depth; l += 2, panel += width)
    for (int64_t i = 0; i < width; ++i) {
      const T *from = source + i * step + l * depthStep;
      bool exists = i < count;
      panel[i] =
          makePair(exists ? getElement(*from) : 0,
                   exists && l + 1 < depth ? getElement(from[depthStep]) : 0);
    }
}

template <typename T>
void packPairPanels(const BlockSource &block, int64_t width, float *panels) {
  const auto *source = static_cast<const T *>(block.data);
  if (block.step == 1 && block.depthStep != 1)
    return packWideRows(source, block.depthStep, block.count, block.depth,
                        width, panels);
  int64_t numPairs = (block.depth + 1) / 2;
  for (int64_t i = 0; i < block.count; i += width) {
    int64_t rest = block.count - i;
    int64_t count = rest < width ? rest : width;
    const T *from = source + i * block.step;
    float *panel = panels + i * numPairs;
    if (block.depthStep == 1)
      packDeepRows(from, block.step, count, block.depth, width, panel);
    else
      packPairs(from, block.step, block.depthStep, count, block.depth, width,
                panel);
  }
}

void packBF16Pairs(const BlockSource &block, int64_t width, float *panels) {
  if (block.dtype == RG_BF16)
    packPairPanels<uint16_t>(block, width, panels);
  else
    packPairPanels<float>(block, width, panels);
}

//===----------------------------------------------------------------------===//
// A row times a matrix
//===----------------------------------------------------------------------===//

PairLanes loadPairs(const float *pairs) { return Lanes::load(pairs); }

/// Pairs of up to 16 columns, one element after the other.
PairLanes gatherPairs(const uint16_t *matrix, int64_t step, int64_t depthStep,
                      int64_t count, bool hasSecond) {
  float pairs[kLanes] = {};
  for (int64_t i = 0; i < count; ++i)
    pairs[i] = makePair(matrix[i * step],
                        hasSecond ? matrix[i * step + depthStep] : 0);
  return loadPairs(pairs);
}

/// Pairs of up to 16 columns that lie beside each other.
PairLanes loadRows(const uint16_t *first, const uint16_t *second,
                   __mmask16 mask, __mmask16 secondMask) {
  __m512i low = _mm512_cvtepu16_epi32(loadElements(first, mask));
  __m512i high = _mm512_cvtepu16_epi32(loadElements(second, secondMask));
  return Lanes{
      _mm512_castsi512_ps(_mm512_or_si512(low, _mm512_slli_epi32(high, 16)))};
}

/// Adds the products of one pair, for rows of the matrix that lie contiguous.
void addPairOfRows(const float *pair, const uint16_t *matrix, int64_t depthStep,
                   bool hasSecond, int64_t count, float *sums) {
  PairLanes factor = Lanes::broadcast(*pair);
  const uint16_t *second = hasSecond ? matrix + depthStep : matrix;
  for (int64_t j = 0; j < count; j += kLanes) {
    __mmask16 mask = getMask(count - j);
    PairLanes row = loadRows(matrix + j, second + j, mask,
                             hasSecond ? mask : static_cast<__mmask16>(0));
    PairLanes::multiplyAdd(factor, row, loadPairs(sums + j)).store(sums + j);
  }
}

/// The sums of up to 16 columns that are contiguous themselves.
PairLanes sumColumns(const float *vector, const uint16_t *columns, int64_t step,
                     int64_t depth, int64_t count) {
  constexpr int64_t ahead = 16 * kLanes;
  PairLanes sum = Lanes::broadcast(0.0f);
  float block[kLanes * kLanes];
  int64_t l = 0;
  for (; count == kLanes && 2 * (l + kLanes) <= depth; l += kLanes) {
    for (int64_t i = 0; i < kLanes; i += kPart)
      for (int64_t part = 0; part < kLanes; part += kPart) {
        __m256 rows[8], turned[8];
#pragma GCC unroll 8
        for (int64_t r = 0; r < 8; ++r)
          rows[r] = _mm256_castsi256_ps(
              loadElements(columns + (i + r) * step + 2 * (l + part),
                           static_cast<__mmask16>(-1)));
        transpose8x8(rows, turned);
#pragma GCC unroll 8
        for (int64_t r = 0; r < 8; ++r)
          _mm256_storeu_ps(block + (part + r) * kLanes + i, turned[r]);
      }
    for (int64_t c = 0; c < kLanes; ++c)
      __builtin_prefetch(columns + c * step + 2 * l + ahead);
#pragma GCC unroll 16
    for (int64_t p = 0; p < kLanes; ++p)
      sum = PairLanes::multiplyAdd(Lanes::broadcast(vector[l + p]),
                                   loadPairs(block + p * kLanes), sum);
  }
  for (; 2 * l < depth; ++l)
    sum = PairLanes::multiplyAdd(
        Lanes::broadcast(vector[l]),
        gatherPairs(columns + 2 * l, step, 1, count, 2 * l + 1 < depth), sum);
  return sum;
}

void multiplyVectorOfPairs(const float *vector, const void *matrix,
                           int64_t step, int64_t depthStep, int64_t depth,
                           int64_t count, float *sums) {
  const auto *elements = static_cast<const uint16_t *>(matrix);
  if (step != 1) {
    for (int64_t j = 0; j < count; j += kLanes)
      sumColumns(vector, elements + j * step, step, depth,
                 count - j < kLanes ? count - j : kLanes)
          .store(sums + j);
    return;
  }
  for (int64_t j = 0; j < count; j += kLanes)
    Lanes::broadcast(0.0f).store(sums + j);
  for (int64_t l = 0; l < depth; l += 2)
    addPairOfRows(vector + l / 2, elements + l * depthStep, depthStep,
                  l + 1 < depth, count, sums);
}

void copyMaskedPieces(const uint16_t *data, const RowPiece *pieces,
                      uint16_t *to) {
  for (; pieces->length != 0; to += pieces->length, ++pieces) {
    __m256i read =
        _mm256_maskz_loadu_epi16(pieces->mask, data + pieces->offset);
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(to), read);
  }
}

constexpr int numRows = 14, numVectors = 2;

constexpr BlockKernels makePairKernels() {
  BlockKernels kernels =
      makeBlockKernels<Lanes, numRows, numVectors>("avx512_bf16");
  kernels.positions = 2;
  kernels.pack = packBF16Pairs;
  kernels.copyNarrowPieces = copyMaskedPieces;
  kernels.multiply = multiplyPanels<PairLanes, numRows, numVectors>;
  kernels.multiplyVector = multiplyVectorOfPairs;
  return kernels;
}
} // namespace

const BlockKernels *regather::runtime::getAVX512BF16Kernels() {
  static constexpr BlockKernels kernels = makePairKernels();
  return __builtin_cpu_supports("avx512bf16") ? &kernels : nullptr;
}

#else

const regather::runtime::BlockKernels *
regather::runtime::getAVX512BF16Kernels() {
  return nullptr;
}

#endif
