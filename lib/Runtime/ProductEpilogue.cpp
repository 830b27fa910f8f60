//===- ProductEpilogue.cpp - What is done to a sum of products ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProductEpilogue.h"

#include "Numeric/Half.h"

#include <cstring>

using namespace regather::runtime;

ProductOperand::ProductOperand(const rg_gemm_desc &desc,
                               const rg_gemm_operand &operand,
                               void *const *buffers, int64_t batch)
    : data(nullptr), isBF16(operand.dtype == RG_BF16),
      strides{operand.strides[0], operand.strides[1]} {
  int64_t offset = operand.offset;
  for (int64_t i = desc.batch_rank; i-- > 0;) {
    offset += batch % desc.batch_sizes[i] * operand.batch_strides[i];
    batch /= desc.batch_sizes[i];
  }
  if (char *base = static_cast<char *>(buffers[operand.buffer]))
    data = base + offset * (isBF16 ? 2 : 4);
}

ProductEpilogue::ProductEpilogue(const rg_gemm_desc &desc, void *const *buffers,
                                 int64_t batch)
    : alpha(desc.alpha), relu(desc.relu != 0), numAddends(desc.addend_count),
      // What is not there reads as C.
      addends{
          {desc, numAddends > 0 ? desc.addends[0] : desc.c, buffers, batch},
          {desc, numAddends > 1 ? desc.addends[1] : desc.c, buffers, batch}},
      result(desc, desc.c, buffers, batch) {}

float *ProductEpilogue::getTarget(int64_t row, int64_t column,
                                  int64_t numColumns) const {
  // Sums are written in whole vectors.
  constexpr int64_t vector = 16;
  bool isPlain = alpha == 1 && numAddends == 0 && !relu && !result.isBF16 &&
                 result.strides[1] == 1 && numColumns % vector == 0;
  return isPlain ? static_cast<float *>(result.at(row, column)) : nullptr;
}

/// Adds a row of an addend.
template <typename T>
static void addRow(float *sums, const T *addend, int64_t stride,
                   int64_t count) {
  auto widen = [](T value) {
    if constexpr (sizeof(T) == sizeof(uint16_t))
      return fromBF16(value);
    else
      return value;
  };
  if (stride == 1)
    for (int64_t j = 0; j < count; ++j)
      sums[j] += widen(addend[j]);
  else
    for (int64_t j = 0; j < count; ++j)
      sums[j] += widen(addend[j * stride]);
}

void ProductEpilogue::apply(float *sums, int64_t stride, int64_t row,
                            int64_t numRows, int64_t column,
                            int64_t numColumns) const {
  for (int64_t i = 0; i < numRows; ++i) {
    float *values = sums + i * stride;
    if (alpha != 1)
      for (int64_t j = 0; j < numColumns; ++j)
        values[j] *= alpha;
    for (int32_t d = 0; d < numAddends; ++d) {
      const void *from = addends[d].at(row + i, column);
      if (addends[d].isBF16)
        addRow(values, static_cast<const uint16_t *>(from),
               addends[d].strides[1], numColumns);
      else
        addRow(values, static_cast<const float *>(from), addends[d].strides[1],
               numColumns);
    }
    // NaN stays NaN, and the result has no negative zero.
    if (relu)
      for (int64_t j = 0; j < numColumns; ++j)
        values[j] = values[j] <= 0 ? 0.0f : values[j];
    void *to = result.at(row + i, column);
    int64_t step = result.strides[1];
    if (result.isBF16)
      for (int64_t j = 0; j < numColumns; ++j)
        static_cast<uint16_t *>(to)[j * step] = toBF16(values[j]);
    else if (step == 1)
      memcpy(to, values, static_cast<size_t>(numColumns) * sizeof(float));
    else
      for (int64_t j = 0; j < numColumns; ++j)
        static_cast<float *>(to)[j * step] = values[j];
  }
}
