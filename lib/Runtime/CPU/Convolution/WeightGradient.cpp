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

#include "WeightGradient.h"

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
           static_cast<size_t>(getRowsSize()) * sizeof(float) +
           std::max(xGather.getTableBytes(), yGather.getTableBytes());
  }
  void run(void *const *buffers, int64_t task, void *scratch) const override;

private:
  void runTile(void *const *buffers, const GemmTile &tile, void *scratch) const;
  /// Packs `numRows` rows from `first` on; `readRow(row, to)` reads one.
  template <typename ReadRow>
  void packRows(int64_t first, int64_t numRows, int64_t count, int64_t width,
                ReadRow readRow, float *rows, float *panels) const;
  int64_t getDepthBlock() const {
    return TileGemm::kDepthBlock * kernels.positions;
  }
  /// In floats, or twice as many numbers of bf16.
  int64_t getRowsSize() const {
    return std::max(kernels.rows, kernels.columns) * TileGemm::kDepthBlock +
           WindowGather::kSlack;
  }
  /// Reads what a tap sees of a channel to a row.
  void readRow(const WindowGather &gather, const ConvolutionOperand &operand,
               int64_t channel, int64_t tap, int64_t begin, int64_t count,
               const void *table, void *to) const;

  rg_convolution_desc desc;
  int64_t numTaps;
  const BlockKernels &kernels;
  GemmTasks tasks;
  TileGemm tileGemm;
  /// What windows see of x, and y, of which each sees one element.
  WindowGather xGather, yGather;
  /// Where the elements of a row lie in w.
  WindowReader columns;
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

WindowReader regather::runtime::getXWindows(const rg_convolution_desc &desc) {
  WindowReader reader;
  reader.addDim({desc.batch, 1, desc.batch, desc.x.strides[0]});
  for (int64_t d = 0; d < desc.rank; ++d)
    reader.addDim({desc.counts[d], desc.strides[d], desc.extents[d],
                   desc.x.strides[3 + d]});
  return reader;
}

WindowReader regather::runtime::getYWindows(const rg_convolution_desc &desc) {
  WindowReader reader;
  reader.addDim({desc.batch, 1, desc.batch, desc.y.strides[0]});
  for (int64_t d = 0; d < desc.rank; ++d)
    reader.addDim({desc.counts[d], 1, desc.counts[d], desc.y.strides[3 + d]});
  reader.joinDims();
  return reader;
}

WindowReader
regather::runtime::getRowOfWeights(const rg_convolution_desc &desc) {
  WindowReader reader;
  reader.addDim({desc.inner, 1, desc.inner, desc.to_w.strides[2]});
  for (int64_t d = 0; d < desc.rank; ++d)
    reader.addDim({desc.sizes[d], 1, desc.sizes[d], desc.to_w.strides[3 + d]});
  reader.joinDims();
  return reader;
}

std::vector<Tap> regather::runtime::getTaps(const rg_convolution_desc &desc) {
  std::vector<Tap> taps(size_t(multiply(desc.sizes, desc.rank)));
  for (size_t i = 0; i < taps.size(); ++i) {
    auto number = static_cast<int64_t>(i);
    for (int64_t d = desc.rank; d-- > 0; number /= desc.sizes[d])
      taps[i].shifts[1 + d] =
          number % desc.sizes[d] * desc.dilation[d] - desc.padding[d];
  }
  return taps;
}

WeightGradient::WeightGradient(const rg_convolution_desc &desc)
    : desc(desc), numTaps(multiply(desc.sizes, desc.rank)),
      kernels(
          getPairKernels(desc.x.dtype == desc.y.dtype ? desc.x.dtype : RG_F32)),
      tasks(makeTasks(desc)),
      tileGemm(kernels, tasks, desc.batch * multiply(desc.counts, desc.rank)),
      xGather(kernels, getXWindows(desc), getTaps(desc), desc.inner,
              getDepthBlock()),
      yGather(kernels, getYWindows(desc), std::vector<Tap>(1), desc.outer,
              getDepthBlock()),
      columns(getRowOfWeights(desc)) {}

void WeightGradient::readRow(const WindowGather &gather,
                             const ConvolutionOperand &operand, int64_t channel,
                             int64_t tap, int64_t begin, int64_t count,
                             const void *table, void *to) const {
  if (kernels.positions == 2)
    gather.readNarrow(static_cast<const uint16_t *>(operand.at(channel)), tap,
                      begin, count, table, static_cast<uint16_t *>(to));
  else
    gather.read(operand.at(channel), operand.dtype, tap, begin, count, table,
                static_cast<float *>(to));
}

template <typename ReadRow>
void WeightGradient::packRows(int64_t first, int64_t numRows, int64_t count,
                              int64_t width, ReadRow readRow, float *rows,
                              float *panels) const {
  for (int64_t i = 0; i < numRows; i += width) {
    int64_t numOwn = std::min(width, numRows - i);
    // A block of either type takes as many floats.
    for (int64_t row = 0; row < numOwn; ++row)
      readRow(first + i + row, rows + row * TileGemm::kDepthBlock);
    kernels.pack({rows, kernels.positions == 2 ? RG_BF16 : RG_F32, numOwn,
                  getDepthBlock(), count, 1},
                 width, panels + i * kernels.getNumbers(count));
  }
}

void WeightGradient::runTile(void *const *buffers, const GemmTile &tile,
                             void *scratch) const {
  ConvolutionOperand x(desc.x, buffers), y(desc.y, buffers);
  ConvolutionOperand target(desc.to_w, buffers);
  target.data = target.at(tile.batch * desc.to_w.strides[0]);
  auto *rows = static_cast<float *>(scratch) + tileGemm.getScratchFloats();
  float *table = rows + getRowsSize();
  auto packLeft = [&](int64_t begin, int64_t count, float *panels) {
    int64_t group = tile.batch * desc.y.strides[1];
    if (auto run = yGather.findRun(begin, count))
      return kernels.pack({y.at(group + tile.row * desc.y.strides[2] + *run),
                           y.dtype, tile.numRows, desc.y.strides[2], count, 1},
                          kernels.rows, panels);
    yGather.prepare(begin, count, table);
    auto readOne = [&](int64_t row, float *to) {
      readRow(yGather, y, group + row * desc.y.strides[2], 0, begin, count,
              table, to);
    };
    packRows(tile.row, tile.numRows, count, kernels.rows, readOne, rows,
             panels);
  };
  auto packRight = [&](int64_t begin, int64_t count, float *panels) {
    int64_t group = tile.batch * desc.x.strides[1];
    if (auto run = xGather.findRun(begin, count))
      return kernels.pack({x.at(group + tile.column * desc.x.strides[2] + *run),
                           x.dtype, tile.numColumns, desc.x.strides[2], count,
                           1},
                          kernels.columns, panels);
    xGather.prepare(begin, count, table);
    auto readOne = [&](int64_t column, float *to) {
      readRow(xGather, x, group + column / numTaps * desc.x.strides[2],
              column % numTaps, begin, count, table, to);
    };
    packRows(tile.column, tile.numColumns, count, kernels.columns, readOne,
             rows, panels);
  };
  WindowEpilogue epilogue(kernels, columns, target, desc.to_w.strides[1]);
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
  std::unique_ptr<ConvolutionPart> part = createPlaneWeights(desc);
  if (!part)
    part = std::make_unique<WeightGradient>(desc);
  parts.push_back(std::move(part));
}
