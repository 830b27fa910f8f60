//===- PlaneWeights.cpp - Gradients of the weights of few channels --------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of one weight is the sum over the batch of the products of what
// its tap sees and the channel of y, both laid out as planes; y has zeros
// between rows.
//
//===----------------------------------------------------------------------===//

#include "Planes.h"
#include "WeightGradient.h"

#include "CPU/Blocks/BlockKernels.h"
#include "Numeric/Elements.h"

#include <algorithm>

using namespace regather::runtime;

namespace {
class PlaneWeights final : public ConvolutionPart {
public:
  PlaneWeights(const rg_convolution_desc &desc, Planes layout, int64_t numTaps);

  int64_t getNumTasks() const override {
    return (desc.groups + groupsPerTask - 1) / groupsPerTask;
  }
  size_t getScratchBytes() const override {
    return static_cast<size_t>(getNumFloats()) * sizeof(float);
  }
  void run(void *const *buffers, int64_t task, void *scratch) const override;

  int64_t getNumFloats() const {
    return planes.getSize() + desc.outer * planes.getCount() +
           desc.outer * desc.inner * numTaps;
  }

private:
  void runGroup(void *const *buffers, int64_t group, float *scratch) const;
  void readY(const ConvolutionOperand &y, int64_t item, int64_t group,
             int64_t row, float *to) const;

  rg_convolution_desc desc;
  const BlockKernels &kernels;
  Planes planes;
  int64_t numTaps, groupsPerTask;
  WindowReader yReader, columns;
};
} // namespace

PlaneWeights::PlaneWeights(const rg_convolution_desc &desc, Planes layout,
                           int64_t numTaps)
    : desc(desc), kernels(getBlockKernels()), planes(std::move(layout)),
      numTaps(numTaps), yReader(getYWindows(desc)),
      columns(getRowOfWeights(desc)) {
  double work =
      static_cast<double>(planes.getCount()) *
      static_cast<double>(desc.batch * desc.outer * desc.inner * numTaps);
  groupsPerTask =
      static_cast<int64_t>(std::clamp(kPlaneTaskWork / std::max(work, 1.0), 1.0,
                                      static_cast<double>(desc.groups)));
}

void PlaneWeights::readY(const ConvolutionOperand &y, int64_t item,
                         int64_t group, int64_t row, float *to) const {
  const int64_t shifts[kMaxWindowDims] = {};
  const void *channel =
      y.at(group * desc.y.strides[1] + row * desc.y.strides[2]);
  int64_t numPositions = yReader.getNumPositions() / desc.batch;
  std::fill(to, to + planes.getCount(), 0.0f);
  planes.forEachRow([&](int64_t position, int64_t number, int64_t length) {
    yReader.read(channel, y.dtype, shifts, item * numPositions + position,
                 length, to + number);
  });
}

void PlaneWeights::runGroup(void *const *buffers, int64_t group,
                            float *scratch) const {
  ConvolutionOperand x(desc.x, buffers), y(desc.y, buffers);
  ConvolutionOperand target(desc.to_w, buffers);
  float *gradients = scratch + planes.getSize();
  float *sums = gradients + desc.outer * planes.getCount();
  int64_t perRow = desc.inner * numTaps;
  std::fill(sums, sums + desc.outer * perRow, 0.0f);
  for (int64_t item = 0; item < desc.batch; ++item) {
    for (int64_t row = 0; row < desc.outer; ++row)
      readY(y, item, group, row, gradients + row * planes.getCount());
    for (int64_t c = 0; c < desc.inner; ++c) {
      planes.fill(x.at(item * desc.x.strides[0] + group * desc.x.strides[1] +
                       c * desc.x.strides[2]),
                  x.dtype, scratch);
      for (int64_t row = 0; row < desc.outer; ++row)
        for (int64_t tap = 0; tap < numTaps; ++tap)
          sums[row * perRow + c * numTaps + tap] += kernels.sumProducts(
              scratch + planes.getStart(tap),
              gradients + row * planes.getCount(), planes.getCount());
    }
  }
  target.data = target.at(group * desc.to_w.strides[0]);
  WindowEpilogue(kernels, columns, target, desc.to_w.strides[1])
      .apply(sums, perRow, 0, desc.outer, 0, perRow);
}

void PlaneWeights::run(void *const *buffers, int64_t task,
                       void *scratch) const {
  int64_t end = std::min((task + 1) * groupsPerTask, desc.groups);
  for (int64_t group = task * groupsPerTask; group < end; ++group)
    runGroup(buffers, group, static_cast<float *>(scratch));
}

std::unique_ptr<ConvolutionPart>
regather::runtime::createPlaneWeights(const rg_convolution_desc &desc) {
  if (desc.outer > kMostPlaneRows || desc.inner > kMostPlaneRows ||
      desc.batch == 0)
    return nullptr;
  std::vector<Tap> taps = getTaps(desc);
  auto part = std::make_unique<PlaneWeights>(
      desc, Planes(getXWindows(desc), taps), static_cast<int64_t>(taps.size()));
  if (part->getNumFloats() > kMaxPlaneScratch)
    return nullptr;
  return part;
}
