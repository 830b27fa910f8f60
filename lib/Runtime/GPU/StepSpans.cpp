//===- StepSpans.cpp - When the device did what ---------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepSpans.h"

using namespace regather::runtime;
using regather::Failure;

StepSpans::~StepSpans() {
  for (CuEvent event : events)
    device.getDriver().cuEventDestroy_v2(event);
}

void StepSpans::beginStep() {
  numRecorded = 0;
  hasBegun = false;
  spans.clear();
}

Failure StepSpans::record(CuStream stream) {
  const DriverApi &driver = device.getDriver();
  if (numRecorded == events.size()) {
    CuEvent event = nullptr;
    if (Failure failure = device.check(
            driver.cuEventCreate(&event, /*flags=*/0), "cuEventCreate"))
      return failure;
    events.push_back(event);
  }
  return device.check(driver.cuEventRecord(events[numRecorded++], stream),
                      "cuEventRecord");
}

Failure StepSpans::begin(int64_t instruction, CuStream stream) {
  spans.push_back({instruction, 0, 0});
  current = stream;
  hasBegun = true;
  return record(stream);
}

Failure StepSpans::end() {
  if (!hasBegun)
    return Failure();
  hasBegun = false;
  return record(current);
}

Failure StepSpans::read(CuEvent start) {
  auto getSeconds = [&](size_t event, double &seconds) {
    float milliseconds = 0;
    Failure failure = device.check(device.getDriver().cuEventElapsedTime(
                                       &milliseconds, start, events[event]),
                                   "cuEventElapsedTime");
    seconds = double(milliseconds) / 1e3;
    return failure;
  };
  for (size_t i = 0; i < spans.size(); ++i) {
    if (Failure failure = getSeconds(2 * i, spans[i].begin))
      return failure;
    if (Failure failure = getSeconds(2 * i + 1, spans[i].end))
      return failure;
  }
  return Failure();
}
