//===- BlockedGemm.cpp - GEMMs by packed blocks ---------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each tile of the result:
//
//   for depth block of k:
//     pack the block's rows of B, and its columns of A
//     for panel of B, for panel of A:
//       sums of the two panels += their GEMM
//       behind the last block: epilogue, write to C
//
// An element is the sum of its sums over the depth blocks, in ascending order:
// its bits depend on k alone. (One long sum would round more.)
//
//===----------------------------------------------------------------------===//

#include "CPU/Blocks/BlockKernels.h"
#include "Gemm.h"
#include "GemmEpilogue.h"
#include "Numeric/RoundUp.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

using namespace regather::runtime;

/// Length of the sums that make up an element. Bits depend on it.
static constexpr int64_t kDepthBlock = 256;

namespace {
class BlockedGemm final : public GemmRoutine {
public:
  BlockedGemm(const rg_gemm_desc &desc)
      : GemmRoutine(desc, GemmTasks(desc)), kernels(getBlockKernels()) {
    int64_t depth = std::min(desc.k, kDepthBlock);
    rowCapacity = roundUp(tasks.getTileRows(), kernels.rows);
    columnCapacity = roundUp(tasks.getTileColumns(), kernels.columns);
    leftSize = roundUp(rowCapacity * depth, kLine);
    rightSize = roundUp(columnCapacity * depth, kLine);
    sumSize = desc.k > kDepthBlock ? rowCapacity * columnCapacity
                                   : kernels.rows * kernels.columns;
  }

  size_t getScratchBytes() const override {
    return static_cast<size_t>(leftSize + rightSize + sumSize) * sizeof(float);
  }

protected:
  bool runTile(void *const *buffers, const GemmTile &tile,
               void *scratch) const override;

private:
  /// Floats in a line of the cache.
  static constexpr int64_t kLine = 16;

  const BlockKernels &kernels;
  int64_t rowCapacity, columnCapacity;
  int64_t leftSize, rightSize, sumSize;
};
} // namespace

bool BlockedGemm::runTile(void *const *buffers, const GemmTile &tile,
                          void *scratch) const {
  auto *left = static_cast<float *>(scratch);
  float *right = left + leftSize;
  float *sums = right + rightSize;
  const int64_t tileSize = kernels.rows * kernels.columns;
  const bool isOneBlock = desc.k <= kDepthBlock;
  GemmOperand a(desc, desc.a, buffers, tile.batch);
  GemmOperand b(desc, desc.b, buffers, tile.batch);
  GemmEpilogue epilogue(desc, buffers, tile.batch);
  // Once even if there is nothing to sum.
  for (int64_t l = 0; l == 0 || l < desc.k; l += kDepthBlock) {
    int64_t depth = std::min(kDepthBlock, desc.k - l);
    kernels.pack({b.at(l, tile.column), b.dtype, tile.numColumns, b.strides[1],
                  depth, b.strides[0]},
                 kernels.columns, right);
    kernels.pack({a.at(tile.row, l), a.dtype, tile.numRows, a.strides[0], depth,
                  a.strides[1]},
                 kernels.rows, left);
    bool isLast = l + kDepthBlock >= desc.k;
    float *sum = sums;
    for (int64_t j = 0; j < tile.numColumns; j += kernels.columns)
      for (int64_t i = 0; i < tile.numRows; i += kernels.rows) {
        int64_t numRows = std::min(kernels.rows, tile.numRows - i);
        int64_t numColumns = std::min(kernels.columns, tile.numColumns - j);
        float *direct = isLast ? epilogue.getTarget(tile.row + i,
                                                    tile.column + j, numColumns)
                               : nullptr;
        kernels.multiply(left + i * depth, right + j * depth, depth, numRows,
                         numColumns, l > 0 ? sum : nullptr,
                         direct ? direct : sum,
                         direct ? epilogue.getTargetStride() : kernels.columns);
        if (isLast && !direct)
          epilogue.apply(sum, kernels.columns, tile.row + i, numRows,
                         tile.column + j, numColumns);
        if (!isOneBlock)
          sum += tileSize;
      }
  }
  return true;
}

/// The GEMM of the transposed matrices, which writes the same numbers to the
/// same places.
static rg_gemm_desc transposeGemm(rg_gemm_desc desc) {
  std::swap(desc.m, desc.n);
  std::swap(desc.a, desc.b);
  for (rg_gemm_operand *operand :
       {&desc.a, &desc.b, &desc.c, &desc.addends[0], &desc.addends[1]})
    std::swap(operand->strides[0], operand->strides[1]);
  return desc;
}

std::unique_ptr<GemmRoutine>
regather::runtime::createBlockedGemm(const rg_gemm_desc &desc) {
  // Sums are written row by row.
  bool hasColumns = desc.c.strides[0] == 1 && desc.c.strides[1] != 1;
  return std::make_unique<BlockedGemm>(hasColumns ? transposeGemm(desc) : desc);
}
