//===- GemmTimer.cpp - How long work takes on a device --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmTimer.h"

#include "regather/Runtime/Runtime.h"

#include <algorithm>
#include <array>
#include <cmath>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

/// Of which the median counts.
static constexpr size_t kRuns = 5;

/// Each byte of the memory: 0x3c3c is 0.0115 in bf16 and 1.06 in f16.
static constexpr unsigned char kFill = 0x3c;

GemmTimer::~GemmTimer() {
  if (begin)
    driver.cuEventDestroy_v2(begin);
  if (end)
    driver.cuEventDestroy_v2(end);
  if (stream)
    driver.cuStreamDestroy_v2(stream);
  if (memory)
    driver.cuMemFree_v2(memory);
}

Failure GemmTimer::check(CuResult result, const char *call) const {
  if (result == kCuSuccess)
    return Failure();
  return Failure(std::string("cannot time GEMMs: ") + call +
                     " has failed: " + driver.describe(result),
                 RG_ERROR_DEVICE);
}

Failure GemmTimer::create(int64_t bytes) {
  auto size = static_cast<size_t>(bytes);
  if (driver.cuMemAlloc_v2(&memory, size) != kCuSuccess) {
    size_t free = 0, total = 0;
    Failure failure =
        check(driver.cuMemGetInfo_v2(&free, &total), "cuMemGetInfo");
    if (failure)
      return failure;
    return "timing GEMMs needs " + std::to_string(bytes) +
           " bytes on the device, but " + std::to_string(free) + " of " +
           std::to_string(total) + " bytes are free";
  }
  Failure failure = check(driver.cuStreamCreate(&stream, kCuStreamNonBlocking),
                          "cuStreamCreate");
  if (!failure)
    failure = check(driver.cuEventCreate(&begin, 0), "cuEventCreate");
  if (!failure)
    failure = check(driver.cuEventCreate(&end, 0), "cuEventCreate");
  return failure ? failure
                 : check(driver.cuMemsetD8Async(memory, kFill, size, stream),
                         "cuMemsetD8Async");
}

Result<bool> GemmTimer::runOnce(const Work &work) {
  bool isDone = work(stream);
  if (Failure failure =
          check(driver.cuStreamSynchronize(stream), "cuStreamSynchronize"))
    return failure;
  return isDone;
}

Result<double> GemmTimer::measure(const Work &work) {
  if (!work(stream))
    return double(NAN);
  std::array<float, kRuns> milliseconds = {};
  for (float &time : milliseconds) {
    if (Failure failure =
            check(driver.cuEventRecord(begin, stream), "cuEventRecord"))
      return failure;
    if (!work(stream))
      return double(NAN);
    Failure failure = check(driver.cuEventRecord(end, stream), "cuEventRecord");
    if (!failure)
      failure = check(driver.cuEventSynchronize(end), "cuEventSynchronize");
    if (!failure)
      failure = check(driver.cuEventElapsedTime(&time, begin, end),
                      "cuEventElapsedTime");
    if (failure)
      return failure;
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  constexpr double perMillisecond = 1e3;
  return double(milliseconds[kRuns / 2]) * perMillisecond;
}
