//===- PlaneSums.cpp - Convolutions of few channels -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GEMM with few rows packs more than it computes. Here each element of the
// batch and group is by itself: its channels are laid out as planes, and a row
// is the sum of what the taps see of them, times the weights.
//
//===----------------------------------------------------------------------===//

#include "Planes.h"
#include "WindowEpilogue.h"
#include "WindowProblem.h"

#include "Numeric/Elements.h"
#include "Numeric/RoundUp.h"

#include <algorithm>

using namespace regather::runtime;

namespace {
class PlaneSums final : public ConvolutionPart {
public:
  PlaneSums(const WindowProblem &problem, Planes layout);

  int64_t getNumTasks() const override {
    return (getNumPlanes() + planesPerTask - 1) / planesPerTask;
  }
  size_t getScratchBytes() const override {
    return static_cast<size_t>(getNumFloats()) * sizeof(float) +
           static_cast<size_t>(roundUp(numTerms, 8)) * sizeof(const float *);
  }
  void run(void *const *buffers, int64_t task, void *scratch) const override;

  int64_t getNumFloats() const {
    return problem.channels * planes.getSize() + planes.getCount() +
           roundUp(numTerms, 16);
  }

private:
  /// Of all of the batch and groups.
  int64_t getNumPlanes() const { return batch * problem.groups; }
  void runPlane(void *const *buffers, int64_t number, void *scratch) const;

  WindowProblem problem;
  const BlockKernels &kernels;
  Planes planes;
  int64_t batch, numTerms, planesPerTask;
  /// Positions in one element of the batch.
  int64_t numPositions;
};
} // namespace

PlaneSums::PlaneSums(const WindowProblem &given, Planes layout)
    : problem(given), kernels(getBlockKernels()), planes(std::move(layout)),
      batch(given.reader.getDim(0).count), numTerms(given.getDepth()) {
  int64_t all = problem.columns.getNumPositions();
  numPositions = batch > 0 ? all / batch : 0;
  double work = static_cast<double>(numPositions) *
                static_cast<double>(numTerms * problem.rows);
  planesPerTask = static_cast<int64_t>(
      std::clamp(kPlaneTaskWork / std::max(work, 1.0), 1.0,
                 std::max(static_cast<double>(getNumPlanes()), 1.0)));
}

void PlaneSums::runPlane(void *const *buffers, int64_t number,
                         void *scratch) const {
  int64_t item = number % batch, group = number / batch;
  ConvolutionOperand source(problem.source, buffers);
  ConvolutionOperand weights(problem.weights, buffers);
  ConvolutionOperand target(problem.target, buffers);
  target.data = target.at(problem.targetOffset + group * problem.targetGroup);
  auto **terms = static_cast<const float **>(scratch);
  auto *data = reinterpret_cast<float *>(terms + roundUp(numTerms, 8));
  float *sums = data + problem.channels * planes.getSize();
  float *factors = sums + planes.getCount();
  auto numTaps = static_cast<int64_t>(problem.taps.size());
  for (int64_t c = 0; c < problem.channels; ++c) {
    float *own = data + c * planes.getSize();
    planes.fill(source.at(item * problem.reader.getDim(0).stride +
                          group * problem.sourceGroup +
                          c * problem.sourceChannel),
                source.dtype, own);
    for (int64_t tap = 0; tap < numTaps; ++tap)
      terms[c * numTaps + tap] = own + planes.getStart(tap);
  }
  for (int64_t row = 0; row < problem.rows; ++row) {
    for (int64_t term = 0; term < numTerms; ++term)
      factors[term] =
          weights.load(group * problem.weightGroup + row * problem.weightRow +
                       term / numTaps * problem.weightChannel +
                       problem.taps[size_t(term % numTaps)].weight);
    kernels.sumRows(terms, factors, numTerms, planes.getCount(), sums);
    float bias = problem.bias.buffer < 0
                     ? 0.0f
                     : ConvolutionOperand(problem.bias, buffers)
                           .load(group * problem.bias.strides[0] +
                                 row * problem.bias.strides[1]);
    planes.forEachRow([&](int64_t position, int64_t first, int64_t length) {
      float *values = sums + first;
      if (problem.bias.buffer >= 0)
        for (int64_t i = 0; i < length; ++i)
          values[i] += bias;
      WindowEpilogue(kernels, problem.columns, target, problem.targetRow)
          .apply(values, length, row, 1, item * numPositions + position,
                 length);
    });
  }
}

void PlaneSums::run(void *const *buffers, int64_t task, void *scratch) const {
  int64_t end = std::min((task + 1) * planesPerTask, getNumPlanes());
  for (int64_t number = task * planesPerTask; number < end; ++number)
    runPlane(buffers, number, scratch);
}

std::unique_ptr<ConvolutionPart>
regather::runtime::createPlaneSums(const WindowProblem &problem) {
  if (problem.rows > kMostPlaneRows || problem.taps.empty())
    return nullptr;
  auto part = std::make_unique<PlaneSums>(problem,
                                          Planes(problem.reader, problem.taps));
  if (part->getNumFloats() > kMaxPlaneScratch)
    return nullptr;
  return part;
}
