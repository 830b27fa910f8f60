//===- SegmentSums.h - Add the sums of segments as a tree -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GEMM of segments has, for each element, one sum for each segment of k, and
// adds them as a balanced tree: that over n segments is the one over the first
// n / 2 plus the one over the others. Segments come one after the other, and
// a sum waits until that of its sibling is there:
//
//   for segment:
//     sum = products of the segment, rounded to the type of segments
//     as often as the tree says: sum = last that waits + sum
//     let it wait; behind the last segment: epilogue, write the result
//
// So log2(n) + 1 sums of a tile exist at a time, and stay in the cache.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_CPU_GEMM_SEGMENTSUMS_H
#define REGATHER_LIB_RUNTIME_CPU_GEMM_SEGMENTSUMS_H

#include "GemmEpilogue.h"
#include "GemmTasks.h"

#include <cstddef>
#include <vector>

namespace regather::runtime {

/// The order in which the sums of the segments of a GEMM are added, and the
/// memory that they wait in. Built in time linear in the number of segments.
class SegmentSums {
public:
  /// `apply` and `getTarget` are called for blocks of at most so many rows and
  /// columns of a tile, which begin at multiples of them.
  SegmentSums(const rg_gemm_desc &desc, const GemmTasks &tasks,
              int64_t blockRows, int64_t blockColumns);

  int64_t getNumSegments() const {
    return static_cast<int64_t>(additions.size());
  }
  /// Of scratch memory for one tile.
  size_t getScratchBytes() const {
    return static_cast<size_t>(mostWaiting * sumSize) * sizeof(float);
  }

private:
  friend class SegmentEpilogue;

  /// Counts the additions behind the last of `count` segments from `first` on.
  void addTree(int64_t first, int64_t count);

  int32_t dtype;
  int64_t blockRows, blockColumns;
  /// Columns of a tile in whole blocks, and numbers of a tile in whole blocks.
  int64_t tileColumns, sumSize;
  /// By segment: how many additions follow, and how many sums wait before.
  std::vector<int64_t> additions, waiting;
  int64_t mostWaiting = 0;
};

/// What is done to the sums of one segment, as `TileGemm` asks for it.
class SegmentEpilogue {
public:
  /// `scratch` holds what `SegmentSums::getScratchBytes` says, and is that of
  /// all segments of the tile. `last` is for the sums of all segments.
  SegmentEpilogue(const SegmentSums &sums, int64_t segment,
                  const GemmTile &tile, float *scratch,
                  const GemmEpilogue &last);

  float *getTarget(int64_t row, int64_t column, int64_t numColumns) const;
  int64_t getTargetStride() const {
    return isLast ? last.getTargetStride() : sums.blockColumns;
  }
  void prefetch(int64_t row, int64_t numRows, int64_t column,
                int64_t numColumns) const {
    if (isLast)
      last.prefetch(row, numRows, column, numColumns);
  }
  void apply(float *block, int64_t stride, int64_t row, int64_t numRows,
             int64_t column, int64_t numColumns) const;

private:
  /// Where the sums of a block wait.
  float *getPlace(int64_t number, int64_t row, int64_t column) const {
    return scratch + number * sums.sumSize +
           (row - tile.row) * sums.tileColumns +
           (column - tile.column) * sums.blockRows;
  }

  const SegmentSums &sums;
  const GemmTile &tile;
  float *scratch;
  const GemmEpilogue &last;
  int64_t additions, waiting;
  bool isLast;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_CPU_GEMM_SEGMENTSUMS_H
