//===- DriverApi.h - Functions of the CUDA driver ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver is opened at run time, and its types are declared here, so that
// the runtime builds without a CUDA toolkit. Names and numbers are those of
// cuda.h of CUDA 13; a symbol that ends in _vN is the version that its macros
// choose.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_DRIVER_DRIVERAPI_H
#define REGATHER_LIB_RUNTIME_GPU_DRIVER_DRIVERAPI_H

#include "SharedLibrary.h"

#include <cstddef>
#include <cstdint>

namespace regather::runtime {

using CuResult = int;
using CuDevice = int;
using CuContext = struct CuContextTag *;
using CuModule = struct CuModuleTag *;
using CuFunction = struct CuFunctionTag *;
using CuStream = struct CuStreamTag *;
using CuEvent = struct CuEventTag *;
using CuGraph = struct CuGraphTag *;
using CuGraphExec = struct CuGraphExecTag *;
/// An address in the memory of a device.
using CuAddress = uint64_t;

/// Bytes of a device.
struct DeviceRange {
  CuAddress address;
  uint64_t bytes;
};

inline constexpr CuResult kCuSuccess = 0;
inline constexpr CuResult kCuOutOfMemory = 2;
inline constexpr CuResult kCuNoDevice = 100;
inline constexpr CuResult kCuNoBinaryForDevice = 209;
inline constexpr CuResult kCuNotReady = 600;
inline constexpr unsigned kCuStreamNonBlocking = 1;
inline constexpr unsigned kCuEventDisableTiming = 2;
inline constexpr int kCuCaptureThreadLocal = 1;
inline constexpr int kCuAttributeMajor = 75;
inline constexpr int kCuAttributeMinor = 76;
inline constexpr int kCuFunctionDynamicShared = 8;
/// CUjit_option: where the translator of PTX writes what is wrong, and how many
/// bytes it may write.
inline constexpr int kCuJitErrorLog = 5;
inline constexpr int kCuJitErrorLogBytes = 6;
/// The largest pitch of cuMemcpy2DAsync_v2, in bytes, on all devices.
inline constexpr int64_t kCuMaxPitch = 2147483647;

/// Parameters of cuMemcpy2DAsync_v2.
struct CuCopy2D {
  size_t srcXInBytes, srcY;
  /// CUmemorytype: 1 host, 2 device.
  unsigned srcMemoryType;
  const void *srcHost;
  CuAddress srcDevice;
  void *srcArray;
  size_t srcPitch;
  size_t dstXInBytes, dstY;
  unsigned dstMemoryType;
  void *dstHost;
  CuAddress dstDevice;
  void *dstArray;
  size_t dstPitch;
  size_t widthInBytes, height;
};

/// The driver's functions, each a member of the name of its symbol.
struct DriverApi {
  // NOLINTBEGIN(readability-identifier-naming)
#define REGATHER_DRIVER_FUNCTIONS(X)                                           \
  X(cuInit, (unsigned flags))                                                  \
  X(cuDriverGetVersion, (int *version))                                        \
  X(cuGetErrorName, (CuResult error, const char **text))                       \
  X(cuGetErrorString, (CuResult error, const char **text))                     \
  X(cuDeviceGetCount, (int *count))                                            \
  X(cuDeviceGet, (CuDevice * device, int ordinal))                             \
  X(cuDeviceGetName, (char *name, int length, CuDevice device))                \
  X(cuDeviceGetAttribute, (int *value, int attribute, CuDevice device))        \
  X(cuDevicePrimaryCtxRetain, (CuContext * context, CuDevice device))          \
  X(cuDevicePrimaryCtxRelease_v2, (CuDevice device))                           \
  X(cuCtxSetCurrent, (CuContext context))                                      \
  X(cuCtxGetCurrent, (CuContext * context))                                    \
  X(cuCtxSynchronize, ())                                                      \
  X(cuMemGetInfo_v2, (size_t *free, size_t *total))                            \
  X(cuMemAlloc_v2, (CuAddress * address, size_t bytes))                        \
  X(cuMemFree_v2, (CuAddress address))                                         \
  X(cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags))             \
  X(cuMemFreeHost, (void *memory))                                             \
  X(cuMemcpyHtoDAsync_v2,                                                      \
    (CuAddress target, const void *source, size_t bytes, CuStream stream))     \
  X(cuMemcpyDtoHAsync_v2,                                                      \
    (void *target, CuAddress source, size_t bytes, CuStream stream))           \
  X(cuMemcpyDtoDAsync_v2,                                                      \
    (CuAddress target, CuAddress source, size_t bytes, CuStream stream))       \
  X(cuMemcpy2DAsync_v2, (const CuCopy2D *copy, CuStream stream))               \
  X(cuMemsetD8Async,                                                           \
    (CuAddress target, unsigned char value, size_t count, CuStream stream))    \
  X(cuMemsetD16Async,                                                          \
    (CuAddress target, unsigned short value, size_t count, CuStream stream))   \
  X(cuMemsetD32Async,                                                          \
    (CuAddress target, unsigned value, size_t count, CuStream stream))         \
  X(cuModuleLoadDataEx, (CuModule * module, const void *image, unsigned count, \
                         int *options, void **values))                         \
  X(cuModuleUnload, (CuModule module))                                         \
  X(cuModuleGetFunction,                                                       \
    (CuFunction * function, CuModule module, const char *name))                \
  X(cuFuncSetAttribute, (CuFunction function, int attribute, int value))       \
  X(cuLaunchKernel,                                                            \
    (CuFunction function, unsigned gridX, unsigned gridY, unsigned gridZ,      \
     unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,  \
     CuStream stream, void **arguments, void **extra))                         \
  X(cuCtxGetStreamPriorityRange, (int *least, int *greatest))                  \
  X(cuStreamCreate, (CuStream * stream, unsigned flags))                       \
  X(cuStreamCreateWithPriority,                                                \
    (CuStream * stream, unsigned flags, int priority))                         \
  X(cuStreamDestroy_v2, (CuStream stream))                                     \
  X(cuStreamSynchronize, (CuStream stream))                                    \
  X(cuStreamQuery, (CuStream stream))                                          \
  X(cuStreamWaitEvent, (CuStream stream, CuEvent event, unsigned flags))       \
  X(cuEventCreate, (CuEvent * event, unsigned flags))                          \
  X(cuEventDestroy_v2, (CuEvent event))                                        \
  X(cuEventRecord, (CuEvent event, CuStream stream))                           \
  X(cuEventQuery, (CuEvent event))                                             \
  X(cuEventSynchronize, (CuEvent event))                                       \
  X(cuEventElapsedTime, (float *milliseconds, CuEvent begin, CuEvent end))     \
  X(cuStreamBeginCapture_v2, (CuStream stream, int mode))                      \
  X(cuStreamEndCapture, (CuStream stream, CuGraph * graph))                    \
  X(cuGraphInstantiateWithFlags,                                               \
    (CuGraphExec * exec, CuGraph graph, unsigned long long flags))             \
  X(cuGraphLaunch, (CuGraphExec exec, CuStream stream))                        \
  X(cuGraphExecDestroy, (CuGraphExec exec))                                    \
  X(cuGraphDestroy, (CuGraph graph))
#define REGATHER_DECLARE(name, parameters) CuResult(*name) parameters = nullptr;
  REGATHER_DRIVER_FUNCTIONS(REGATHER_DECLARE)
#undef REGATHER_DECLARE
  // NOLINTEND(readability-identifier-naming)

  /// As cuDriverGetVersion counts: 12040 for CUDA 12.4.
  int version = 0;

  /// Opens the driver, or the library at `path`, and starts it. Fails if there
  /// is none or it is too old.
  Failure load(const std::string &path);

  /// The newest CUDA that it supports, such as "12.4".
  std::string getVersion() const;
  /// Loads an image of kernels. A failure ends with what the driver's assembler
  /// says of PTX.
  Result<CuModule> loadModule(const void *image) const;
  /// RG_ERROR_DEVICE with what was tried and why it failed, such as "cannot
  /// copy: CUDA_ERROR_INVALID_VALUE: invalid argument", if a call has failed.
  Failure check(CuResult result, const char *what) const;
  /// Such as "CUDA_ERROR_OUT_OF_MEMORY: out of memory".
  std::string describe(CuResult result) const;

private:
  SharedLibrary library;
};

/// The version of the driver that is needed, as cuDriverGetVersion counts: PTX
/// and graphs of CUDA 12.4.
inline constexpr int kMinDriverVersion = 12040;

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_DRIVER_DRIVERAPI_H
