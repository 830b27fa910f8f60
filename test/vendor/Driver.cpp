//===- Driver.cpp - Our declarations against cuda.h -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SameDeclaration.h"

#include "GPU/Driver/DriverApi.h"
#include <cuda.h>

using namespace regather::runtime;

// The runtime calls the symbol of this name; CUDA 13 prefers its successor,
// with the same parameters.
#ifdef cuEventElapsedTime
#undef cuEventElapsedTime
static constexpr auto *cuEventElapsedTime = &::cuEventElapsedTime_v2;
#endif

SAME_VALUE(kCuSuccess, CUDA_SUCCESS);
SAME_VALUE(kCuOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME_VALUE(kCuNoDevice, CUDA_ERROR_NO_DEVICE);
SAME_VALUE(kCuNoBinaryForDevice, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME_VALUE(kCuNotReady, CUDA_ERROR_NOT_READY);
SAME_VALUE(kCuStreamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME_VALUE(kCuEventDisableTiming, CU_EVENT_DISABLE_TIMING);
SAME_VALUE(kCuCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME_VALUE(kCuAttributeMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME_VALUE(kCuAttributeMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME_VALUE(kCuFunctionDynamicShared,
           CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME_VALUE(kCuJitErrorLog, CU_JIT_ERROR_LOG_BUFFER);
SAME_VALUE(kCuJitErrorLogBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);

SAME_SIZE(CuAddress, CUdeviceptr);
SAME_SIZE(CuDevice, CUdevice);
SAME_SIZE(CuResult, CUresult);
SAME_SIZE(CuCopy2D, CUDA_MEMCPY2D);
SAME_FIELD(CuCopy2D, srcXInBytes, CUDA_MEMCPY2D, srcXInBytes);
SAME_FIELD(CuCopy2D, srcY, CUDA_MEMCPY2D, srcY);
SAME_FIELD(CuCopy2D, srcMemoryType, CUDA_MEMCPY2D, srcMemoryType);
SAME_FIELD(CuCopy2D, srcHost, CUDA_MEMCPY2D, srcHost);
SAME_FIELD(CuCopy2D, srcDevice, CUDA_MEMCPY2D, srcDevice);
SAME_FIELD(CuCopy2D, srcArray, CUDA_MEMCPY2D, srcArray);
SAME_FIELD(CuCopy2D, srcPitch, CUDA_MEMCPY2D, srcPitch);
SAME_FIELD(CuCopy2D, dstXInBytes, CUDA_MEMCPY2D, dstXInBytes);
SAME_FIELD(CuCopy2D, dstY, CUDA_MEMCPY2D, dstY);
SAME_FIELD(CuCopy2D, dstMemoryType, CUDA_MEMCPY2D, dstMemoryType);
SAME_FIELD(CuCopy2D, dstHost, CUDA_MEMCPY2D, dstHost);
SAME_FIELD(CuCopy2D, dstDevice, CUDA_MEMCPY2D, dstDevice);
SAME_FIELD(CuCopy2D, dstArray, CUDA_MEMCPY2D, dstArray);
SAME_FIELD(CuCopy2D, dstPitch, CUDA_MEMCPY2D, dstPitch);
SAME_FIELD(CuCopy2D, widthInBytes, CUDA_MEMCPY2D, WidthInBytes);
SAME_FIELD(CuCopy2D, height, CUDA_MEMCPY2D, Height);

#define CHECK(name, parameters) SAME_FUNCTION(DriverApi, name);
REGATHER_DRIVER_FUNCTIONS(CHECK)
