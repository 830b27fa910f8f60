//===- NvtxFunctions.cpp - Stands in for a profiler -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tool of NVTX that notes in the record what calls belong to. The runtime
// opens it if NVTX_INJECTION64_PATH names the library.
//
//===----------------------------------------------------------------------===//

#include "GPU/Driver/NvtxApi.h"
#include "RecordedCall.h"

#include "regather/Runtime/Runtime.h"

#include <cstring>

using namespace regather::runtime;

/// The elements of one part of a payload; none if they are of another type.
template <typename T>
static std::vector<T> readPayload(const NvtxPayload &payload, uint64_t type) {
  std::vector<T> elements(payload.type == type ? payload.bytes / sizeof(T) : 0);
  if (!elements.empty())
    std::memcpy(elements.data(), payload.data, elements.size() * sizeof(T));
  return elements;
}

static NvtxDomain createDomain(const char *) {
  // There is one. What it points to is never looked at.
  static char domain;
  return reinterpret_cast<NvtxDomain>(&domain);
}

static int pushRange(NvtxDomain, const NvtxEvent *event) {
  WorkRange range;
  if (event->messageType == kNvtxMessageAscii)
    range.description = event->message;
  if (event->payloadType == kNvtxPayloadExtended && event->payloadCount == 4) {
    const auto *parts = reinterpret_cast<const NvtxPayload *>(event->payload);
    std::vector<int64_t> place = readPayload<int64_t>(parts[0], kNvtxInt64);
    if (place.size() == 2) {
      range.rank = place[0];
      range.instruction = place[1];
    }
    range.reads = readPayload<DeviceRange>(parts[1], kNvtxUint64);
    range.writes = readPayload<DeviceRange>(parts[2], kNvtxUint64);
    range.scratch = readPayload<DeviceRange>(parts[3], kNvtxUint64);
  }
  return beginRange(std::move(range));
}

static int popRange(NvtxDomain) { return endRange(); }

extern "C" RG_EXPORT int
InitializeInjectionNvtx2(NvtxGetExportTable getExportTable) {
  const auto *callbacks =
      static_cast<const NvtxCallbacks *>(getExportTable(kNvtxExportCallbacks));
  NvtxFunction **table = nullptr;
  unsigned size = 0;
  if (!callbacks ||
      !callbacks->getModuleFunctionTable(kNvtxModuleCore2, &table, &size) ||
      size <= kNvtxDomainCreate)
    return 0;
  *table[kNvtxDomainCreate] = reinterpret_cast<NvtxFunction>(createDomain);
  *table[kNvtxDomainRangePush] = reinterpret_cast<NvtxFunction>(pushRange);
  *table[kNvtxDomainRangePop] = reinterpret_cast<NvtxFunction>(popRange);
  return 1;
}
