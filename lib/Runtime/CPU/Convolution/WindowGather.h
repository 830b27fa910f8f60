//===- WindowGather.h - Channels as windows see them ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the taps of windows see of many channels. Where runs are short, the
// offsets of elements, or of pieces of rows, are found once and serve all
// channels.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_CPU_CONVOLUTION_WINDOWGATHER_H
#define REGATHER_LIB_RUNTIME_CPU_CONVOLUTION_WINDOWGATHER_H

#include "WindowReader.h"

#include "CPU/Blocks/BlockKernels.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace regather::runtime {

/// One element of a window.
struct Tap {
  /// From the window to what is read, for the batch and each dimension.
  int64_t shifts[kMaxWindowDims] = {};
  /// Of the weight, from that of the first tap.
  int64_t weight = 0;
};

class WindowGather {
public:
  /// For `channels` channels, and at most `positions` positions at a time.
  WindowGather(const BlockKernels &kernels, const WindowReader &reader,
               std::vector<Tap> taps, int64_t channels, int64_t positions);

  /// Of scratch memory that a task needs, a multiple of 64.
  size_t getTableBytes() const;
  /// Finds the offsets of positions [first, first + count).
  void prepare(int64_t first, int64_t count, void *scratch) const;
  /// Numbers that `read` may write behind those it is asked for.
  static constexpr int64_t kSlack = 16;
  /// Writes what tap `tap` sees of a channel at the positions that were
  /// prepared, and zeros up to a multiple of 16.
  void read(const void *channel, int32_t dtype, int64_t tap, int64_t first,
            int64_t count, const void *scratch, float *to) const;

  /// The same of numbers of 16 bits, as they are.
  void readNarrow(const uint16_t *channel, int64_t tap, int64_t first,
                  int64_t count, const void *scratch, uint16_t *to) const;

  /// Where the first of positions [first, first + count) lies from the origin
  /// of a channel if the only tap sees them one behind the other.
  std::optional<int64_t> findRun(int64_t first, int64_t count) const;

private:
  enum class Table { None, Elements, Pieces };
  static Table chooseTable(const WindowReader &reader, int64_t channels,
                           int64_t offsets);

  const BlockKernels &kernels;
  WindowReader reader;
  std::vector<Tap> taps;
  /// Offsets or pieces from one tap to the next.
  int64_t pitch;
  Table table;
  /// Positions that lie behind each other; zero if taps are shifted.
  int64_t span;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_CPU_CONVOLUTION_WINDOWGATHER_H
