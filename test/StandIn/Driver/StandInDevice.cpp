//===- StandInDevice.cpp - A device without hardware ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StandInDevice.h"

#include <cstdlib>

using namespace regather::runtime;

static void readNumber(const char *variable, int64_t &number) {
  if (const char *text = std::getenv(variable))
    number = std::strtoll(text, nullptr, 10);
}

StandInSettings StandInSettings::read() {
  StandInSettings settings;
  readNumber("REGATHER_STAND_IN_DEVICES", settings.devices);
  readNumber("REGATHER_STAND_IN_MEMORY", settings.memory);
  readNumber("REGATHER_STAND_IN_ARCHITECTURE", settings.architecture);
  readNumber("REGATHER_STAND_IN_DRIVER", settings.driver);
  readNumber("REGATHER_STAND_IN_HANGS", settings.hangs);
  readNumber("REGATHER_STAND_IN_MACHINE_CODE", settings.machineCode);
  readNumber("REGATHER_STAND_IN_DELAYS", settings.delays);
  return settings;
}

StandInDevice &StandInDevice::get() {
  // Never destroyed: other threads may call until the process has ended.
  static auto *device = new StandInDevice();
  return *device;
}

bool StandInDevice::contains(DeviceRange range) const {
  auto after = allocations.upper_bound(range.address);
  if (after == allocations.begin())
    return false;
  auto [base, bytes] = *std::prev(after);
  uint64_t offset = range.address - base;
  return offset <= bytes && range.bytes <= bytes - offset;
}

bool StandInDevice::isPinned(const void *memory) const {
  auto after = hostAllocations.upper_bound(const_cast<void *>(memory));
  if (after == hostAllocations.begin())
    return false;
  auto [base, bytes] = *std::prev(after);
  return static_cast<const char *>(memory) - static_cast<const char *>(base) <
         static_cast<ptrdiff_t>(bytes);
}

bool StandInDevice::isCapturing(std::thread::id thread) const {
  for (const auto &[stream, owner] : streams.get())
    if (stream->capture && stream->capture->thread == thread)
      return true;
  return false;
}

void StandInDevice::invalidate(std::thread::id thread) {
  for (const auto &[stream, owner] : streams.get())
    if (stream->capture && stream->capture->thread == thread)
      stream->capture->isInvalid = true;
}

std::vector<DeviceRange> StandInDevice::getMemory() const {
  std::vector<DeviceRange> memory;
  for (auto [address, bytes] : allocations)
    memory.push_back({address, bytes});
  return memory;
}
