//===- Blocks.cpp - Blocks of scores --------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attention.h"

#include "Numeric/Elements.h"

#include <algorithm>
#include <cstring>
#include <limits>

using namespace regather::runtime;

static constexpr int64_t kVector = 16;

HeadView::HeadView(const rg_attention_operand &operand, void *const *buffers,
                   int64_t batch, int64_t head)
    : dtype(operand.dtype),
      elementBytes(static_cast<int64_t>(rg_dtype_size(dtype))),
      strides{operand.strides[2], operand.strides[3]} {
  int64_t first =
      operand.offset + batch * operand.strides[0] + head * operand.strides[1];
  data = static_cast<char *>(buffers[operand.buffer]) + first * elementBytes;
}

void *HeadView::at(int64_t row, int64_t element) const {
  return data + (row * strides[0] + element * strides[1]) * elementBytes;
}

void HeadView::read(int64_t row, int64_t count, float *to) const {
  useRoutineFloat(dtype, [&](auto element) {
    using Element = decltype(element);
    const auto *from =
        static_cast<const typename Element::Storage *>(at(row, 0));
    if (strides[1] == 1)
      for (int64_t j = 0; j < count; ++j)
        to[j] = Element::template load<float>(from[j]);
    else
      for (int64_t j = 0; j < count; ++j)
        to[j] = Element::template load<float>(from[j * strides[1]]);
  });
  std::fill(to + count, to + roundUp(count, kVector), 0.0f);
}

void HeadView::write(int64_t row, int64_t count, const float *from) const {
  useRoutineFloat(dtype, [&](auto element) {
    using Element = decltype(element);
    auto *to = static_cast<typename Element::Storage *>(at(row, 0));
    if (strides[1] == 1)
      for (int64_t j = 0; j < count; ++j)
        to[j] = Element::store(from[j]);
    else
      for (int64_t j = 0; j < count; ++j)
        to[j * strides[1]] = Element::store(from[j]);
  });
}

void HeadView::readMask(int64_t row, int64_t column, int64_t count,
                        float *to) const {
  if (dtype != RG_I1) {
    HeadView part = *this;
    part.data += column * strides[1] * elementBytes;
    return part.read(row, count, to);
  }
  const auto *from = static_cast<const char *>(at(row, column));
  for (int64_t j = 0; j < count; ++j)
    to[j] =
        from[j * strides[1]] ? 0.0f : -std::numeric_limits<float>::infinity();
  std::fill(to + count, to + roundUp(count, kVector), 0.0f);
}

void HeadView::add(int64_t row, int64_t column, int64_t count,
                   const float *from) const {
  auto *to = static_cast<float *>(at(row, column));
  if (strides[1] == 1)
    for (int64_t j = 0; j < count; ++j)
      to[j] += from[j];
  else
    for (int64_t j = 0; j < count; ++j)
      to[j * strides[1]] += from[j];
}

void HeadView::clear(int64_t rows, int64_t count) const {
  for (int64_t row = 0; row < rows; ++row) {
    auto *to = static_cast<float *>(at(row, 0));
    for (int64_t j = 0; j < count; ++j)
      to[j * strides[1]] = 0.0f;
  }
}

bool regather::runtime::hidesBlock(const HeadView &mask, int64_t row,
                                   int64_t numRows, int64_t column,
                                   int64_t numColumns, float *line) {
  for (int64_t i = 0; i < (mask.repeatsRow() ? 1 : numRows); ++i) {
    mask.readMask(row + i, column, numColumns, line);
    // NaN hides nothing.
    bool isHidden = true;
    for (int64_t j = 0; j < numColumns; ++j)
      isHidden &= line[j] <= kHiddenScore;
    if (!isHidden)
      return false;
  }
  return true;
}

void TiledSums::clear() {
  std::fill(data, data + getSize(kernels, rows, columns), 0.0f);
}

void TiledSums::add(const float *left, const float *right, int64_t first,
                    int64_t count, int64_t depth, SeenScores seen) {
  const int64_t numbers = kernels.getNumbers(depth);
  for (int64_t j = 0; j < columns; j += kernels.columns)
    for (int64_t i = 0; i < count; i += kernels.rows) {
      int64_t numRows = std::min(kernels.rows, count - i);
      int64_t begin = seen.getBegin(i) / kernels.positions;
      int64_t end = kernels.getNumbers(seen.getEnd(i, numRows, depth));
      if (begin >= end)
        continue;
      float *tile = data + j * rows + (first + i) * kernels.columns;
      kernels.multiply(
          left + i * numbers + begin * kernels.rows,
          right + j * numbers + begin * kernels.columns, end - begin, numRows,
          std::min(kernels.columns, columns - j), tile, tile, kernels.columns);
    }
}

void TiledSums::multiplyRow(int64_t row, float factor) {
  for (int64_t j = 0; j < columns; j += kernels.columns)
    kernels.multiplyRow(
        data + j * rows + row * kernels.columns,
        roundUp(std::min(kernels.columns, columns - j), kVector), factor);
}

void TiledSums::getRow(int64_t row, float *to) const {
  for (int64_t j = 0; j < columns; j += kernels.columns)
    memcpy(to + j, data + j * rows + row * kernels.columns,
           static_cast<size_t>(
               roundUp(std::min(kernels.columns, columns - j), kVector)) *
               sizeof(float));
}

void regather::runtime::multiplyBlock(const BlockKernels &kernels,
                                      const float *left, const float *right,
                                      int64_t depth, int64_t numRows,
                                      int64_t numColumns, int64_t visible,
                                      float *tile, int64_t stride) {
  depth = kernels.getNumbers(depth);
  for (int64_t j = 0; j < numColumns; j += kernels.columns)
    for (int64_t i = 0; i < numRows; i += kernels.rows)
      if (j < visible + i + kernels.rows - 1)
        kernels.multiply(left + i * depth, right + j * depth, depth,
                         std::min(kernels.rows, numRows - i),
                         std::min(kernels.columns, numColumns - j), nullptr,
                         tile + i * stride + j, stride);
}

/// Kernels for the type of the operands, if they have one.
static const BlockKernels &chooseKernels(const rg_attention_desc &desc) {
  int32_t dtype = desc.q.dtype;
  bool isUniform = desc.k.dtype == dtype && desc.v.dtype == dtype &&
                   (!desc.backward || desc.grad_o.dtype == dtype);
  return isUniform ? getBlockKernels(dtype) : getBlockKernels();
}

Attention::Attention(const rg_attention_desc &desc)
    : desc(desc), kernels(chooseKernels(desc)) {}

float Attention::makeScores(float *products, int64_t visible, int64_t count,
                            const float *mask, float *slopes) const {
  float scale = desc.scale;
  if (desc.softcap != 0) {
    kernels.capScores(products, count, scale / desc.softcap, desc.softcap,
                      slopes);
    scale = 1;
  }
  return kernels.scaleScores(products, visible, count, scale, mask);
}

int64_t Attention::getVisible(int64_t row) const {
  return desc.causal ? std::min(row + 1, desc.columns) : desc.columns;
}
