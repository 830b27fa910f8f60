//===- GemmTimer.h - How long work takes on a device ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_CUBLASLT_GEMMTIMER_H
#define REGATHER_LIB_RUNTIME_GPU_CUBLASLT_GEMMTIMER_H

#include "GPU/Driver/DriverApi.h"

#include <functional>
#include <string>

namespace regather::runtime {

/// Times work by events, on a stream and in memory of its own. Both are gone
/// with it, before a step needs memory.
class GemmTimer {
public:
  explicit GemmTimer(const DriverApi &driver) : driver(driver) {}
  GemmTimer(const GemmTimer &) = delete;
  GemmTimer &operator=(const GemmTimer &) = delete;
  ~GemmTimer();

  /// Makes memory that is filled with numbers close to 0.01 in f32 and bf16,
  /// and to 1 in f16. Called once.
  Failure create(int64_t bytes);

  /// Aligned to 256 bytes.
  CuAddress getMemory() const { return memory; }

  /// False if the work cannot be enqueued.
  using Work = std::function<bool(CuStream stream)>;

  /// Runs the work once; false if it cannot be enqueued. Fails if the device
  /// does.
  Result<bool> runOnce(const Work &work);

  /// Microseconds: the median over several runs, after one that does not count;
  /// NaN if the work cannot be enqueued. Fails if the device does.
  Result<double> measure(const Work &work);

private:
  Failure check(CuResult result, const char *call) const;

  const DriverApi &driver;
  CuAddress memory = 0;
  CuStream stream = nullptr;
  CuEvent begin = nullptr, end = nullptr;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_CUBLASLT_GEMMTIMER_H
