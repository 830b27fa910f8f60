//===- GpuDevice.h - A device and its memory --------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_DRIVER_GPUDEVICE_H
#define REGATHER_LIB_RUNTIME_GPU_DRIVER_GPUDEVICE_H

#include "DriverApi.h"

#include <string>

namespace regather::runtime {

/// One device, whose primary context is current on the thread that opened it
/// until `leave` is called or it is destroyed.
class GpuDevice {
public:
  GpuDevice() = default;
  GpuDevice(const GpuDevice &) = delete;
  GpuDevice &operator=(const GpuDevice &) = delete;
  ~GpuDevice();

  /// Opens the driver, or the library at `path`, and a device by its number.
  /// With `isAssigned`, a device that is the only one is it, whatever its
  /// number: a launcher may show each process its own one. Fails if there is
  /// none.
  Failure open(const std::string &path, int ordinal, bool isAssigned = false);

  /// RG_ERROR_DEVICE with which call of the driver has failed and why, if one
  /// has.
  Failure check(CuResult result, const char *call) const;

  /// Lets calls of the calling thread go to the device, and remembers where
  /// they went before. If it cannot be done, the next call fails. Does nothing
  /// before `open`.
  void enter();
  /// Lets them go there again. One thread at a time.
  void leave();

  const DriverApi &getDriver() const { return driver; }
  /// Ten times the major number and the minor one, such as 90.
  int getArchitecture() const { return architecture; }
  const std::string &getName() const { return name; }
  int getNumber() const { return ordinal; }
  /// For messages: number and name.
  std::string describe() const;

private:
  DriverApi driver;
  int ordinal = 0;
  CuDevice device = 0;
  CuContext context = nullptr;
  /// What was current on the thread, between `enter` and `leave`.
  CuContext before = nullptr;
  bool isEntered = false;
  int architecture = 0;
  std::string name;
};

/// Lets the calls of a thread go to a device for as long as it lives; see
/// GpuDevice::enter.
class CurrentDevice {
public:
  explicit CurrentDevice(GpuDevice &device) : device(device) { device.enter(); }
  CurrentDevice(const CurrentDevice &) = delete;
  CurrentDevice &operator=(const CurrentDevice &) = delete;
  ~CurrentDevice() { device.leave(); }

private:
  GpuDevice &device;
};

/// One allocation on a device.
class DeviceMemory {
public:
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory &&other) noexcept;
  DeviceMemory &operator=(DeviceMemory &&other) noexcept;
  ~DeviceMemory();

  /// No bytes are no allocation. Called once. Fails with RG_ERROR_MEMORY.
  Failure allocate(const GpuDevice &device, int64_t numBytes);

  CuAddress getAddress() const { return address; }
  int64_t getNumBytes() const { return numBytes; }

private:
  const GpuDevice *device = nullptr;
  CuAddress address = 0;
  int64_t numBytes = 0;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_DRIVER_GPUDEVICE_H
