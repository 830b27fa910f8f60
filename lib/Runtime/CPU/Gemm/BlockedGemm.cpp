//===- BlockedGemm.cpp - GEMMs by packed blocks ---------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Blocks/BlockKernels.h"
#include "Gemm.h"
#include "GemmEpilogue.h"
#include "SegmentSums.h"
#include "TileGemm.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <utility>

using namespace regather::runtime;

namespace {
class BlockedGemm final : public GemmRoutine {
public:
  BlockedGemm(const rg_gemm_desc &desc)
      : GemmRoutine(desc, GemmTasks(desc)),
        kernels(getBlockKernels(desc.a.dtype)),
        tileGemm(kernels, tasks, getSegmentLength(desc)),
        segments(desc, tasks, kernels.rows, kernels.columns) {}

  size_t getScratchBytes() const override {
    return tileGemm.getScratchBytes() + segments.getScratchBytes();
  }

protected:
  bool runTile(void *const *buffers, const GemmTile &tile,
               void *scratch) const override;

private:
  const BlockKernels &kernels;
  TileGemm tileGemm;
  SegmentSums segments;
};
} // namespace

bool BlockedGemm::runTile(void *const *buffers, const GemmTile &tile,
                          void *scratch) const {
  GemmOperand a(desc, desc.a, buffers, tile.batch);
  GemmOperand b(desc, desc.b, buffers, tile.batch);
  // Where the segment begins.
  int64_t first = 0;
  auto packLeft = [&](int64_t begin, int64_t count, float *panels) {
    kernels.pack({a.at(tile.row, first + begin), a.dtype, tile.numRows,
                  a.strides[0], count, a.strides[1]},
                 kernels.rows, panels);
  };
  auto packRight = [&](int64_t begin, int64_t count, float *panels) {
    kernels.pack({b.at(first + begin, tile.column), b.dtype, tile.numColumns,
                  b.strides[1], count, b.strides[0]},
                 kernels.columns, panels);
  };
  GemmEpilogue epilogue(desc, buffers, tile.batch);
  auto *waiting = static_cast<float *>(scratch) + tileGemm.getScratchFloats();
  for (int64_t segment = 0; segment < segments.getNumSegments(); ++segment) {
    first = segment * getSegmentLength(desc);
    tileGemm.run(tile, packLeft, packRight,
                 SegmentEpilogue(segments, segment, tile, waiting, epilogue),
                 scratch);
  }
  return true;
}

namespace {
/// The GEMM of one row of f32, or of pairs of bf16: the other matrix is read
/// once, where it lies.
class VectorGemm final : public GemmRoutine {
public:
  VectorGemm(const rg_gemm_desc &desc)
      : GemmRoutine(desc, GemmTasks(desc)),
        kernels(getBlockKernels(desc.a.dtype)) {}

  static bool matches(const rg_gemm_desc &desc) {
    bool isKnown =
        desc.a.dtype == RG_F32 || (desc.a.dtype == RG_BF16 && hasPairsOfBF16());
    return desc.m == 1 && desc.k > 0 && desc.segments < 2 && isKnown &&
           (desc.b.strides[0] == 1 || desc.b.strides[1] == 1);
  }

  size_t getScratchBytes() const override {
    return static_cast<size_t>(kBlock + 2 * tasks.getTileColumns()) *
           sizeof(float);
  }

protected:
  bool runTile(void *const *buffers, const GemmTile &tile,
               void *scratch) const override;

private:
  static constexpr int64_t kBlock = TileGemm::kDepthBlock;

  const BlockKernels &kernels;
};
} // namespace

/// Copies `depth` elements of a row, which are numbers or become pairs.
static void copyVector(const GemmOperand &a, int64_t row, int64_t begin,
                       int64_t depth, float *vector) {
  if (a.dtype == RG_F32) {
    for (int64_t i = 0; i < depth; ++i)
      vector[i] = *static_cast<const float *>(a.at(row, begin + i));
    return;
  }
  for (int64_t i = 0; i < depth; i += 2) {
    uint32_t pair = *static_cast<const uint16_t *>(a.at(row, begin + i));
    if (i + 1 < depth)
      pair |= static_cast<uint32_t>(
                  *static_cast<const uint16_t *>(a.at(row, begin + i + 1)))
              << 16;
    memcpy(vector + i / 2, &pair, sizeof(pair));
  }
}

bool VectorGemm::runTile(void *const *buffers, const GemmTile &tile,
                         void *scratch) const {
  GemmOperand a(desc, desc.a, buffers, tile.batch);
  GemmOperand b(desc, desc.b, buffers, tile.batch);
  auto *vector = static_cast<float *>(scratch);
  float *sums = vector + kBlock, *block = sums + tasks.getTileColumns();
  const int64_t depthBlock = kBlock * kernels.positions;
  for (int64_t l = 0; l < desc.k; l += depthBlock) {
    int64_t depth = std::min(depthBlock, desc.k - l);
    copyVector(a, tile.row, l, depth, vector);
    float *to = l == 0 ? sums : block;
    kernels.multiplyVector(vector, b.at(l, tile.column), b.strides[1],
                           b.strides[0], depth, tile.numColumns, to);
    if (l > 0)
      for (int64_t j = 0; j < tile.numColumns; ++j)
        sums[j] += block[j];
  }
  GemmEpilogue(desc, buffers, tile.batch)
      .apply(sums, tasks.getTileColumns(), tile.row, tile.numRows, tile.column,
             tile.numColumns);
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
  const rg_gemm_desc turned = transposeGemm(desc);
  // One row, or one column.
  for (const rg_gemm_desc *form : {&desc, &turned})
    if (VectorGemm::matches(*form))
      return std::make_unique<VectorGemm>(*form);
  return std::make_unique<BlockedGemm>(hasColumns ? turned : desc);
}
