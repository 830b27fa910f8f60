//===- NoDriver.c - A CUDA driver without devices -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions without which cuDNN does not make plans. Those that it calls
// say that the driver is not initialized, which it allows.
//
//===----------------------------------------------------------------------===//

#define NOT_INITIALIZED(name)                                                  \
  int name(void);                                                              \
  int name(void) { return 3; }

/* clang-format off */
NOT_INITIALIZED(cuCtxGetCurrent)
NOT_INITIALIZED(cuCtxGetDevice)
NOT_INITIALIZED(cuCtxGetLimit)
NOT_INITIALIZED(cuCtxPopCurrent)
NOT_INITIALIZED(cuCtxPushCurrent)
NOT_INITIALIZED(cuDeviceGet)
NOT_INITIALIZED(cuDeviceGetAttribute)
NOT_INITIALIZED(cuDeviceGetCount)
NOT_INITIALIZED(cuDevicePrimaryCtxRelease)
NOT_INITIALIZED(cuDevicePrimaryCtxReset)
NOT_INITIALIZED(cuDevicePrimaryCtxRetain)
NOT_INITIALIZED(cuDriverGetVersion)
NOT_INITIALIZED(cuFuncGetAttribute)
NOT_INITIALIZED(cuFuncSetAttribute)
NOT_INITIALIZED(cuGetErrorName)
NOT_INITIALIZED(cuGetErrorString)
NOT_INITIALIZED(cuInit)
NOT_INITIALIZED(cuKernelGetAttribute)
NOT_INITIALIZED(cuKernelGetFunction)
NOT_INITIALIZED(cuKernelSetAttribute)
NOT_INITIALIZED(cuLaunchCooperativeKernel)
NOT_INITIALIZED(cuLaunchKernel)
NOT_INITIALIZED(cuLaunchKernelEx)
NOT_INITIALIZED(cuLibraryGetKernel)
NOT_INITIALIZED(cuLibraryLoadData)
NOT_INITIALIZED(cuLibraryLoadFromFile)
NOT_INITIALIZED(cuLibraryUnload)
NOT_INITIALIZED(cuLinkAddData)
NOT_INITIALIZED(cuLinkComplete)
NOT_INITIALIZED(cuLinkCreate)
NOT_INITIALIZED(cuLinkDestroy)
NOT_INITIALIZED(cuMemcpyDtoH_v2)
NOT_INITIALIZED(cuModuleGetFunction)
NOT_INITIALIZED(cuModuleGetGlobal_v2)
NOT_INITIALIZED(cuModuleLoadData)
NOT_INITIALIZED(cuModuleLoadDataEx)
NOT_INITIALIZED(cuModuleLoadFatBinary)
NOT_INITIALIZED(cuModuleUnload)
NOT_INITIALIZED(cuOccupancyMaxActiveBlocksPerMultiprocessor)
NOT_INITIALIZED(cuOccupancyMaxPotentialClusterSize)
NOT_INITIALIZED(cuStreamGetCtx)
NOT_INITIALIZED(cuStreamSynchronize)
NOT_INITIALIZED(cuTensorMapEncodeIm2col)
NOT_INITIALIZED(cuTensorMapEncodeTiled)
NOT_INITIALIZED(cuThreadExchangeStreamCaptureMode)
