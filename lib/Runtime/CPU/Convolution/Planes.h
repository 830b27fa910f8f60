//===- Planes.h - Channels laid out for shifted reads -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A channel with the zeros around it, laid out so that what a tap sees at all
// positions of windows is the same numbers, shifted. With a stride, there is a
// plane for each remainder of places divided by it:
//
//   plane r, element e of a dimension = x[(low + e) * stride + r]
//
// where `low` is the least place that a tap looks at. Position q of windows has
// the number sum of q[d] * pitch[d]; numbers between rows belong to no
// position.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_CPU_CONVOLUTION_PLANES_H
#define REGATHER_LIB_RUNTIME_CPU_CONVOLUTION_PLANES_H

#include "WindowGather.h"

#include <vector>

namespace regather::runtime {

/// With more rows, a GEMM uses what it packs often enough.
inline constexpr int64_t kMostPlaneRows = 2;
/// Floats that stay within the cache of a core.
inline constexpr int64_t kMaxPlaneScratch = 1 << 18;
/// Multiply-adds of a task, if there are as many.
inline constexpr double kPlaneTaskWork = 1e6;

class Planes {
public:
  /// `reader` has the batch as its first dimension, which planes do not have.
  Planes(const WindowReader &reader, const std::vector<Tap> &taps);

  /// Floats of the planes of one channel, a multiple of 16. What taps see of
  /// numbers up to `getCount()` lies within.
  int64_t getSize() const { return numPlanes * planeSize; }
  /// Of numbers from the first position to the last, rounded up to a multiple
  /// of 16.
  int64_t getCount() const { return count; }
  /// Where what tap `tap` sees begins.
  int64_t getStart(int64_t tap) const { return starts[size_t(tap)]; }

  /// Lays out the channel whose element at the origin is `data`.
  void fill(const void *data, int32_t dtype, float *planes) const;

  /// Calls `use(position, number, length)` for each run of positions along the
  /// last dimension: the position as windows are counted, and its number here.
  template <typename Use> void forEachRow(Use use) const {
    int64_t length = counts[rank - 1];
    int64_t index[kMaxWindowDims] = {};
    for (int64_t position = 0; position < numPositions; position += length) {
      int64_t number = 0;
      for (int64_t d = 0; d + 1 < rank; ++d)
        number += index[d] * pitches[d];
      use(position, number, length);
      for (int64_t d = rank - 2; d >= 0 && ++index[d] == counts[d]; --d)
        index[d] = 0;
    }
  }

private:
  int64_t rank, numPositions, numPlanes, planeSize, count;
  int64_t counts[kMaxWindowDims], pitches[kMaxWindowDims];
  /// Reads the elements of a plane, from shifts for each.
  WindowReader elements;
  std::vector<Tap> planeShifts;
  std::vector<int64_t> starts;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_CPU_CONVOLUTION_PLANES_H
