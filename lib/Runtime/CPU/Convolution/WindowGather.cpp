//===- WindowGather.cpp - Channels as windows see them --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WindowGather.h"

#include "Numeric/Elements.h"
#include "Numeric/RoundUp.h"

#include <algorithm>
#include <limits>
#include <utility>

using namespace regather::runtime;

static constexpr int64_t kVector = 16;
/// Runs that are copied one after the other as fast as by a table of pieces.
static constexpr int64_t kLongRun = 64;
/// Runs that a table of pieces copies faster than elements are gathered.
static constexpr int64_t kShortRun = 2;
/// Channels for which it pays to find offsets.
static constexpr int64_t kManyChannels = 2;
/// A table that fits into the cache of a core beside what is packed.
static constexpr int64_t kMaxTable = 1 << 16;

WindowGather::Table WindowGather::chooseTable(const WindowReader &reader,
                                              int64_t channels,
                                              int64_t offsets) {
  bool hasRuns = reader.getLastStride() == 1;
  int64_t length = reader.getRunLength();
  if ((hasRuns && length >= kLongRun) || channels < kManyChannels ||
      offsets > kMaxTable ||
      reader.getLargestOffset() > std::numeric_limits<int32_t>::max())
    return Table::None;
  return hasRuns && length >= kShortRun ? Table::Pieces : Table::Elements;
}

static int64_t getUnshiftedSpan(const WindowReader &reader,
                                const std::vector<Tap> &taps) {
  if (taps.size() != 1)
    return 0;
  for (int64_t d = 0; d < reader.getRank(); ++d) {
    const WindowDim &dim = reader.getDim(d);
    if (taps[0].shifts[d] != 0 || dim.step != 1 || dim.count > dim.extent)
      return 0;
  }
  return reader.getSpan();
}

WindowGather::WindowGather(const BlockKernels &kernels,
                           const WindowReader &reader, std::vector<Tap> given,
                           int64_t channels, int64_t positions)
    : kernels(kernels), reader(reader), taps(std::move(given)),
      pitch(roundUp(positions, kVector)),
      table(chooseTable(reader, channels,
                        static_cast<int64_t>(taps.size()) * pitch)),
      span(getUnshiftedSpan(reader, taps)) {
  // One more ends those of a tap.
  if (table == Table::Pieces)
    pitch = roundUp(reader.getMostPieces(positions) + 1, kVector);
}

size_t WindowGather::getTableBytes() const {
  size_t bytes = table == Table::Pieces     ? sizeof(RowPiece)
                 : table == Table::Elements ? sizeof(int32_t)
                                            : 0;
  return taps.size() * static_cast<size_t>(pitch) * bytes;
}

std::optional<int64_t> WindowGather::findRun(int64_t first,
                                             int64_t count) const {
  if (span == 0 || count == 0 || first / span != (first + count - 1) / span)
    return std::nullopt;
  int64_t start = 0;
  reader.forEachRun(first, 1,
                    [&](int64_t offset, int64_t, int64_t) { start = offset; });
  return start;
}

void WindowGather::prepare(int64_t first, int64_t count, void *scratch) const {
  if (table == Table::None)
    return;
  if (table == Table::Pieces) {
    auto *pieces = static_cast<RowPiece *>(scratch);
    for (const Tap &tap : taps) {
      int64_t found = reader.locatePieces(tap.shifts, first, count, pieces);
      pieces[found].length = 0;
      pieces += pitch;
    }
    return;
  }
  auto *offsets = static_cast<int32_t *>(scratch);
  for (const Tap &tap : taps) {
    reader.locateElements(tap.shifts, first, count, offsets);
    std::fill(offsets + count, offsets + roundUp(count, kVector), -1);
    offsets += pitch;
  }
}

/// The same as BlockKernels::copyPieces, for other types.
template <typename Element>
static void copyPieces(const void *channel, const RowPiece *pieces, float *to) {
  const auto *data = static_cast<const typename Element::Storage *>(channel);
  for (; pieces->length != 0; to += pieces->length, ++pieces) {
    const auto *from = data + pieces->offset;
    for (int64_t i = 0; i < pieces->length; ++i)
      to[i] =
          pieces->mask >> i & 1 ? Element::template load<float>(from[i]) : 0.0f;
  }
}

void WindowGather::read(const void *channel, int32_t dtype, int64_t tap,
                        int64_t first, int64_t count, const void *scratch,
                        float *to) const {
  if (table == Table::Pieces) {
    const auto *pieces = static_cast<const RowPiece *>(scratch) + tap * pitch;
    if (dtype == RG_F32)
      kernels.copyPieces(static_cast<const float *>(channel), pieces, to);
    else
      useRoutineFloat(dtype, [&](auto element) {
        copyPieces<decltype(element)>(channel, pieces, to);
      });
    std::fill(to + count, to + roundUp(count, kVector), 0.0f);
    return;
  }
  if (table == Table::None) {
    reader.read(channel, dtype, taps[size_t(tap)].shifts, first, count, to);
    std::fill(to + count, to + roundUp(count, kVector), 0.0f);
    return;
  }
  const int32_t *offsets = static_cast<const int32_t *>(scratch) + tap * pitch;
  count = roundUp(count, kVector);
  if (dtype == RG_F32)
    return kernels.gather(static_cast<const float *>(channel), offsets, count,
                          to);
  useRoutineFloat(dtype, [&](auto element) {
    using Element = decltype(element);
    const auto *from = static_cast<const typename Element::Storage *>(channel);
    for (int64_t i = 0; i < count; ++i)
      to[i] = offsets[i] < 0 ? 0.0f
                             : Element::template load<float>(from[offsets[i]]);
  });
}

void WindowGather::readNarrow(const uint16_t *channel, int64_t tap,
                              int64_t first, int64_t count, const void *scratch,
                              uint16_t *to) const {
  int64_t end = roundUp(count, kVector);
  if (table == Table::Elements) {
    const int32_t *offsets =
        static_cast<const int32_t *>(scratch) + tap * pitch;
    for (int64_t i = 0; i < end; ++i)
      to[i] = offsets[i] < 0 ? uint16_t(0) : channel[offsets[i]];
    return;
  }
  if (table == Table::Pieces)
    kernels.copyNarrowPieces(
        channel, static_cast<const RowPiece *>(scratch) + tap * pitch, to);
  else
    reader.readNarrow(channel, taps[size_t(tap)].shifts, first, count, to);
  std::fill(to + count, to + end, uint16_t(0));
}
