//===- Planes.cpp - Channels laid out for shifted reads -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Planes.h"

#include "Numeric/RoundUp.h"

#include <algorithm>

using namespace regather::runtime;

static constexpr int64_t kVector = 16;

/// Rounds down.
static int64_t divideDown(int64_t a, int64_t b) {
  return a >= 0 ? a / b : -((b - 1 - a) / b);
}

Planes::Planes(const WindowReader &reader, const std::vector<Tap> &taps)
    : rank(reader.getRank() - 1), numPositions(1), numPlanes(1) {
  int64_t low[kMaxWindowDims], steps[kMaxWindowDims];
  planeSize = 1;
  int64_t last = 0;
  for (int64_t d = rank; d-- > 0;) {
    const WindowDim &dim = reader.getDim(1 + d);
    counts[d] = dim.count;
    steps[d] = dim.step;
    numPositions *= dim.count;
    numPlanes *= dim.step;
    int64_t high = low[d] = divideDown(taps.front().shifts[1 + d], dim.step);
    for (const Tap &tap : taps) {
      int64_t place = divideDown(tap.shifts[1 + d], dim.step);
      low[d] = std::min(low[d], place);
      high = std::max(high, place);
    }
    pitches[d] = planeSize;
    planeSize *= dim.count + high - low[d];
    last += (dim.count - 1) * pitches[d];
  }
  for (int64_t d = 0; d < rank; ++d) {
    const WindowDim &dim = reader.getDim(1 + d);
    int64_t size = (d == 0 ? planeSize : pitches[d - 1]) / pitches[d];
    elements.addDim({size, dim.step, dim.extent, dim.stride});
  }
  count = numPositions > 0 ? roundUp(last + 1, kVector) : 0;
  // Whole vectors are read behind the last position.
  planeSize = roundUp(planeSize + kVector, kVector);
  for (int64_t plane = 0; plane < numPlanes; ++plane) {
    Tap shifts;
    int64_t rest = plane;
    for (int64_t d = rank; d-- > 0; rest /= steps[d])
      shifts.shifts[d] = low[d] * steps[d] + rest % steps[d];
    planeShifts.push_back(shifts);
  }
  for (const Tap &tap : taps) {
    int64_t plane = 0, start = 0;
    for (int64_t d = 0; d < rank; ++d) {
      int64_t place = divideDown(tap.shifts[1 + d], steps[d]);
      plane = plane * steps[d] + (tap.shifts[1 + d] - place * steps[d]);
      start += (place - low[d]) * pitches[d];
    }
    starts.push_back(plane * planeSize + start);
  }
}

void Planes::fill(const void *data, int32_t dtype, float *planes) const {
  int64_t size = elements.getNumPositions();
  for (const Tap &plane : planeShifts) {
    elements.read(data, dtype, plane.shifts, 0, size, planes);
    std::fill(planes + size, planes + planeSize, 0.0f);
    planes += planeSize;
  }
}
