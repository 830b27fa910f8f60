//===- NcclApi.cpp - Functions of NCCL ------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NcclApi.h"

#include <cstddef>

using namespace regather::runtime;
using regather::Failure;

std::string regather::runtime::formatNcclVersion(int version) {
  // Up to 2.8 it was coded otherwise.
  if (version < 10000)
    return std::to_string(version / 1000) + "." +
           std::to_string(version / 100 % 10) + "." +
           std::to_string(version % 100);
  return std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

Failure NcclApi::load(const std::string &path) {
  if (Failure failure = library.open(path, {"libnccl.so.2", "libnccl.so"}))
    return "cannot open NCCL: " + failure.getMessage();
  auto *getVersion = reinterpret_cast<decltype(ncclGetVersion)>(
      library.find("ncclGetVersion"));
  if (!getVersion || getVersion(&version) != kNcclSuccess)
    return "'" + library.getName() + "' is not NCCL";
  if (version < kMinNcclVersion)
    return "NCCL '" + library.getName() + "' has version " +
           formatNcclVersion(version) + ", but " +
           formatNcclVersion(kMinNcclVersion) + " or newer is needed";
#define REGATHER_FUNCTION(name, parameters)                                    \
  {#name, reinterpret_cast<void **>(&(name))},
  Failure failure = library.resolve(
      "NCCL",
      {REGATHER_NCCL_FUNCTIONS(REGATHER_FUNCTION){
           "ncclGetErrorString",
           reinterpret_cast<void **>(&ncclGetErrorString)},
       {"ncclGetLastError", reinterpret_cast<void **>(&ncclGetLastError)}});
  if (failure || version < kMinWindowVersion)
    return failure;
  return library.resolve("NCCL",
                         {REGATHER_NCCL_WINDOW_FUNCTIONS(REGATHER_FUNCTION)});
#undef REGATHER_FUNCTION
}

bool NcclApi::hasWindows() const { return version >= kMinWindowVersion; }

NcclConfig NcclApi::getConfig() const {
  NcclConfig config;
  if (hasWindows()) {
    config.size = sizeof(NcclConfig);
    config.version = 22700;
  } else {
    config.size = offsetof(NcclConfig, trafficClass);
    // The struct of version 2.18 ends there.
    config.version = 21800;
  }
  return config;
}

std::string NcclApi::describe(NcclResult result, NcclComm comm) const {
  const char *text = ncclGetErrorString(result);
  const char *last = ncclGetLastError(comm);
  std::string message = text ? text : "error " + std::to_string(result);
  if (last && *last)
    message += std::string(": ") + last;
  return message;
}
