//===- GemmEpilogue.cpp - What is done to the sums of a GEMM --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmEpilogue.h"

#include "CPU/Blocks/BlockKernels.h"
#include "Numeric/Elements.h"

#include <cstring>

using namespace regather::runtime;

GemmOperand::GemmOperand(const rg_gemm_desc &desc,
                         const rg_gemm_operand &operand, void *const *buffers,
                         int64_t batch)
    : data(nullptr), dtype(operand.dtype),
      elementBytes(static_cast<int64_t>(rg_dtype_size(dtype))),
      strides{operand.strides[0], operand.strides[1]} {
  int64_t offset = operand.offset;
  for (int64_t i = desc.batch_rank; i-- > 0;) {
    offset += batch % desc.batch_sizes[i] * operand.batch_strides[i];
    batch /= desc.batch_sizes[i];
  }
  if (char *base = static_cast<char *>(buffers[operand.buffer]))
    data = base + offset * elementBytes;
}

GemmEpilogue::GemmEpilogue(const rg_gemm_desc &desc, void *const *buffers,
                           int64_t batch)
    : alpha(desc.alpha), relu(desc.relu != 0), numAddends(desc.addend_count),
      // What is not there reads as C.
      addends{
          {desc, numAddends > 0 ? desc.addends[0] : desc.c, buffers, batch},
          {desc, numAddends > 1 ? desc.addends[1] : desc.c, buffers, batch}},
      result(desc, desc.c, buffers, batch) {}

float *GemmEpilogue::getTarget(int64_t row, int64_t column,
                               int64_t numColumns) const {
  // Sums are written in whole vectors.
  constexpr int64_t vector = 16;
  bool isPlain = alpha == 1 && numAddends == 0 && !relu &&
                 result.dtype == RG_F32 && result.strides[1] == 1 &&
                 numColumns % vector == 0;
  return isPlain ? static_cast<float *>(result.at(row, column)) : nullptr;
}

/// Adds a row of an addend.
/// Of a matrix whose rows are contiguous.
template <bool isWritten>
static void prefetchRows(const GemmOperand &matrix, int64_t row,
                         int64_t numRows, int64_t column, int64_t numColumns) {
  constexpr int64_t line = 64;
  if (!matrix.data || matrix.strides[1] != 1)
    return;
  int64_t bytes = numColumns * matrix.elementBytes;
  for (int64_t i = 0; i < numRows; ++i) {
    const char *from = static_cast<const char *>(matrix.at(row + i, column));
    for (int64_t begin = 0; begin < bytes; begin += line)
      __builtin_prefetch(from + begin, isWritten);
  }
}

void GemmEpilogue::prefetch(int64_t row, int64_t numRows, int64_t column,
                            int64_t numColumns) const {
  prefetchRows</*isWritten=*/true>(result, row, numRows, column, numColumns);
  for (int32_t d = 0; d < numAddends; ++d)
    prefetchRows</*isWritten=*/false>(addends[d], row, numRows, column,
                                      numColumns);
}

template <typename Element>
static void addRow(float *sums, const void *addend, int64_t stride,
                   int64_t count) {
  const auto *from = static_cast<const typename Element::Storage *>(addend);
  if (stride == 1)
    for (int64_t j = 0; j < count; ++j)
      sums[j] += Element::template load<float>(from[j]);
  else
    for (int64_t j = 0; j < count; ++j)
      sums[j] += Element::template load<float>(from[j * stride]);
}

template <typename Element>
static void storeRow(const float *values, void *row, int64_t stride,
                     int64_t count) {
  auto *to = static_cast<typename Element::Storage *>(row);
  for (int64_t j = 0; j < count; ++j)
    to[j * stride] = Element::store(values[j]);
}

void GemmEpilogue::apply(float *sums, int64_t stride, int64_t row,
                         int64_t numRows, int64_t column,
                         int64_t numColumns) const {
  const BlockKernels &kernels = getBlockKernels();
  for (int64_t i = 0; i < numRows; ++i) {
    float *values = sums + i * stride;
    if (alpha != 1)
      for (int64_t j = 0; j < numColumns; ++j)
        values[j] *= alpha;
    for (int32_t d = 0; d < numAddends; ++d) {
      const void *addend = addends[d].at(row + i, column);
      bool isContiguous = addends[d].strides[1] == 1;
      if (addends[d].dtype == RG_F32 && isContiguous) {
        kernels.addNumbers(values, static_cast<const float *>(addend),
                           numColumns, values);
        continue;
      }
      if (addends[d].dtype == RG_BF16 && isContiguous) {
        kernels.addNarrow(static_cast<const uint16_t *>(addend), numColumns,
                          values);
        continue;
      }
      useRoutineFloat(addends[d].dtype, [&](auto element) {
        addRow<decltype(element)>(values, addend, addends[d].strides[1],
                                  numColumns);
      });
    }
    // NaN stays NaN, and the result has no negative zero.
    if (relu)
      for (int64_t j = 0; j < numColumns; ++j)
        values[j] = values[j] <= 0 ? 0.0f : values[j];
    void *to = result.at(row + i, column);
    int64_t step = result.strides[1];
    if (result.dtype == RG_F32 && step == 1)
      memcpy(to, values, static_cast<size_t>(numColumns) * sizeof(float));
    else if (result.dtype == RG_BF16 && step == 1)
      kernels.narrow(values, numColumns, static_cast<uint16_t *>(to));
    else
      useRoutineFloat(result.dtype, [&](auto element) {
        storeRow<decltype(element)>(values, to, step, numColumns);
      });
  }
}
