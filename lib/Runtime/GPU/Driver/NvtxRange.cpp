//===- NvtxRange.cpp - What enqueued work belongs to ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NvtxRange.h"

#include "NvtxApi.h"
#include "SharedLibrary.h"

#include <array>
#include <cstdlib>

using namespace regather::runtime;

//===----------------------------------------------------------------------===//
// The tool
//===----------------------------------------------------------------------===//

namespace {
/// The tables that a tool is given. It keeps their addresses, so they last as
/// long as the process does.
class NvtxTables {
public:
  static NvtxTables &get() {
    static NvtxTables tables;
    return tables;
  }

  /// The function of a number among those with domains; null if no tool has it.
  template <typename Function> Function find(size_t number) const {
    return reinterpret_cast<Function>(functions[kNvtxModuleCore2][number]);
  }

  bool getTable(uint32_t module, NvtxFunction ***table, unsigned *size) {
    if (module >= kModules || functions[module].empty())
      return false;
    if (table)
      *table = entries[module].data();
    if (size)
      *size = unsigned(functions[module].size());
    return true;
  }

private:
  static constexpr size_t kModules = 7;

  NvtxTables() {
    // Of each module, by its number. A tool may refuse if one is missing.
    constexpr std::array<size_t, kModules> kCounts = {0, 16, 9, 15, 7, 16, 7};
    for (size_t module = 1; module < kModules; ++module) {
      functions[module].resize(kCounts[module]);
      entries[module].resize(kCounts[module] + 1);
      for (size_t i = 1; i < kCounts[module]; ++i)
        entries[module][i] = &functions[module][i];
    }
  }

  std::array<std::vector<NvtxFunction>, kModules> functions;
  std::array<std::vector<NvtxFunction *>, kModules> entries;
};

/// The functions of the tool; null if there is none, or if it lacks one.
class NvtxTool {
public:
  static const NvtxTool &get() {
    static const NvtxTool tool;
    return tool;
  }

  NvtxDomain domain = nullptr;
  NvtxDomainRangePush push = nullptr;
  NvtxDomainRangePop pop = nullptr;

private:
  NvtxTool();
};
} // namespace

static int getModuleFunctionTable(uint32_t module, NvtxFunction ***table,
                                  unsigned *size) {
  return NvtxTables::get().getTable(module, table, size);
}

static void ignoreVersion(uint32_t) {}

static const void *getExportTable(uint32_t number) {
  static const NvtxCallbacks callbacks = {sizeof(NvtxCallbacks),
                                          getModuleFunctionTable};
  static const NvtxVersionInfo version = {sizeof(NvtxVersionInfo), kNvtxVersion,
                                          0, ignoreVersion};
  if (number == kNvtxExportCallbacks)
    return &callbacks;
  return number == kNvtxExportVersion ? &version : nullptr;
}

NvtxTool::NvtxTool() {
  const char *path = std::getenv("NVTX_INJECTION64_PATH");
  if (!path || !*path)
    return;
  // A step runs without its profiler, too; that says itself what went wrong.
  SharedLibrary library;
  if (library.open(path, {}))
    return;
  auto initialize = reinterpret_cast<NvtxInitializeInjection>(
      library.find("InitializeInjectionNvtx2"));
  if (!initialize || initialize(getExportTable) == 0)
    return;
  const NvtxTables &tables = NvtxTables::get();
  auto create = tables.find<NvtxDomainCreate>(kNvtxDomainCreate);
  pop = tables.find<NvtxDomainRangePop>(kNvtxDomainRangePop);
  if (!create || !pop)
    return;
  domain = create("regather");
  push = tables.find<NvtxDomainRangePush>(kNvtxDomainRangePush);
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

bool NvtxRange::isObserved() { return NvtxTool::get().push != nullptr; }

NvtxRange::NvtxRange(const WorkLabel &label, const WorkMemory &memory) {
  if (!isObserved())
    return;
  static_assert(sizeof(DeviceRange) == 2 * sizeof(uint64_t),
                "a range is its address and its bytes");
  const int64_t place[] = {label.rank, label.instruction};
  auto getPayload = [](const std::vector<DeviceRange> &ranges) {
    return NvtxPayload{kNvtxUint64, ranges.size() * sizeof(DeviceRange),
                       ranges.data()};
  };
  const NvtxPayload payload[] = {{kNvtxInt64, sizeof(place), place},
                                 getPayload(memory.reads),
                                 getPayload(memory.writes),
                                 getPayload(memory.scratch)};
  NvtxEvent event;
  event.payloadType = kNvtxPayloadExtended;
  event.payloadCount = int32_t(std::size(payload));
  event.payload = reinterpret_cast<uintptr_t>(payload);
  if (label.description) {
    event.messageType = kNvtxMessageAscii;
    event.message = label.description;
  }
  const NvtxTool &tool = NvtxTool::get();
  tool.push(tool.domain, &event);
}

NvtxRange::~NvtxRange() {
  if (isObserved())
    NvtxTool::get().pop(NvtxTool::get().domain);
}
