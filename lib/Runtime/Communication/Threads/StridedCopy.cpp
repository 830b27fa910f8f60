//===- StridedCopy.cpp - Copies of boxes of dense tensors -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StridedCopy.h"

#include <cstring>

using namespace regather::runtime;

/// Bytes from one element to the next along each dimension.
static Offset getStrides(const View &view) {
  Offset strides;
  int64_t stride = 1;
  for (int dim = 4; dim >= 0; --dim) {
    strides[dim] = stride;
    stride *= view[dim];
  }
  return strides;
}

static int64_t dot(const Offset &offset, const Offset &strides) {
  int64_t sum = 0;
  for (int dim = 0; dim < 5; ++dim)
    sum += offset[dim] * strides[dim];
  return sum;
}

/// Calls `callback` with the source offset, target offset and size in bytes of
/// each run that is contiguous on both sides, in ascending order.
template <typename Callback>
static void forEachRun(const View &box, const View &sourceView,
                       const Offset &sourceOffset, const View &targetView,
                       const Offset &targetOffset, Callback callback) {
  for (int64_t size : box)
    if (size <= 0)
      return;
  Offset sourceStrides = getStrides(sourceView);
  Offset targetStrides = getStrides(targetView);

  // Dimensions that the box covers wholly on both sides join the one outside.
  int runDim = 4;
  while (runDim > 0 && box[runDim] == sourceView[runDim] &&
         box[runDim] == targetView[runDim])
    --runDim;
  int64_t run = box[runDim] * sourceStrides[runDim];

  // What lies outside of the run is stepped through like an odometer.
  Offset index = {};
  int64_t source = dot(sourceOffset, sourceStrides);
  int64_t target = dot(targetOffset, targetStrides);
  while (true) {
    callback(source, target, run);
    int dim = runDim - 1;
    for (; dim >= 0; --dim) {
      source += sourceStrides[dim];
      target += targetStrides[dim];
      if (++index[dim] < box[dim])
        break;
      source -= sourceStrides[dim] * box[dim];
      target -= targetStrides[dim] * box[dim];
      index[dim] = 0;
    }
    if (dim < 0)
      return;
  }
}

void regather::runtime::copyBox(const View &box, const char *source,
                                const View &sourceView,
                                const Offset &sourceOffset, char *target,
                                const View &targetView,
                                const Offset &targetOffset) {
  forEachRun(box, sourceView, sourceOffset, targetView, targetOffset,
             [&](int64_t from, int64_t to, int64_t bytes) {
               // A shard that is gathered in place is already where it belongs,
               // and other ranks may be reading it.
               if (source + from != target + to)
                 std::memcpy(target + to, source + from, bytes);
             });
}

void regather::runtime::clearBox(const View &box, char *target,
                                 const View &targetView,
                                 const Offset &targetOffset) {
  forEachRun(box, targetView, targetOffset, targetView, targetOffset,
             [&](int64_t, int64_t to, int64_t bytes) {
               std::memset(target + to, 0, bytes);
             });
}
