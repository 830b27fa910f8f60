//===- GpuDevice.cpp - A device and its memory ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuDevice.h"

#include "regather/Runtime/Runtime.h"

#include <utility>

using namespace regather::runtime;
using regather::Failure;

//===----------------------------------------------------------------------===//
// GpuDevice
//===----------------------------------------------------------------------===//

GpuDevice::~GpuDevice() {
  leave();
  if (context)
    driver.cuDevicePrimaryCtxRelease_v2(device);
}

Failure GpuDevice::open(const std::string &path, int number, bool isAssigned) {
  ordinal = number;
  if (Failure failure = driver.load(path))
    return failure;
  int count = 0;
  if (Failure failure =
          check(driver.cuDeviceGetCount(&count), "cuDeviceGetCount"))
    return failure;
  if (isAssigned && count == 1)
    ordinal = 0;
  if (ordinal < 0 || ordinal >= count)
    return "there is no device " + std::to_string(ordinal) +
           ": the CUDA driver shows " + std::to_string(count) +
           (count == 1 ? " device" : " devices");
  char text[256] = {};
  int major = 0, minor = 0;
  Failure failure = check(driver.cuDeviceGet(&device, ordinal), "cuDeviceGet");
  if (!failure)
    failure = check(driver.cuDeviceGetName(text, sizeof(text), device),
                    "cuDeviceGetName");
  if (!failure)
    failure =
        check(driver.cuDeviceGetAttribute(&major, kCuAttributeMajor, device),
              "cuDeviceGetAttribute");
  if (!failure)
    failure =
        check(driver.cuDeviceGetAttribute(&minor, kCuAttributeMinor, device),
              "cuDeviceGetAttribute");
  if (!failure)
    failure = check(driver.cuDevicePrimaryCtxRetain(&context, device),
                    "cuDevicePrimaryCtxRetain");
  name = text;
  architecture = 10 * major + minor;
  if (failure)
    return failure;
  driver.cuCtxGetCurrent(&before);
  isEntered = true;
  return check(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent");
}

Failure GpuDevice::check(CuResult result, const char *call) const {
  if (result == kCuSuccess)
    return Failure();
  return Failure(std::string(call) + " has failed: " + driver.describe(result),
                 RG_ERROR_DEVICE);
}

void GpuDevice::enter() {
  if (!context || isEntered)
    return;
  if (driver.cuCtxGetCurrent(&before) != kCuSuccess)
    before = nullptr;
  driver.cuCtxSetCurrent(context);
  isEntered = true;
}

void GpuDevice::leave() {
  if (!isEntered)
    return;
  isEntered = false;
  if (before != context)
    driver.cuCtxSetCurrent(before);
}

std::string GpuDevice::describe() const {
  return "device " + std::to_string(ordinal) + " ('" + name + "')";
}

//===----------------------------------------------------------------------===//
// DeviceMemory
//===----------------------------------------------------------------------===//

DeviceMemory::DeviceMemory(DeviceMemory &&other) noexcept {
  *this = std::move(other);
}

DeviceMemory &DeviceMemory::operator=(DeviceMemory &&other) noexcept {
  std::swap(device, other.device);
  std::swap(address, other.address);
  std::swap(numBytes, other.numBytes);
  return *this;
}

DeviceMemory::~DeviceMemory() {
  if (address)
    device->getDriver().cuMemFree_v2(address);
}

Failure DeviceMemory::allocate(const GpuDevice &onDevice, int64_t bytes) {
  device = &onDevice;
  numBytes = bytes;
  if (bytes == 0)
    return Failure();
  CuResult result =
      device->getDriver().cuMemAlloc_v2(&address, size_t(numBytes));
  Failure failure = device->check(result, "cuMemAlloc");
  if (!failure)
    return failure;
  address = 0;
  return Failure(failure.getMessage() + " (" + std::to_string(bytes) +
                     " bytes on " + device->describe() + ")",
                 RG_ERROR_MEMORY);
}
