//===- StepSpans.h - When the device did what -------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_STEPSPANS_H
#define REGATHER_LIB_RUNTIME_GPU_STEPSPANS_H

#include "GPU/Driver/GpuDevice.h"

#include "regather/Runtime/Executor.h"

#include <vector>

namespace regather::runtime {

/// Measures the instructions of a rank's step by events around each of them. An
/// instruction begins when its stream comes to it. Events are made in the first
/// step and used again.
class StepSpans {
public:
  explicit StepSpans(const GpuDevice &device) : device(device) {}
  StepSpans(const StepSpans &) = delete;
  StepSpans &operator=(const StepSpans &) = delete;
  ~StepSpans();

  void beginStep();
  /// What is enqueued on a stream from now on, until `end`, is the instruction.
  Failure begin(int64_t instruction, CuStream stream);
  /// Does nothing if no instruction has begun.
  Failure end();
  /// Asks the device, which is done, for all seconds since `start`.
  Failure read(CuEvent start);

  /// Those of the last step that was read.
  const std::vector<rg_span> &get() const { return spans; }

private:
  Failure record(CuStream stream);

  const GpuDevice &device;
  /// Begin and end of each span, and more from longer steps.
  std::vector<CuEvent> events;
  size_t numRecorded = 0;
  std::vector<rg_span> spans;
  /// Of the instruction that has begun; unused between instructions.
  CuStream current = nullptr;
  bool hasBegun = false;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_STEPSPANS_H
