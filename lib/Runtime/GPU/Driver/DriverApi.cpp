//===- DriverApi.cpp - Functions of the CUDA driver -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverApi.h"

#include "regather/Runtime/Runtime.h"

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

static std::string formatVersion(int version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

Failure DriverApi::load(const std::string &path) {
  if (Failure failure = library.open(path, {"libcuda.so.1", "libcuda.so"}))
    return "cannot open the CUDA driver: " + failure.getMessage();
#define REGATHER_FUNCTION(name, parameters)                                    \
  {#name, reinterpret_cast<void **>(&(name))},
  if (Failure failure = library.resolve(
          "CUDA driver", {REGATHER_DRIVER_FUNCTIONS(REGATHER_FUNCTION)}))
    return failure;
#undef REGATHER_FUNCTION
  if (Failure failure = check(cuInit(0), "the CUDA driver does not start"))
    return failure;
  if (Failure failure =
          check(cuDriverGetVersion(&version), "the CUDA driver has no version"))
    return failure;
  if (version < kMinDriverVersion)
    return "the CUDA driver supports CUDA " + getVersion() + ", but " +
           formatVersion(kMinDriverVersion) + " or newer is needed";
  return Failure();
}

std::string DriverApi::getVersion() const { return formatVersion(version); }

Failure DriverApi::check(CuResult result, const char *what) const {
  if (result == kCuSuccess)
    return Failure();
  return Failure(std::string(what) + ": " + describe(result), RG_ERROR_DEVICE);
}

Result<CuModule> DriverApi::loadModule(const void *image) const {
  char log[4096] = {};
  int options[] = {kCuJitErrorLog, kCuJitErrorLogBytes};
  // A number is given as a pointer of this value.
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log) - 1)};
  CuModule module = nullptr;
  CuResult result = cuModuleLoadDataEx(&module, image, 2, options, values);
  if (result == kCuSuccess)
    return module;
  std::string text = log;
  text.resize(text.find_last_not_of(" \n") + 1);
  return Failure("cuModuleLoadDataEx has failed: " + describe(result) +
                     (text.empty() ? "" : ":\n" + text),
                 RG_ERROR_DEVICE);
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
