//===- DeviceWait.cpp - Waits that end ------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceWait.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

using namespace regather::runtime;
using regather::Failure;

static std::string formatSeconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g seconds", seconds);
  return text;
}

Failure DeviceWait::wait(CuStream stream) {
  using Clock = std::chrono::steady_clock;
  using Microseconds = std::chrono::microseconds;
  // Short waits are found out about at once, long ones cost no processor.
  constexpr Microseconds kLongestPause(500);
  Clock::time_point begin = Clock::now();
  for (Microseconds pause(1);; pause = std::min(2 * pause, kLongestPause)) {
    CuResult result = device.getDriver().cuStreamQuery(stream);
    // What was ended after a failure is done as well.
    if (result == kCuSuccess)
      return communicator.poll();
    if (result != kCuNotReady)
      return Failure(device.check(result, "cuStreamQuery").getMessage() +
                         "; the cause may be any work that was enqueued before",
                     RG_ERROR_DEVICE);
    if (Failure failure = communicator.poll())
      return failure;
    if (std::chrono::duration<double>(Clock::now() - begin).count() > seconds)
      return Failure(device.describe() + " is not done after " +
                         formatSeconds(seconds),
                     RG_ERROR_TIMEOUT);
    std::this_thread::sleep_for(pause);
  }
}
