//===- WindowProblem.cpp - Convolutions and their adjoints ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A convolution has channels of y as rows and the positions of windows, over
// all of the batch, as columns. Its sums run over channels of x and, fastest,
// elements of windows (taps).
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

#include "WindowProblem.h"

#include <algorithm>
#include <utility>

using namespace regather::runtime;

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

static std::unique_ptr<ConvolutionPart> createPart(WindowProblem problem) {
  if (auto planes = createPlaneSums(problem))
    return planes;
  return createWindowSums(std::move(problem));
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
  parts.push_back(createPart(std::move(problem)));
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
    parts.push_back(createPart(std::move(problem)));
  });
}
