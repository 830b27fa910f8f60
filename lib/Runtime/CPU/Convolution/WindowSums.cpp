//===- WindowSums.cpp - Convolutions and their adjoints -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One GEMM for each group. What windows see is gathered while it is packed, so
// that it is never stored as a whole. Of bf16, pairs of elements are multiplied
// where the processor can.
//
//===----------------------------------------------------------------------===//

#include "WindowEpilogue.h"
#include "WindowProblem.h"

#include "CPU/Gemm/TileGemm.h"
#include "Numeric/Elements.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <thread>

using namespace regather::runtime;

namespace {
class WindowSums final : public ConvolutionPart {
public:
  explicit WindowSums(WindowProblem given);

  int64_t getNumTasks() const override { return tasks.getNumTasks(); }
  size_t getScratchBytes() const override {
    return tileGemm.getScratchBytes() +
           static_cast<size_t>(getLineSize() + getRowsSize()) * sizeof(float) +
           gather.getTableBytes();
  }
  void run(void *const *buffers, int64_t task, void *scratch) const override;

private:
  bool usesPairs() const { return kernels.positions == 2; }
  int64_t getDepthBlock() const {
    return TileGemm::kDepthBlock * kernels.positions;
  }
  /// Of a panel of weights that do not follow each other, in floats.
  int64_t getRowsSize() const {
    return usesPairs() && !depthStride
               ? roundUp(kernels.rows * getDepthBlock() / 2, 16)
               : 0;
  }
  /// In floats, or two lines of bf16.
  int64_t getLineSize() const {
    return roundUp(tasks.getTileColumns(), kernels.columns) +
           WindowGather::kSlack;
  }
  void runTile(void *const *buffers, const GemmTile &tile, void *scratch) const;
  void packWeights(const ConvolutionOperand &weights, const GemmTile &tile,
                   int64_t begin, int64_t count, uint16_t *rows,
                   float *panels) const;
  /// One row of weights in the order of the depth.
  void readWeights(const uint16_t *row, int64_t begin, int64_t count,
                   uint16_t *to) const;
  void packPairsOfWindows(const ConvolutionOperand &source,
                          const GemmTile &tile, int64_t begin, int64_t count,
                          const void *table, uint16_t *lines,
                          float *panels) const;
  void packWindows(const ConvolutionOperand &source, const GemmTile &tile,
                   int64_t begin, int64_t count, const void *table, float *line,
                   float *panels) const;

  WindowProblem problem;
  const BlockKernels &kernels;
  GemmTasks tasks;
  TileGemm tileGemm;
  WindowGather gather;
  /// From one position of the depth to the next, if that is always the same,
  /// and from one tap of a channel to the next.
  std::optional<int64_t> depthStride, tapStride;
};
} // namespace

//===----------------------------------------------------------------------===//
// The GEMM
//===----------------------------------------------------------------------===//

static std::optional<int64_t> getTapStride(const WindowProblem &problem) {
  const std::vector<Tap> &taps = problem.taps;
  auto count = static_cast<int64_t>(taps.size());
  int64_t stride = count > 1 ? taps[1].weight : problem.weightChannel;
  for (int64_t i = 0; i < count; ++i)
    if (taps[size_t(i)].weight != i * stride)
      return std::nullopt;
  return stride;
}

static std::optional<int64_t> getDepthStride(const WindowProblem &problem) {
  std::optional<int64_t> stride = getTapStride(problem);
  auto count = static_cast<int64_t>(problem.taps.size());
  if (stride && problem.channels > 1 &&
      problem.weightChannel != count * *stride)
    return std::nullopt;
  return stride;
}

/// Each tile of rows gathers what windows see once more, so few tiles are
/// enough for few processors. Bits depend on no tile.
static int64_t getWantedTiles() {
  auto processors = static_cast<int64_t>(std::thread::hardware_concurrency());
  return std::clamp<int64_t>(2 * processors, 4, 8);
}

WindowSums::WindowSums(WindowProblem given)
    : problem(std::move(given)),
      kernels(getPairKernels(problem.source.dtype == problem.weights.dtype
                                 ? problem.source.dtype
                                 : RG_F32)),
      tasks(problem.groups, problem.rows, problem.columns.getNumPositions(),
            problem.getDepth(), getWantedTiles()),
      tileGemm(kernels, tasks, problem.getDepth()),
      gather(kernels, problem.reader, problem.taps, problem.channels,
             tasks.getTileColumns()),
      depthStride(getDepthStride(problem)), tapStride(getTapStride(problem)) {}

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

/// Copies few numbers, eight at a time. Blocks may overlap.
static void copyShort(const uint16_t *from, int64_t count, uint16_t *to) {
  constexpr int64_t block = 8;
  if (count < block) {
    for (int64_t i = 0; i < count; ++i)
      to[i] = from[i];
    return;
  }
  for (int64_t i = 0; i < count; i += block) {
    int64_t place = std::min(i, count - block);
    memcpy(to + place, from + place, block * sizeof(uint16_t));
  }
}

void WindowSums::readWeights(const uint16_t *row, int64_t begin, int64_t count,
                             uint16_t *to) const {
  auto numTaps = static_cast<int64_t>(problem.taps.size());
  int64_t tap = begin % numTaps;
  const uint16_t *channel = row + begin / numTaps * problem.weightChannel;
  for (int64_t l = 0; l < count; tap = 0, channel += problem.weightChannel) {
    if (tapStride && *tapStride == 1) {
      int64_t own = std::min(numTaps - tap, count - l);
      copyShort(channel + tap, own, to + l);
      l += own;
      continue;
    }
    for (; tap < numTaps && l < count; ++tap)
      to[l++] = channel[problem.taps[size_t(tap)].weight];
  }
}

void WindowSums::packWeights(const ConvolutionOperand &weights,
                             const GemmTile &tile, int64_t begin, int64_t count,
                             uint16_t *rows, float *panels) const {
  int64_t base =
      tile.batch * problem.weightGroup + tile.row * problem.weightRow;
  if (depthStride) {
    kernels.pack({weights.at(base + begin * *depthStride), weights.dtype,
                  tile.numRows, problem.weightRow, count, *depthStride},
                 kernels.rows, panels);
    return;
  }
  if (usesPairs()) {
    for (int64_t row = 0; row < tile.numRows; row += kernels.rows) {
      int64_t numOwn = std::min(kernels.rows, tile.numRows - row);
      for (int64_t i = 0; i < numOwn; ++i)
        readWeights(static_cast<const uint16_t *>(
                        weights.at(base + (row + i) * problem.weightRow)),
                    begin, count, rows + i * getDepthBlock());
      kernels.pack({rows, RG_BF16, numOwn, getDepthBlock(), count, 1},
                   kernels.rows, panels + row * kernels.getNumbers(count));
    }
    return;
  }
  auto numTaps = static_cast<int64_t>(problem.taps.size());
  if (tapStride && numTaps > 1) {
    // The taps of one channel after those of another.
    for (int64_t l = 0, length; l < count; l += length) {
      int64_t channel = (begin + l) / numTaps, tap = (begin + l) % numTaps;
      length = std::min(numTaps - tap, count - l);
      int64_t first = base + channel * problem.weightChannel + tap * *tapStride;
      for (int64_t row = 0; row < tile.numRows; row += kernels.rows)
        kernels.pack({weights.at(first + row * problem.weightRow),
                      weights.dtype, std::min(kernels.rows, tile.numRows - row),
                      problem.weightRow, length, *tapStride},
                     kernels.rows, panels + row * count + l * kernels.rows);
    }
    return;
  }
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

void WindowSums::packPairsOfWindows(const ConvolutionOperand &source,
                                    const GemmTile &tile, int64_t begin,
                                    int64_t count, const void *table,
                                    uint16_t *lines, float *panels) const {
  auto numTaps = static_cast<int64_t>(problem.taps.size());
  int64_t width = kernels.columns, numbers = kernels.getNumbers(count);
  int64_t numPadded = roundUp(tile.numColumns, width);
  std::fill(lines, lines + 2 * getLineSize(), uint16_t(0));
  for (int64_t l = 0; l < count; l += 2) {
    int64_t own = std::min<int64_t>(2, count - l);
    for (int64_t i = 0; i < own; ++i) {
      int64_t position = begin + l + i;
      const void *channel =
          source.at(tile.batch * problem.sourceGroup +
                    position / numTaps * problem.sourceChannel);
      gather.readNarrow(static_cast<const uint16_t *>(channel),
                        position % numTaps, tile.column, tile.numColumns, table,
                        lines + i * getLineSize());
    }
    for (int64_t j = 0; j < numPadded; j += width)
      kernels.pack({lines + j, RG_BF16, width, 1, own, getLineSize()}, width,
                   panels + j * numbers + l / 2 * width);
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
  auto *line = static_cast<float *>(scratch) + tileGemm.getScratchFloats();
  float *rows = line + getLineSize();
  float *table = rows + getRowsSize();
  gather.prepare(tile.column, tile.numColumns, table);
  WindowEpilogue epilogue(kernels, problem.columns, target, problem.targetRow,
                          bias ? &*bias : nullptr, problem.bias.strides[1]);
  tileGemm.run(
      tile,
      [&](int64_t begin, int64_t count, float *panels) {
        packWeights(weights, tile, begin, count,
                    reinterpret_cast<uint16_t *>(rows), panels);
      },
      [&](int64_t begin, int64_t count, float *panels) {
        if (usesPairs())
          packPairsOfWindows(source, tile, begin, count, table,
                             reinterpret_cast<uint16_t *>(line), panels);
        else
          packWindows(source, tile, begin, count, table, line, panels);
      },
      epilogue, scratch);
}

void WindowSums::run(void *const *buffers, int64_t task, void *scratch) const {
  int64_t end = tasks.getFirstTile(task + 1);
  for (int64_t tile = tasks.getFirstTile(task); tile < end; ++tile)
    runTile(buffers, tasks.getTile(tile), scratch);
}

std::unique_ptr<ConvolutionPart>
regather::runtime::createWindowSums(WindowProblem problem) {
  return std::make_unique<WindowSums>(std::move(problem));
}
