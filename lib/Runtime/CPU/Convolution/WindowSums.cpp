//===- WindowSums.cpp - Convolutions and their adjoints -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A convolution is one GEMM for each group, with channels of y as rows and the
// positions of windows, over all of the batch, as columns. The depth runs over
// channels of x and, fastest, elements of windows (taps). What windows see is
// gathered while it is packed, so that it is never stored as a whole.
//
// The adjoint in x is a convolution of y by the same weights, read the other
// way round, for each remainder r of positions divided by the stride: position
// r + stride * q gets
//
//   sum_{k, s} y[k, q + (r + padding - s * dilation) / stride] * w[k, c, s]
//
// over the taps s for which the division is exact. So no zeros are summed that
// a stride would leave between the elements of y.
//
//===----------------------------------------------------------------------===//

#include "Convolution.h"
#include "WindowEpilogue.h"
#include "WindowGather.h"

#include "CPU/Gemm/TileGemm.h"
#include "Numeric/Elements.h"

#include <algorithm>
#include <cstring>
#include <optional>

using namespace regather::runtime;

namespace {
/// What is summed, and where the sums go. Strides are in elements.
struct WindowProblem {
  int64_t groups, rows, channels;
  std::vector<Tap> taps;

  rg_convolution_operand source;
  WindowReader reader;
  /// Of the groups and channels of the source.
  int64_t sourceGroup, sourceChannel;

  rg_convolution_operand weights;
  int64_t weightGroup, weightRow, weightChannel;

  rg_convolution_operand target;
  WindowReader columns;
  int64_t targetOffset, targetGroup, targetRow;

  /// Buffer -1 for none. Has strides of groups and rows.
  rg_convolution_operand bias;

  int64_t getDepth() const {
    return channels * static_cast<int64_t>(taps.size());
  }
};

class WindowSums final : public ConvolutionPart {
public:
  explicit WindowSums(WindowProblem given);

  int64_t getNumTasks() const override { return tasks.getNumTasks(); }
  size_t getScratchBytes() const override {
    return tileGemm.getScratchBytes() +
           static_cast<size_t>(getLineSize()) * sizeof(float) +
           gather.getTableBytes();
  }
  void run(void *const *buffers, int64_t task, void *scratch) const override;

private:
  int64_t getLineSize() const {
    return roundUp(tasks.getTileColumns(), kernels.columns);
  }
  void runTile(void *const *buffers, const GemmTile &tile, void *scratch) const;
  void packWeights(const ConvolutionOperand &weights, const GemmTile &tile,
                   int64_t begin, int64_t count, float *panels) const;
  void packWindows(const ConvolutionOperand &source, const GemmTile &tile,
                   int64_t begin, int64_t count, const void *table, float *line,
                   float *panels) const;

  WindowProblem problem;
  const BlockKernels &kernels;
  GemmTasks tasks;
  TileGemm tileGemm;
  WindowGather gather;
  /// From one position of the depth to the next, if that is always the same.
  std::optional<int64_t> depthStride;
};
} // namespace

//===----------------------------------------------------------------------===//
// The GEMM
//===----------------------------------------------------------------------===//

static std::optional<int64_t> getDepthStride(const WindowProblem &problem) {
  const std::vector<Tap> &taps = problem.taps;
  auto count = static_cast<int64_t>(taps.size());
  int64_t stride = count > 1 ? taps[1].weight : problem.weightChannel;
  for (int64_t i = 0; i < count; ++i)
    if (taps[size_t(i)].weight != i * stride)
      return std::nullopt;
  if (problem.channels > 1 && problem.weightChannel != count * stride)
    return std::nullopt;
  return stride;
}

WindowSums::WindowSums(WindowProblem given)
    : problem(std::move(given)), kernels(getBlockKernels()),
      tasks(problem.groups, problem.rows, problem.columns.getNumPositions(),
            problem.getDepth()),
      tileGemm(kernels, tasks, problem.getDepth()),
      gather(kernels, problem.reader, problem.taps, problem.channels,
             tasks.getTileColumns()),
      depthStride(getDepthStride(problem)) {}

/// Elements that lie anywhere.
template <typename Element, typename GetOffset>
static void packScattered(const ConvolutionOperand &operand, int64_t rowStride,
                          int64_t numRows, int64_t count, int64_t width,
                          GetOffset getOffset, float *panels) {
  for (int64_t row = 0; row < numRows; row += width, panels += count * width) {
    int64_t numOwn = std::min(width, numRows - row);
    for (int64_t l = 0; l < count; ++l) {
      const auto *from = static_cast<const typename Element::Storage *>(
          operand.at(row * rowStride + getOffset(l)));
      float *to = panels + l * width;
      for (int64_t i = 0; i < numOwn; ++i)
        to[i] = Element::template load<float>(from[i * rowStride]);
      std::fill(to + numOwn, to + width, 0.0f);
    }
  }
}

void WindowSums::packWeights(const ConvolutionOperand &weights,
                             const GemmTile &tile, int64_t begin, int64_t count,
                             float *panels) const {
  int64_t base =
      tile.batch * problem.weightGroup + tile.row * problem.weightRow;
  if (depthStride) {
    kernels.pack({weights.at(base + begin * *depthStride), weights.dtype,
                  tile.numRows, problem.weightRow, count, *depthStride},
                 kernels.rows, panels);
    return;
  }
  auto numTaps = static_cast<int64_t>(problem.taps.size());
  auto getOffset = [&](int64_t l) {
    int64_t position = begin + l;
    return base + position / numTaps * problem.weightChannel +
           problem.taps[size_t(position % numTaps)].weight;
  };
  useRoutineFloat(weights.dtype, [&](auto element) {
    packScattered<decltype(element)>(weights, problem.weightRow, tile.numRows,
                                     count, kernels.rows, getOffset, panels);
  });
}

void WindowSums::packWindows(const ConvolutionOperand &source,
                             const GemmTile &tile, int64_t begin, int64_t count,
                             const void *table, float *line,
                             float *panels) const {
  auto numTaps = static_cast<int64_t>(problem.taps.size());
  int64_t width = kernels.columns;
  int64_t numPadded = roundUp(tile.numColumns, width);
  std::fill(line, line + numPadded, 0.0f);
  for (int64_t l = 0; l < count; ++l) {
    int64_t position = begin + l;
    const void *channel = source.at(tile.batch * problem.sourceGroup +
                                    position / numTaps * problem.sourceChannel);
    gather.read(channel, source.dtype, position % numTaps, tile.column,
                tile.numColumns, table, line);
    for (int64_t j = 0; j < numPadded; j += width)
      memcpy(panels + j * count + l * width, line + j,
             static_cast<size_t>(width) * sizeof(float));
  }
}

void WindowSums::runTile(void *const *buffers, const GemmTile &tile,
                         void *scratch) const {
  ConvolutionOperand source(problem.source, buffers);
  ConvolutionOperand weights(problem.weights, buffers);
  ConvolutionOperand target(problem.target, buffers);
  target.data =
      target.at(problem.targetOffset + tile.batch * problem.targetGroup);
  std::optional<ConvolutionOperand> bias;
  if (problem.bias.buffer >= 0) {
    bias.emplace(problem.bias, buffers);
    bias->data = bias->at(tile.batch * problem.bias.strides[0]);
  }
  auto *line = static_cast<float *>(scratch) +
               tileGemm.getScratchBytes() / sizeof(float);
  float *table = line + getLineSize();
  gather.prepare(tile.column, tile.numColumns, table);
  WindowEpilogue epilogue(problem.columns, target, problem.targetRow,
                          bias ? &*bias : nullptr, problem.bias.strides[1]);
  tileGemm.run(
      tile,
      [&](int64_t begin, int64_t count, float *panels) {
        packWeights(weights, tile, begin, count, panels);
      },
      [&](int64_t begin, int64_t count, float *panels) {
        packWindows(source, tile, begin, count, table, line, panels);
      },
      epilogue, scratch);
}

void WindowSums::run(void *const *buffers, int64_t task, void *scratch) const {
  int64_t end = tasks.getFirstTile(task + 1);
  for (int64_t tile = tasks.getFirstTile(task); tile < end; ++tile)
    runTile(buffers, tasks.getTile(tile), scratch);
}

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

/// Calls `use` for each index below `sizes`, the last running fastest.
template <typename Use>
static void forEachIndex(const int64_t *sizes, int64_t rank, Use use) {
  int64_t index[RG_CONVOLUTION_MAX_RANK] = {};
  for (int64_t d = 0; d >= 0;) {
    use(static_cast<const int64_t *>(index));
    for (d = rank - 1; d >= 0 && ++index[d] == sizes[d]; --d)
      index[d] = 0;
  }
}

void regather::runtime::addForwardParts(const rg_convolution_desc &desc,
                                        ConvolutionParts &parts) {
  WindowProblem problem;
  problem.groups = desc.groups;
  problem.rows = desc.outer;
  problem.channels = desc.inner;
  problem.source = desc.x;
  problem.sourceGroup = desc.x.strides[1];
  problem.sourceChannel = desc.x.strides[2];
  problem.weights = desc.w;
  problem.weightGroup = desc.w.strides[0];
  problem.weightRow = desc.w.strides[1];
  problem.weightChannel = desc.w.strides[2];
  problem.target = desc.to_y;
  problem.targetOffset = 0;
  problem.targetGroup = desc.to_y.strides[1];
  problem.targetRow = desc.to_y.strides[2];
  problem.bias = desc.bias;
  problem.reader.addDim({desc.batch, 1, desc.batch, desc.x.strides[0]});
  problem.columns.addDim({desc.batch, 1, desc.batch, desc.to_y.strides[0]});
  for (int64_t d = 0; d < desc.rank; ++d) {
    problem.reader.addDim({desc.counts[d], desc.strides[d], desc.extents[d],
                           desc.x.strides[3 + d]});
    problem.columns.addDim(
        {desc.counts[d], 1, desc.counts[d], desc.to_y.strides[3 + d]});
  }
  problem.columns.joinDims();
  forEachIndex(desc.sizes, desc.rank, [&](const int64_t *s) {
    Tap tap;
    for (int64_t d = 0; d < desc.rank; ++d) {
      tap.shifts[1 + d] = s[d] * desc.dilation[d] - desc.padding[d];
      tap.weight += s[d] * desc.w.strides[3 + d];
    }
    problem.taps.push_back(tap);
  });
  parts.push_back(std::make_unique<WindowSums>(std::move(problem)));
}

/// The taps that reach positions with these remainders.
static std::vector<Tap> getAdjointTaps(const rg_convolution_desc &desc,
                                       const int64_t *remainders) {
  std::vector<Tap> taps;
  forEachIndex(desc.sizes, desc.rank, [&](const int64_t *s) {
    Tap tap;
    for (int64_t d = 0; d < desc.rank; ++d) {
      int64_t distance =
          remainders[d] + desc.padding[d] - s[d] * desc.dilation[d];
      if (distance % desc.strides[d] != 0)
        return;
      tap.shifts[1 + d] = distance / desc.strides[d];
      tap.weight += s[d] * desc.w.strides[3 + d];
    }
    taps.push_back(tap);
  });
  return taps;
}

void regather::runtime::addAdjointParts(const rg_convolution_desc &desc,
                                        ConvolutionParts &parts) {
  // Without elements there may be more remainders than memory.
  int64_t remainders[RG_CONVOLUTION_MAX_RANK];
  for (int64_t d = 0; d < desc.rank; ++d)
    if ((remainders[d] = std::min(desc.strides[d], desc.extents[d])) == 0)
      return;
  forEachIndex(remainders, desc.rank, [&](const int64_t *r) {
    WindowProblem problem;
    problem.groups = desc.groups;
    problem.rows = desc.inner;
    problem.channels = desc.outer;
    problem.taps = getAdjointTaps(desc, r);
    // The weight of the first tap moves the whole.
    int64_t first = problem.taps.empty() ? 0 : problem.taps.front().weight;
    for (Tap &tap : problem.taps)
      tap.weight -= first;
    problem.source = desc.y;
    problem.sourceGroup = desc.y.strides[1];
    problem.sourceChannel = desc.y.strides[2];
    problem.weights = desc.w;
    problem.weights.offset += first;
    problem.weightGroup = desc.w.strides[0];
    problem.weightRow = desc.w.strides[2];
    problem.weightChannel = desc.w.strides[1];
    problem.target = desc.to_x;
    problem.targetOffset = 0;
    problem.targetGroup = desc.to_x.strides[1];
    problem.targetRow = desc.to_x.strides[2];
    problem.bias = desc.bias;
    problem.reader.addDim({desc.batch, 1, desc.batch, desc.y.strides[0]});
    problem.columns.addDim({desc.batch, 1, desc.batch, desc.to_x.strides[0]});
    for (int64_t d = 0; d < desc.rank; ++d) {
      int64_t stride = desc.strides[d];
      int64_t count = (desc.extents[d] - r[d] + stride - 1) / stride;
      problem.reader.addDim({count, 1, desc.counts[d], desc.y.strides[3 + d]});
      problem.columns.addDim(
          {count, stride, desc.extents[d], desc.to_x.strides[3 + d]});
      problem.targetOffset += r[d] * desc.to_x.strides[3 + d];
    }
    problem.columns.joinDims();
    parts.push_back(std::make_unique<WindowSums>(std::move(problem)));
  });
}
