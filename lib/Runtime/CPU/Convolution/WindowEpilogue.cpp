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

void WindowEpilogue::apply(float *sums, int64_t stride, int64_t row,
                           int64_t numRows, int64_t column,
                           int64_t numColumns) const {
  int64_t step = columns.getLastStride();
  for (int64_t i = 0; i < numRows; ++i) {
    float *values = sums + i * stride;
    if (bias) {
      float addend = bias->load((row + i) * biasStride);
      for (int64_t j = 0; j < numColumns; ++j)
        values[j] += addend;
    }
    useRoutineFloat(target.dtype, [&](auto element) {
      using Element = decltype(element);
      columns.forEachRun(column, numColumns,
                         [&](int64_t offset, int64_t begin, int64_t length) {
                           auto *to = static_cast<typename Element::Storage *>(
                               target.at((row + i) * rowStride + offset));
                           if (step == 1)
                             for (int64_t j = 0; j < length; ++j)
                               to[j] = Element::store(values[begin + j]);
                           else
                             for (int64_t j = 0; j < length; ++j)
                               to[j * step] = Element::store(values[begin + j]);
                         });
    });
  }
}
