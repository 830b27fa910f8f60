//===- WindowEpilogue.cpp - Write the sums of a convolution ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WindowEpilogue.h"

#include "Numeric/Elements.h"

using namespace regather::runtime;

float *WindowEpilogue::getTarget(int64_t row, int64_t column,
                                 int64_t numColumns) const {
  constexpr int64_t vector = 16;
  if (bias || target.dtype != RG_F32 || numColumns % vector != 0 ||
      column / span != (column + numColumns - 1) / span)
    return nullptr;
  int64_t first = 0;
  columns.forEachRun(column, 1,
                     [&](int64_t offset, int64_t, int64_t) { first = offset; });
  return static_cast<float *>(target.at(row * rowStride + first));
}

/// Writes numbers `step` apart.
template <typename Element>
static void storeNumbers(const float *values, int64_t count, int64_t step,
                         typename Element::Storage *to) {
  if (step == 1)
    for (int64_t j = 0; j < count; ++j)
      to[j] = Element::store(values[j]);
  else
    for (int64_t j = 0; j < count; ++j)
      to[j * step] = Element::store(values[j]);
}

void WindowEpilogue::apply(float *sums, int64_t stride, int64_t row,
                           int64_t numRows, int64_t column,
                           int64_t numColumns) const {
  int64_t step = columns.getLastStride();
  for (int64_t i = 0; bias && i < numRows; ++i) {
    float addend = bias->load((row + i) * biasStride);
    for (int64_t j = 0; j < numColumns; ++j)
      sums[i * stride + j] += addend;
  }
  columns.forEachRun(
      column, numColumns, [&](int64_t offset, int64_t begin, int64_t length) {
        for (int64_t i = 0; i < numRows; ++i) {
          const float *values = sums + i * stride + begin;
          void *to = target.at((row + i) * rowStride + offset);
          if (target.dtype == RG_BF16 && step == 1)
            kernels.narrow(values, length, static_cast<uint16_t *>(to));
          else
            useRoutineFloat(target.dtype, [&](auto element) {
              using Element = decltype(element);
              storeNumbers<Element>(
                  values, length, step,
                  static_cast<typename Element::Storage *>(to));
            });
        }
      });
}
