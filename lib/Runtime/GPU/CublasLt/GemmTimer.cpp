//===- GemmTimer.cpp - How long work takes on a device --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmTimer.h"

#include <algorithm>
#include <array>
#include <cmath>

using namespace regather::runtime;

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

bool GemmTimer::check(CuResult result, const char *call,
                      std::string &message) const {
  if (result == kCuSuccess)
    return true;
  message = std::string("cannot try products of matrices: ") + call +
            " has failed: " + driver.describe(result);
  return false;
}

bool GemmTimer::create(int64_t bytes, std::string &message) {
  auto size = static_cast<size_t>(bytes);
  if (driver.cuMemAlloc_v2(&memory, size) != kCuSuccess) {
    size_t free = 0, total = 0;
    if (check(driver.cuMemGetInfo_v2(&free, &total), "cuMemGetInfo", message))
      message = "trying products of matrices needs " + std::to_string(bytes) +
                " bytes on the device, but " + std::to_string(free) + " of " +
                std::to_string(total) + " bytes are free";
    return false;
  }
  return check(driver.cuStreamCreate(&stream, kCuStreamNonBlocking),
               "cuStreamCreate", message) &&
         check(driver.cuEventCreate(&begin, 0), "cuEventCreate", message) &&
         check(driver.cuEventCreate(&end, 0), "cuEventCreate", message) &&
         check(driver.cuMemsetD8Async(memory, kFill, size, stream),
               "cuMemsetD8Async", message);
}

bool GemmTimer::runOnce(const Work &work, bool &isDone, std::string &message) {
  isDone = work(stream);
  return check(driver.cuStreamSynchronize(stream), "cuStreamSynchronize",
               message);
}

bool GemmTimer::measure(const Work &work, double &microseconds,
                        std::string &message) {
  microseconds = NAN;
  if (!work(stream))
    return true;
  std::array<float, kRuns> milliseconds = {};
  for (float &time : milliseconds) {
    if (!check(driver.cuEventRecord(begin, stream), "cuEventRecord", message))
      return false;
    if (!work(stream))
      return true;
    if (!check(driver.cuEventRecord(end, stream), "cuEventRecord", message) ||
        !check(driver.cuEventSynchronize(end), "cuEventSynchronize", message) ||
        !check(driver.cuEventElapsedTime(&time, begin, end),
               "cuEventElapsedTime", message))
      return false;
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  constexpr double perMillisecond = 1e3;
  microseconds = double(milliseconds[kRuns / 2]) * perMillisecond;
  return true;
}
