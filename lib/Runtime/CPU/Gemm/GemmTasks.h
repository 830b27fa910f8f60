//===- GemmTasks.h - Cut a GEMM into tasks ----------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The result of each matrix is cut into tiles of nearly equal size, and a task
// computes some tiles that follow each other. Tiles are small enough that what
// belongs to one stays in the cache of a core, large enough that packing their
// operands costs little, and there are enough of them for several threads.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_CPU_GEMM_GEMMTASKS_H
#define REGATHER_LIB_RUNTIME_CPU_GEMM_GEMMTASKS_H

#include "regather/Runtime/Gemm.h"

namespace regather::runtime {

/// The number of segments of k, at least 1, and their length.
inline int64_t getNumSegments(const rg_gemm_desc &desc) {
  return desc.segments > 1 ? desc.segments : 1;
}
inline int64_t getSegmentLength(const rg_gemm_desc &desc) {
  return desc.k / getNumSegments(desc);
}

/// A part of the result of one matrix of the batch.
struct GemmTile {
  int64_t batch;
  int64_t row, numRows;
  int64_t column, numColumns;
};

class GemmTasks {
public:
  /// A GEMM of segments has the tiles of that of one segment, whose bits may
  /// depend on them.
  explicit GemmTasks(const rg_gemm_desc &desc);
  /// For `batch` matrices of m x n sums of length k. Large tiles are cut until
  /// there are `wantedTiles` of them.
  GemmTasks(int64_t batch, int64_t m, int64_t n, int64_t k,
            int64_t wantedTiles = kWantedTiles);

  int64_t getNumTasks() const { return numTasks; }
  /// Tiles of a task are [first, last).
  int64_t getFirstTile(int64_t task) const;
  GemmTile getTile(int64_t tile) const;

  /// Of the largest tile.
  int64_t getTileRows() const { return rowsPerTile; }
  int64_t getTileColumns() const { return columnsPerTile; }

private:
  static constexpr int64_t kWantedTiles = 8;

  int64_t m, n;
  int64_t rowsPerTile, columnsPerTile;
  int64_t rowTiles, columnTiles, numTiles, numTasks;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_CPU_GEMM_GEMMTASKS_H
