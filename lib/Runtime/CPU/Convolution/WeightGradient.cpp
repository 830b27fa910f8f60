//===- WeightGradient.cpp - Adjoints of convolutions in the weights -------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One GEMM for each group, with channels of y as rows and channels of x with
// taps as columns. The depth runs over the positions of windows in all of the
// batch.
//
//===----------------------------------------------------------------------===//

#include "Convolution.h"
#include "WindowEpilogue.h"

#include "CPU/Gemm/TileGemm.h"

#include <algorithm>

using namespace regather::runtime;

namespace {
class WeightGradient final : public ConvolutionPart {
public:
  explicit WeightGradient(const rg_convolution_desc &desc);

  int64_t getNumTasks() const override { return tasks.getNumTasks(); }
  size_t getScratchBytes() const override {
    return tileGemm.getScratchBytes() +
           static_cast<size_t>(std::max(kernels.rows, kernels.columns) *
                               TileGemm::kDepthBlock) *
               sizeof(float);
  }
  void run(void *const *buffers, int64_t task, void *scratch) const override;

private:
  void runTile(void *const *buffers, const GemmTile &tile, void *scratch) const;
  /// Packs `numRows` rows from `first` on; `readRow(row, to)` reads one.
  template <typename ReadRow>
  void packRows(int64_t first, int64_t numRows, int64_t count, int64_t width,
                ReadRow readRow, float *rows, float *panels) const;
  /// What tap `number` of a window adds to its position.
  void getShifts(int64_t number, int64_t *shifts) const;

  rg_convolution_desc desc;
  int64_t numTaps = 1;
  /// Windows over x and over y, and where the columns of a row lie in w.
  WindowReader xReader, yReader, columns;
  const BlockKernels &kernels;
  GemmTasks tasks;
  TileGemm tileGemm;
};
} // namespace

static int64_t multiply(const int64_t *sizes, int64_t rank) {
  int64_t count = 1;
  for (int64_t d = 0; d < rank; ++d)
    count *= sizes[d];
  return count;
}

static GemmTasks makeTasks(const rg_convolution_desc &desc) {
  return GemmTasks(desc.groups, desc.outer,
                   desc.inner * multiply(desc.sizes, desc.rank),
                   desc.batch * multiply(desc.counts, desc.rank));
}

WeightGradient::WeightGradient(const rg_convolution_desc &desc)
    : desc(desc), numTaps(multiply(desc.sizes, desc.rank)),
      kernels(getBlockKernels()), tasks(makeTasks(desc)),
      tileGemm(kernels, tasks, desc.batch * multiply(desc.counts, desc.rank)) {
  xReader.addDim({desc.batch, 1, desc.batch, desc.x.strides[0]});
  yReader.addDim({desc.batch, 1, desc.batch, desc.y.strides[0]});
  columns.addDim({desc.inner, 1, desc.inner, desc.to_w.strides[2]});
  for (int64_t d = 0; d < desc.rank; ++d) {
    xReader.addDim({desc.counts[d], desc.strides[d], desc.extents[d],
                    desc.x.strides[3 + d]});
    yReader.addDim({desc.counts[d], 1, desc.counts[d], desc.y.strides[3 + d]});
    columns.addDim({desc.sizes[d], 1, desc.sizes[d], desc.to_w.strides[3 + d]});
  }
}

void WeightGradient::getShifts(int64_t number, int64_t *shifts) const {
  shifts[0] = 0;
  for (int64_t d = desc.rank; d-- > 0; number /= desc.sizes[d])
    shifts[1 + d] = number % desc.sizes[d] * desc.dilation[d] - desc.padding[d];
}

template <typename ReadRow>
void WeightGradient::packRows(int64_t first, int64_t numRows, int64_t count,
                              int64_t width, ReadRow readRow, float *rows,
                              float *panels) const {
  for (int64_t i = 0; i < numRows; i += width) {
    int64_t numOwn = std::min(width, numRows - i);
    for (int64_t row = 0; row < numOwn; ++row)
      readRow(first + i + row, rows + row * count);
    kernels.pack({rows, RG_F32, numOwn, count, count, 1}, width,
                 panels + i * count);
  }
}

void WeightGradient::runTile(void *const *buffers, const GemmTile &tile,
                             void *scratch) const {
  ConvolutionOperand x(desc.x, buffers), y(desc.y, buffers);
  ConvolutionOperand target(desc.to_w, buffers);
  target.data = target.at(tile.batch * desc.to_w.strides[0]);
  auto *rows = static_cast<float *>(scratch) +
               tileGemm.getScratchBytes() / sizeof(float);
  auto packLeft = [&](int64_t begin, int64_t count, float *panels) {
    const int64_t shifts[kMaxWindowDims] = {};
    auto readRow = [&](int64_t row, float *to) {
      yReader.read(
          y.at(tile.batch * desc.y.strides[1] + row * desc.y.strides[2]),
          y.dtype, shifts, begin, count, to);
    };
    packRows(tile.row, tile.numRows, count, kernels.rows, readRow, rows,
             panels);
  };
  auto packRight = [&](int64_t begin, int64_t count, float *panels) {
    auto readRow = [&](int64_t column, float *to) {
      int64_t shifts[kMaxWindowDims];
      getShifts(column % numTaps, shifts);
      xReader.read(x.at(tile.batch * desc.x.strides[1] +
                        column / numTaps * desc.x.strides[2]),
                   x.dtype, shifts, begin, count, to);
    };
    packRows(tile.column, tile.numColumns, count, kernels.columns, readRow,
             rows, panels);
  };
  WindowEpilogue epilogue(columns, target, desc.to_w.strides[1]);
  tileGemm.run(tile, packLeft, packRight, epilogue, scratch);
}

void WeightGradient::run(void *const *buffers, int64_t task,
                         void *scratch) const {
  int64_t end = tasks.getFirstTile(task + 1);
  for (int64_t tile = tasks.getFirstTile(task); tile < end; ++tile)
    runTile(buffers, tasks.getTile(tile), scratch);
}

void regather::runtime::addWeightParts(const rg_convolution_desc &desc,
                                       ConvolutionParts &parts) {
  parts.push_back(std::make_unique<WeightGradient>(desc));
}
