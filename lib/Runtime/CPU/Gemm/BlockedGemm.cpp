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
#include "TileGemm.h"

#include <initializer_list>
#include <utility>

using namespace regather::runtime;

namespace {
class BlockedGemm final : public GemmRoutine {
public:
  BlockedGemm(const rg_gemm_desc &desc)
      : GemmRoutine(desc, GemmTasks(desc)),
        kernels(getBlockKernels(desc.a.dtype)),
        tileGemm(kernels, tasks, desc.k) {}

  size_t getScratchBytes() const override { return tileGemm.getScratchBytes(); }

protected:
  bool runTile(void *const *buffers, const GemmTile &tile,
               void *scratch) const override;

private:
  const BlockKernels &kernels;
  TileGemm tileGemm;
};
} // namespace

bool BlockedGemm::runTile(void *const *buffers, const GemmTile &tile,
                          void *scratch) const {
  GemmOperand a(desc, desc.a, buffers, tile.batch);
  GemmOperand b(desc, desc.b, buffers, tile.batch);
  auto packLeft = [&](int64_t begin, int64_t count, float *panels) {
    kernels.pack({a.at(tile.row, begin), a.dtype, tile.numRows, a.strides[0],
                  count, a.strides[1]},
                 kernels.rows, panels);
  };
  auto packRight = [&](int64_t begin, int64_t count, float *panels) {
    kernels.pack({b.at(begin, tile.column), b.dtype, tile.numColumns,
                  b.strides[1], count, b.strides[0]},
                 kernels.columns, panels);
  };
  GemmEpilogue epilogue(desc, buffers, tile.batch);
  tileGemm.run(tile, packLeft, packRight, epilogue, scratch);
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
