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

constexpr int numRows = 14, numVectors = 2;

constexpr BlockKernels makePairKernels() {
  BlockKernels kernels =
      makeBlockKernels<Lanes, numRows, numVectors>("avx512_bf16");
  kernels.positions = 2;
  kernels.pack = packBF16Pairs;
  kernels.multiply = multiplyPanels<PairLanes, numRows, numVectors>;
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
