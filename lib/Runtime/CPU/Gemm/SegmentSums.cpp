//===- SegmentSums.cpp - Add the sums of segments as a tree ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SegmentSums.h"

#include "CPU/Blocks/BlockKernels.h"
#include "Numeric/Elements.h"
#include "Numeric/RoundUp.h"

#include <algorithm>
#include <cstring>

using namespace regather::runtime;

SegmentSums::SegmentSums(const rg_gemm_desc &desc, const GemmTasks &tasks,
                         int64_t blockRows, int64_t blockColumns)
    : dtype(desc.segment_dtype), blockRows(blockRows),
      blockColumns(blockColumns),
      tileColumns(roundUp(tasks.getTileColumns(), blockColumns)),
      sumSize(roundUp(tasks.getTileRows(), blockRows) * tileColumns),
      additions(static_cast<size_t>(regather::runtime::getNumSegments(desc))) {
  addTree(0, getNumSegments());
  int64_t count = 0;
  for (int64_t added : additions) {
    waiting.push_back(count);
    mostWaiting = std::max(mostWaiting, count);
    count += 1 - added;
  }
}

void SegmentSums::addTree(int64_t first, int64_t count) {
  if (count == 1)
    return;
  addTree(first, count / 2);
  addTree(first + count / 2, count - count / 2);
  ++additions[static_cast<size_t>(first + count - 1)];
}

SegmentEpilogue::SegmentEpilogue(const SegmentSums &sums, int64_t segment,
                                 const GemmTile &tile, float *scratch,
                                 const GemmEpilogue &last)
    : sums(sums), tile(tile), scratch(scratch), last(last),
      additions(sums.additions[static_cast<size_t>(segment)]),
      waiting(sums.waiting[static_cast<size_t>(segment)]),
      isLast(segment + 1 == sums.getNumSegments()) {}

float *SegmentEpilogue::getTarget(int64_t row, int64_t column,
                                  int64_t numColumns) const {
  if (isLast)
    return additions > 0 ? nullptr : last.getTarget(row, column, numColumns);
  bool isPlain = additions == 0 && sums.dtype == RG_F32;
  return isPlain ? getPlace(waiting, row, column) : nullptr;
}

/// Rounds the sums of one segment to a type of 16 bits.
static void roundNumbers(int32_t dtype, float *numbers, int64_t count) {
  if (dtype == RG_BF16)
    return getBlockKernels().roundToNarrow(numbers, count);
  for (int64_t j = 0; j < count; ++j)
    numbers[j] = F16Element::load<float>(F16Element::store(numbers[j]));
}

void SegmentEpilogue::apply(float *block, int64_t stride, int64_t row,
                            int64_t numRows, int64_t column,
                            int64_t numColumns) const {
  const BlockKernels &kernels = getBlockKernels();
  if (sums.dtype != RG_F32)
    for (int64_t i = 0; i < numRows; ++i)
      roundNumbers(sums.dtype, block + i * stride, numColumns);
  float *target = isLast ? last.getTarget(row, column, numColumns)
                         : getPlace(waiting - additions, row, column);
  const int64_t targetStride = getTargetStride();
  for (int64_t k = 1; k <= additions; ++k) {
    const float *low = getPlace(waiting - k, row, column);
    // The last addition writes the sum to where it belongs.
    bool isDone = target && k == additions;
    for (int64_t i = 0; i < numRows; ++i)
      kernels.addNumbers(
          low + i * sums.blockColumns, block + i * stride, numColumns,
          isDone ? target + i * targetStride : block + i * stride);
  }
  if (isLast && !target)
    return last.apply(block, stride, row, numRows, column, numColumns);
  if (additions == 0)
    for (int64_t i = 0; i < numRows; ++i)
      memcpy(target + i * targetStride, block + i * stride,
             static_cast<size_t>(numColumns) * sizeof(float));
}
