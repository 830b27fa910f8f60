//===- BiasGradient.cpp - Sums of the channels of a gradient --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Convolution.h"

#include "Numeric/Elements.h"

#include <algorithm>

using namespace regather::runtime;

/// Elements that are summed in lanes before the lanes are. Bits depend on both.
static constexpr int64_t kChunk = 2048, kLanes = 16;
/// A task has about as many elements if there are as many.
static constexpr int64_t kTaskElements = 1 << 16;

namespace {
class BiasGradient final : public ConvolutionPart {
public:
  explicit BiasGradient(const rg_convolution_desc &desc)
      : source(desc.transposed ? desc.x : desc.y), target(desc.to_bias),
        groups(desc.groups),
        channels(desc.transposed ? desc.inner : desc.outer) {
    const int64_t *sizes = desc.transposed ? desc.extents : desc.counts;
    reader.addDim({desc.batch, 1, desc.batch, source.strides[0]});
    for (int64_t d = 0; d < desc.rank; ++d)
      reader.addDim({sizes[d], 1, sizes[d], source.strides[3 + d]});
    reader.joinDims();
    int64_t elements = std::max<int64_t>(reader.getNumPositions(), 1);
    channelsPerTask = std::max<int64_t>(kTaskElements / elements, 1);
  }

  int64_t getNumTasks() const override {
    return (groups * channels + channelsPerTask - 1) / channelsPerTask;
  }
  size_t getScratchBytes() const override { return kChunk * sizeof(float); }
  void run(void *const *buffers, int64_t task, void *scratch) const override;

private:
  float sum(const void *data, int32_t dtype, float *chunk) const;

  rg_convolution_operand source, target;
  int64_t groups, channels, channelsPerTask;
  WindowReader reader;
};
} // namespace

float BiasGradient::sum(const void *data, int32_t dtype, float *chunk) const {
  const int64_t shifts[kMaxWindowDims] = {};
  int64_t count = reader.getNumPositions();
  float total = 0;
  for (int64_t first = 0; first < count; first += kChunk) {
    int64_t length = std::min(kChunk, count - first);
    reader.read(data, dtype, shifts, first, length, chunk);
    std::fill(chunk + length, chunk + kChunk, 0.0f);
    float lanes[kLanes] = {};
    for (int64_t i = 0; i < kChunk; i += kLanes)
      for (int64_t lane = 0; lane < kLanes; ++lane)
        lanes[lane] += chunk[i + lane];
    float part = 0;
    for (float lane : lanes)
      part += lane;
    total += part;
  }
  return total;
}

void BiasGradient::run(void *const *buffers, int64_t task,
                       void *scratch) const {
  ConvolutionOperand from(source, buffers), to(target, buffers);
  int64_t first = task * channelsPerTask;
  int64_t end = std::min(first + channelsPerTask, groups * channels);
  for (int64_t number = first; number < end; ++number) {
    int64_t group = number / channels, channel = number % channels;
    float value =
        sum(from.at(group * source.strides[1] + channel * source.strides[2]),
            from.dtype, static_cast<float *>(scratch));
    useRoutineFloat(to.dtype, [&](auto element) {
      using Element = decltype(element);
      *static_cast<typename Element::Storage *>(
          to.at(group * target.strides[0] + channel * target.strides[1])) =
          Element::store(value);
    });
  }
}

void regather::runtime::addBiasParts(const rg_convolution_desc &desc,
                                     ConvolutionParts &parts) {
  parts.push_back(std::make_unique<BiasGradient>(desc));
}
