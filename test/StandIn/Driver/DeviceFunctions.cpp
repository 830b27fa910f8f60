//===- DeviceFunctions.cpp - Devices and memory of the stand-in driver ----===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecordedCall.h"

#include "regather/Runtime/Runtime.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace regather::runtime;

/// Allocations of the driver are aligned to it.
static constexpr size_t kAllocationAlignment = 512;

/// Of the thread.
static thread_local CuContext currentContext = nullptr;

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

extern "C" {

RG_EXPORT CuResult cuInit(unsigned flags) {
  StandInDevice &device = StandInDevice::get();
  {
    std::lock_guard<std::mutex> lock(device.mutex);
    device.settings = StandInSettings::read();
    device.queues.start(device.settings.delays >= 0,
                        uint64_t(device.settings.delays));
    device.isStarted = true;
    openRecord();
  }
  RecordedCall call("cuInit");
  call.require(flags == 0, kCuInvalidValue, "flags must be 0")
      .require(device.settings.devices > 0, kCuNoDevice, "there is no device");
  return call.finish();
}

RG_EXPORT CuResult cuDriverGetVersion(int *version) {
  *version = int(StandInDevice::get().settings.driver);
  return kCuSuccess;
}

RG_EXPORT CuResult cuGetErrorName(CuResult error, const char **text) {
  *text = getErrorName(error);
  return *text ? kCuSuccess : kCuInvalidValue;
}

RG_EXPORT CuResult cuGetErrorString(CuResult error, const char **text) {
  const std::string &problem = StandInDevice::get().kernelProblem;
  *text = getErrorName(error) ? "reported by the stand-in driver" : nullptr;
  if (error == kCuLaunchFailed && !problem.empty())
    *text = problem.c_str();
  return *text ? kCuSuccess : kCuInvalidValue;
}

RG_EXPORT CuResult cuDeviceGetCount(int *count) {
  *count = int(StandInDevice::get().settings.devices);
  return kCuSuccess;
}

RG_EXPORT CuResult cuDeviceGet(CuDevice *device, int ordinal) {
  RecordedCall call("cuDeviceGet");
  call.add("device", ordinal)
      .require(ordinal >= 0 && ordinal < call.getDevice().settings.devices,
               kCuInvalidDevice, "there is no such device");
  *device = ordinal;
  return call.finish();
}

RG_EXPORT CuResult cuDeviceGetName(char *name, int length, CuDevice device) {
  if (length > 0) {
    std::strncpy(name, "stand-in device", size_t(length));
    name[length - 1] = 0;
  }
  return kCuSuccess;
}

RG_EXPORT CuResult cuDeviceGetAttribute(int *value, int attribute,
                                        CuDevice device) {
  int64_t architecture = StandInDevice::get().settings.architecture;
  if (attribute == kCuAttributeMajor)
    *value = int(architecture / 10);
  else if (attribute == kCuAttributeMinor)
    *value = int(architecture % 10);
  else
    return kCuInvalidValue;
  return kCuSuccess;
}

RG_EXPORT CuResult cuDevicePrimaryCtxRetain(CuContext *context,
                                            CuDevice device) {
  // There is one; its address stands for it.
  *context = reinterpret_cast<CuContext>(&StandInDevice::get());
  return RecordedCall("cuDevicePrimaryCtxRetain").finish();
}

RG_EXPORT CuResult cuDevicePrimaryCtxRelease_v2(CuDevice device) {
  return RecordedCall("cuDevicePrimaryCtxRelease_v2").finish();
}

RG_EXPORT CuResult cuCtxSetCurrent(CuContext context) {
  currentContext = context;
  return RecordedCall("cuCtxSetCurrent").finish();
}

RG_EXPORT CuResult cuCtxGetCurrent(CuContext *context) {
  *context = currentContext;
  return kCuSuccess;
}

RG_EXPORT CuResult cuCtxSynchronize() {
  RecordedCall call("cuCtxSynchronize");
  CuResult result = call.mayWait().finish();
  CuResult work = call.getDevice().queues.finishAll();
  return result ? result : work;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

RG_EXPORT CuResult cuMemGetInfo_v2(size_t *free, size_t *total) {
  RecordedCall call("cuMemGetInfo_v2");
  *total = size_t(call.getDevice().settings.memory);
  *free = *total - std::min(*total, size_t(call.getDevice().allocatedBytes));
  return call.finish();
}

RG_EXPORT CuResult cuMemAlloc_v2(CuAddress *address, size_t bytes) {
  RecordedCall call("cuMemAlloc_v2");
  StandInDevice &device = call.getDevice();
  uint64_t memory = uint64_t(device.settings.memory);
  call.add("bytes", int64_t(bytes))
      .mayWait()
      .require(bytes > 0, kCuInvalidValue, "an allocation has no bytes")
      .require(bytes <= memory && device.allocatedBytes <= memory - bytes,
               kCuOutOfMemory, "the device has not enough free memory");
  if (call.getResult() == kCuSuccess) {
    size_t rounded = (bytes + kAllocationAlignment - 1) / kAllocationAlignment *
                     kAllocationAlignment;
    void *memory = std::aligned_alloc(kAllocationAlignment, rounded);
    call.require(memory, kCuOutOfMemory, "the host has not enough memory");
    *address = reinterpret_cast<CuAddress>(memory);
  }
  if (call.getResult() == kCuSuccess) {
    call.add("address", int64_t(*address));
    device.allocations[*address] = bytes;
    device.allocatedBytes += bytes;
  }
  return call.finish();
}

RG_EXPORT CuResult cuMemFree_v2(CuAddress address) {
  // As the driver does, which may be asked to free what is in use.
  StandInDevice::get().queues.finishAll();
  RecordedCall call("cuMemFree_v2");
  StandInDevice &device = call.getDevice();
  auto found = device.allocations.find(address);
  call.add("address", int64_t(address))
      .mayWait()
      .require(found != device.allocations.end(), kCuInvalidValue,
               "no allocation begins at this address");
  if (call.getResult() == kCuSuccess) {
    device.allocatedBytes -= found->second;
    device.allocations.erase(found);
    std::free(reinterpret_cast<void *>(address));
  }
  return call.finish();
}

RG_EXPORT CuResult cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
  RecordedCall call("cuMemHostAlloc");
  call.add("bytes", int64_t(bytes)).mayWait();
  *memory = call.getResult() == kCuSuccess ? std::malloc(bytes) : nullptr;
  call.require(*memory, kCuOutOfMemory, "the host has not enough memory");
  if (*memory)
    call.getDevice().hostAllocations[*memory] = bytes;
  return call.finish();
}

RG_EXPORT CuResult cuMemFreeHost(void *memory) {
  StandInDevice::get().queues.finishAll();
  RecordedCall call("cuMemFreeHost");
  call.mayWait().require(call.getDevice().hostAllocations.erase(memory) != 0,
                         kCuInvalidValue, "no allocation begins there");
  if (call.getResult() == kCuSuccess)
    std::free(memory);
  return call.finish();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Device memory as the host sees it.
static std::byte *at(CuAddress address) {
  return reinterpret_cast<std::byte *>(address);
}

RG_EXPORT CuResult cuMemcpyHtoDAsync_v2(CuAddress target, const void *source,
                                        size_t bytes, CuStream stream) {
  RecordedCall call("cuMemcpyHtoDAsync_v2");
  call.onStream(stream).write({target, bytes});
  // The driver has read memory that is not its own when the call returns.
  std::string copy;
  StandInDevice &device = call.getDevice();
  bool isCopied = device.queues.isDelaying() && !device.isPinned(source);
  if (isCopied)
    copy.assign(static_cast<const char *>(source), bytes);
  return call.enqueue([=, copy = std::move(copy)] {
    std::memcpy(at(target), isCopied ? copy.data() : source, bytes);
    return kCuSuccess;
  });
}

RG_EXPORT CuResult cuMemcpyDtoHAsync_v2(void *target, CuAddress source,
                                        size_t bytes, CuStream stream) {
  RecordedCall call("cuMemcpyDtoHAsync_v2");
  call.onStream(stream).read({source, bytes});
  StandInDevice &device = call.getDevice();
  bool isAwaited = device.queues.isDelaying() && !device.isPinned(target);
  CuResult result = call.enqueue([=] {
    std::memcpy(target, at(source), bytes);
    return kCuSuccess;
  });
  // The driver has written memory that is not its own when the call returns.
  return result == kCuSuccess && isAwaited && !stream->capture
             ? device.queues.finish(stream->number)
             : result;
}

RG_EXPORT CuResult cuMemcpyDtoDAsync_v2(CuAddress target, CuAddress source,
                                        size_t bytes, CuStream stream) {
  RecordedCall call("cuMemcpyDtoDAsync_v2");
  call.onStream(stream).read({source, bytes}).write({target, bytes});
  call.require(target + bytes <= source || source + bytes <= target || !bytes,
               kCuInvalidValue, "source and target overlap");
  return call.enqueue([=] {
    std::memcpy(at(target), at(source), bytes);
    return kCuSuccess;
  });
}

/// Where the rows of one side of a copy begin.
static std::byte *getRows(unsigned type, const void *host, CuAddress device,
                          size_t x, size_t y, size_t pitch) {
  std::byte *base = type == 1
                        ? static_cast<std::byte *>(const_cast<void *>(host))
                        : at(device);
  return base + y * pitch + x;
}

RG_EXPORT CuResult cuMemcpy2DAsync_v2(const CuCopy2D *copy, CuStream stream) {
  RecordedCall call("cuMemcpy2DAsync_v2");
  size_t width = copy->widthInBytes, height = copy->height;
  size_t srcPitch = copy->srcPitch ? copy->srcPitch : width;
  size_t dstPitch = copy->dstPitch ? copy->dstPitch : width;
  std::byte *source =
      getRows(copy->srcMemoryType, copy->srcHost, copy->srcDevice,
              copy->srcXInBytes, copy->srcY, srcPitch);
  std::byte *target =
      getRows(copy->dstMemoryType, copy->dstHost, copy->dstDevice,
              copy->dstXInBytes, copy->dstY, dstPitch);
  auto isKnown = [](unsigned type) { return type == 1 || type == 2; };
  call.onStream(stream)
      .require(isKnown(copy->srcMemoryType) && isKnown(copy->dstMemoryType),
               kCuInvalidValue, "memory is of the host or of the device")
      .require(srcPitch >= width && dstPitch >= width, kCuInvalidValue,
               "a pitch is below the width")
      .require(srcPitch <= kCuMaxPitch && dstPitch <= kCuMaxPitch,
               kCuInvalidValue, "a pitch is above the largest one");
  for (size_t row = 0; width && row < height; ++row) {
    if (copy->srcMemoryType == 2)
      call.read({reinterpret_cast<CuAddress>(source + row * srcPitch), width});
    if (copy->dstMemoryType == 2)
      call.write({reinterpret_cast<CuAddress>(target + row * dstPitch), width});
  }
  return call.enqueue([=] {
    for (size_t row = 0; row < height; ++row)
      std::memcpy(target + row * dstPitch, source + row * srcPitch, width);
    return kCuSuccess;
  });
}

} // extern "C"

template <typename T>
static CuResult setMemory(const char *name, CuAddress target, T value,
                          size_t count, CuStream stream) {
  RecordedCall call(name);
  call.onStream(stream)
      .add("value", int64_t(value))
      .write({target, count * sizeof(T)})
      .require(target % sizeof(T) == 0, kCuInvalidValue,
               "the address is not aligned to the element");
  return call.enqueue([=] {
    std::fill_n(reinterpret_cast<T *>(target), count, value);
    return kCuSuccess;
  });
}

extern "C" {

RG_EXPORT CuResult cuMemsetD8Async(CuAddress target, unsigned char value,
                                   size_t count, CuStream stream) {
  return setMemory("cuMemsetD8Async", target, value, count, stream);
}

RG_EXPORT CuResult cuMemsetD16Async(CuAddress target, unsigned short value,
                                    size_t count, CuStream stream) {
  return setMemory("cuMemsetD16Async", target, value, count, stream);
}

RG_EXPORT CuResult cuMemsetD32Async(CuAddress target, unsigned value,
                                    size_t count, CuStream stream) {
  return setMemory("cuMemsetD32Async", target, value, count, stream);
}

} // extern "C"
