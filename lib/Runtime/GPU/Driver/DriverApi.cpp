//===- DriverApi.cpp - Functions of the CUDA driver -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverApi.h"

using namespace regather::runtime;

static std::string formatVersion(int version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

bool DriverApi::load(const std::string &path, std::string &message) {
  std::string reason;
  if (!library.open(path, {"libcuda.so.1", "libcuda.so"}, reason)) {
    message = "cannot open the CUDA driver: " + reason;
    return false;
  }
#define REGATHER_FUNCTION(name, parameters)                                    \
  {#name, reinterpret_cast<void **>(&(name))},
  if (!library.resolve("CUDA driver",
                       {REGATHER_DRIVER_FUNCTIONS(REGATHER_FUNCTION)}, message))
    return false;
#undef REGATHER_FUNCTION
  CuResult result = cuInit(0);
  if (result != kCuSuccess) {
    message = "the CUDA driver does not start: " + describe(result);
    return false;
  }
  result = cuDriverGetVersion(&version);
  if (result != kCuSuccess) {
    message = "the CUDA driver has no version: " + describe(result);
    return false;
  }
  if (version < kMinDriverVersion) {
    message = "the CUDA driver supports CUDA " + getVersion() + ", but " +
              formatVersion(kMinDriverVersion) + " or newer is needed";
    return false;
  }
  return true;
}

std::string DriverApi::getVersion() const { return formatVersion(version); }

bool DriverApi::loadModule(const void *image, CuModule &module,
                           std::string &message) const {
  char log[4096] = {};
  int options[] = {kCuJitErrorLog, kCuJitErrorLogBytes};
  // A number is given as a pointer of this value.
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log) - 1)};
  CuResult result = cuModuleLoadDataEx(&module, image, 2, options, values);
  if (result == kCuSuccess)
    return true;
  module = nullptr;
  message = "cuModuleLoadDataEx has failed: " + describe(result);
  std::string text = log;
  text.resize(text.find_last_not_of(" \n") + 1);
  if (!text.empty())
    message += ":\n" + text;
  return false;
}

std::string DriverApi::describe(CuResult result) const {
  const char *name = nullptr;
  const char *text = nullptr;
  if (cuGetErrorName(result, &name) != kCuSuccess || !name)
    return "error " + std::to_string(result);
  if (cuGetErrorString(result, &text) != kCuSuccess || !text)
    return name;
  return std::string(name) + ": " + text;
}
