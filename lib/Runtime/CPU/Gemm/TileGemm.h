//===- TileGemm.h - The GEMM of one tile of a result -------------*- C++
//-*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each tile of a result that is a sum of products over a depth:
//
//   for depth block:
//     pack the block of the right operand, and that of the left one
//     for panel of the right, for panel of the left:
//       sums of the two panels += product
//       behind the last block: epilogue, write the result
//
// An element is the sum of its sums over the depth blocks, in ascending order:
// its bits depend on the depth alone. (One long sum would round more.)
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_CPU_GEMM_TILEGEMM_H
#define REGATHER_LIB_RUNTIME_CPU_GEMM_TILEGEMM_H

#include "CPU/Blocks/BlockKernels.h"
#include "GemmTasks.h"
#include "Numeric/RoundUp.h"

#include <algorithm>
#include <cstddef>

namespace regather::runtime {

class TileGemm {
public:
  /// Length of the sums that make up an element, in numbers of a panel. Bits
  /// depend on it.
  static constexpr int64_t kDepthBlock = 256;

  TileGemm(const BlockKernels &kernels, const GemmTasks &tasks, int64_t depth)
      : kernels(kernels), depth(depth),
        depthBlock(kDepthBlock * kernels.positions) {
    int64_t block = kernels.getNumbers(std::min(depth, depthBlock));
    int64_t rows = roundUp(tasks.getTileRows(), kernels.rows);
    int64_t columns = roundUp(tasks.getTileColumns(), kernels.columns);
    leftSize = roundUp(rows * block, kLine);
    rightSize = roundUp(columns * block, kLine);
    sumSize = roundUp(depth > depthBlock ? rows * columns
                                         : kernels.rows * kernels.columns,
                      kLine);
  }

  /// Of scratch memory, a multiple of 64 bytes.
  int64_t getScratchFloats() const { return leftSize + rightSize + sumSize; }
  size_t getScratchBytes() const {
    return static_cast<size_t>(getScratchFloats()) * sizeof(float);
  }

  /// Computes a tile.
  ///   packLeft(begin, count, panels), packRight(begin, count, panels):
  ///     pack positions [begin, begin + count) of the depth for all rows or all
  ///     columns of the tile.
  ///   epilogue.getTarget(row, column, numColumns): where the sums from there
  ///   on
  ///     are written to, `getTargetStride()` apart, in whole vectors; or null
  ///     if `apply(sums, stride, row, numRows, column, numColumns)` writes
  ///     them.
  ///   epilogue.prefetch(row, numRows, column, numColumns): called before the
  ///     sums are computed.
  /// Rows and columns are those of the result.
  template <typename PackLeft, typename PackRight, typename Epilogue>
  void run(const GemmTile &tile, PackLeft packLeft, PackRight packRight,
           const Epilogue &epilogue, void *scratch) const {
    run(tile, depth, packLeft, packRight, epilogue, scratch);
  }

  /// The same with sums of another length, at most that of the constructor.
  template <typename PackLeft, typename PackRight, typename Epilogue>
  void run(const GemmTile &tile, int64_t length, PackLeft packLeft,
           PackRight packRight, const Epilogue &epilogue, void *scratch) const {
    auto *left = static_cast<float *>(scratch);
    float *right = left + leftSize;
    float *sums = right + rightSize;
    const int64_t tileSize = kernels.rows * kernels.columns;
    const bool isOneBlock = length <= depthBlock;
    // Once even if there is nothing to sum.
    for (int64_t l = 0; l == 0 || l < length; l += depthBlock) {
      int64_t count = std::min(depthBlock, length - l);
      int64_t numbers = kernels.getNumbers(count);
      packRight(l, count, right);
      packLeft(l, count, left);
      bool isLast = l + depthBlock >= length;
      float *sum = sums;
      for (int64_t j = 0; j < tile.numColumns; j += kernels.columns)
        for (int64_t i = 0; i < tile.numRows; i += kernels.rows) {
          int64_t numRows = std::min(kernels.rows, tile.numRows - i);
          int64_t numColumns = std::min(kernels.columns, tile.numColumns - j);
          if (isLast)
            epilogue.prefetch(tile.row + i, numRows, tile.column + j,
                              numColumns);
          float *direct = isLast
                              ? epilogue.getTarget(tile.row + i,
                                                   tile.column + j, numColumns)
                              : nullptr;
          kernels.multiply(
              left + i * numbers, right + j * numbers, numbers, numRows,
              numColumns, l > 0 ? sum : nullptr, direct ? direct : sum,
              direct ? epilogue.getTargetStride() : kernels.columns);
          if (isLast && !direct)
            epilogue.apply(sum, kernels.columns, tile.row + i, numRows,
                           tile.column + j, numColumns);
          if (!isOneBlock)
            sum += tileSize;
        }
    }
  }

private:
  /// Floats in a line of the cache.
  static constexpr int64_t kLine = 16;

  const BlockKernels &kernels;
  int64_t depth, depthBlock;
  int64_t leftSize, rightSize, sumSize;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_CPU_GEMM_TILEGEMM_H
