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

/// One device, whose primary context is current on the thread that opened it.
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

  /// Lets calls of the calling thread go to the device.
  Failure makeCurrent() const;

  const DriverApi &getDriver() const { return driver; }
  /// Ten times the major number and the minor one, such as 90.
  int getArchitecture() const { return architecture; }
  const std::string &getName() const { return name; }
  /// For messages: number and name.
  std::string describe() const;

private:
  DriverApi driver;
  int ordinal = 0;
  CuDevice device = 0;
  CuContext context = nullptr;
  int architecture = 0;
  std::string name;
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
