//===- GpuDevice.cpp - A device and its memory ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuDevice.h"

#include <utility>

using namespace regather::runtime;

//===----------------------------------------------------------------------===//
// GpuDevice
//===----------------------------------------------------------------------===//

GpuDevice::~GpuDevice() {
  if (context)
    driver.cuDevicePrimaryCtxRelease_v2(device);
}

bool GpuDevice::open(const std::string &path, int number, std::string &message,
                     bool isAssigned) {
  ordinal = number;
  int count = 0;
  if (!driver.load(path, message) ||
      !check(driver.cuDeviceGetCount(&count), "cuDeviceGetCount", message))
    return false;
  if (isAssigned && count == 1)
    ordinal = 0;
  if (ordinal < 0 || ordinal >= count) {
    message = "there is no device " + std::to_string(ordinal) +
              ": the CUDA driver shows " + std::to_string(count) +
              (count == 1 ? " device" : " devices");
    return false;
  }
  char text[256] = {};
  int major = 0, minor = 0;
  if (!check(driver.cuDeviceGet(&device, ordinal), "cuDeviceGet", message) ||
      !check(driver.cuDeviceGetName(text, sizeof(text), device),
             "cuDeviceGetName", message) ||
      !check(driver.cuDeviceGetAttribute(&major, kCuAttributeMajor, device),
             "cuDeviceGetAttribute", message) ||
      !check(driver.cuDeviceGetAttribute(&minor, kCuAttributeMinor, device),
             "cuDeviceGetAttribute", message) ||
      !check(driver.cuDevicePrimaryCtxRetain(&context, device),
             "cuDevicePrimaryCtxRetain", message))
    return false;
  name = text;
  architecture = 10 * major + minor;
  return makeCurrent(message);
}

bool GpuDevice::check(CuResult result, const char *call,
                      std::string &message) const {
  if (result == kCuSuccess)
    return true;
  message = std::string(call) + " has failed: " + driver.describe(result);
  return false;
}

bool GpuDevice::makeCurrent(std::string &message) const {
  return check(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent", message);
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

bool DeviceMemory::allocate(const GpuDevice &onDevice, int64_t bytes,
                            std::string &message) {
  device = &onDevice;
  numBytes = bytes;
  if (bytes == 0)
    return true;
  CuResult result =
      device->getDriver().cuMemAlloc_v2(&address, size_t(numBytes));
  if (device->check(result, "cuMemAlloc", message))
    return true;
  message +=
      " (" + std::to_string(bytes) + " bytes on " + device->describe() + ")";
  address = 0;
  return false;
}
