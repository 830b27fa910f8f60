//===- CublasLtApi.cpp - Functions of cuBLASLt ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CublasLtApi.h"

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

static std::string formatVersion(size_t version) {
  return std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

Failure CublasLtApi::load(const std::string &file) {
  if (Failure failure = library.open(file, {}))
    return "cannot open cuBLASLt: " + failure.getMessage();
#define REGATHER_FUNCTION(result, name, parameters)                            \
  {#name, reinterpret_cast<void **>(&(name))},
  if (Failure failure = library.resolve(
          "cuBLASLt", {REGATHER_CUBLASLT_FUNCTIONS(REGATHER_FUNCTION)}))
    return failure;
#undef REGATHER_FUNCTION
  if (cublasLtGetVersion() < kMinCublasLtVersion)
    return "cuBLASLt '" + library.getName() + "' is version " + getVersion() +
           ", but " + formatVersion(kMinCublasLtVersion) +
           " or newer is needed";
  return Failure();
}

/// Where it is searched for.
static std::vector<std::string> listFiles(const std::string &path) {
  if (!path.empty())
    return {path};
  return {"libcublasLt.so.13", "libcublasLt.so.12"};
}

Failure CublasLtApi::find(const std::string &path) {
  std::string reasons;
  for (const std::string &file : listFiles(path)) {
    Failure failure = load(file);
    if (!failure)
      return Failure();
    reasons += (reasons.empty() ? "" : "; ") + failure.getMessage();
  }
  return Failure(reasons);
}

Result<LtHandle> CublasLtApi::start(const std::string &path,
                                    const DriverApi &driver) {
  std::string reasons;
  for (const std::string &file : listFiles(path)) {
    Failure failure = load(file);
    if (!failure) {
      LtHandle handle = nullptr;
      LtStatus status = cublasLtCreate(&handle);
      if (status == kLtSuccess)
        return handle;
      // Such as a library of CUDA 13 on a driver of CUDA 12.
      failure = "cuBLASLt '" + file + "', version " + getVersion() +
                ", does not start on a driver for CUDA " + driver.getVersion() +
                ": " + cublasLtGetStatusName(status);
    }
    reasons += (reasons.empty() ? "" : "; ") + failure.getMessage();
  }
  return Failure(reasons);
}

std::string CublasLtApi::getVersion() const {
  return formatVersion(cublasLtGetVersion());
}
