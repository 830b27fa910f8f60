//===- NvtxApi.h - How a tool attaches to NVTX ------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NVTX has no library: its headers, of which this is the part that is needed,
// open the tool and give it tables of pointers to functions, which the tool
// fills in. Source: github.com/NVIDIA/NVTX, c/include/nvtx3, version 3.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_DRIVER_NVTXAPI_H
#define REGATHER_LIB_RUNTIME_GPU_DRIVER_NVTXAPI_H

#include <cstddef>
#include <cstdint>

namespace regather::runtime {

using NvtxDomain = struct NvtxDomainTag *;

inline constexpr uint16_t kNvtxVersion = 3;
inline constexpr int32_t kNvtxMessageAscii = 1;
inline constexpr int32_t kNvtxPayloadExtended = int32_t(0xDFBD0009);

/// What a range is called, and numbers that belong to it.
struct NvtxEvent {
  uint16_t version = kNvtxVersion;
  uint16_t size = sizeof(NvtxEvent);
  uint32_t category = 0;
  int32_t colorType = 0;
  uint32_t color = 0;
  int32_t payloadType = 0;
  /// Of an extended payload, the number of its parts.
  int32_t payloadCount = 0;
  /// Of an extended payload, the address of its parts.
  uint64_t payload = 0;
  int32_t messageType = 0;
  const char *message = nullptr;
};

/// One part of an extended payload.
struct NvtxPayload {
  /// The type of all elements.
  uint64_t type;
  size_t bytes;
  const void *data;
};
inline constexpr uint64_t kNvtxInt64 = 17;
inline constexpr uint64_t kNvtxUint64 = 18;

// Modules of functions, and the functions that are called, by number.
inline constexpr uint32_t kNvtxModuleCore2 = 5;
inline constexpr size_t kNvtxDomainRangePush = 4;
inline constexpr size_t kNvtxDomainRangePop = 5;
inline constexpr size_t kNvtxDomainCreate = 12;

using NvtxDomainRangePush = int (*)(NvtxDomain domain, const NvtxEvent *event);
using NvtxDomainRangePop = int (*)(NvtxDomain domain);
using NvtxDomainCreate = NvtxDomain (*)(const char *name);

/// Of no type in particular.
using NvtxFunction = void (*)();

// What a tool asks for, by number.
inline constexpr uint32_t kNvtxExportCallbacks = 1;
inline constexpr uint32_t kNvtxExportVersion = 3;

struct NvtxCallbacks {
  size_t size;
  /// The table of a module has, for each number of a function, where its
  /// address goes; entry 0 is null. Returns 0 if there is no such module.
  int (*getModuleFunctionTable)(uint32_t module, NvtxFunction ***table,
                                unsigned *size);
};

struct NvtxVersionInfo {
  size_t size;
  uint32_t version;
  uint32_t reserved;
  /// The tool says which version of NVTX it was made for.
  void (*setInjectionVersion)(uint32_t version);
};

/// `InitializeInjectionNvtx2`, which a tool exports. Returns 0 if it fails.
using NvtxGetExportTable = const void *(*)(uint32_t number);
using NvtxInitializeInjection = int (*)(NvtxGetExportTable getExportTable);

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_DRIVER_NVTXAPI_H
