//===- CublasLtApi.cpp - Functions of cuBLASLt ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CublasLtApi.h"

using namespace regather::runtime;

static std::string formatVersion(size_t version) {
  return std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

bool CublasLtApi::load(const std::string &file, std::string &message) {
  std::string reason;
  if (!library.open(file, {}, reason)) {
    message = "cannot open cuBLASLt: " + reason;
    return false;
  }
#define REGATHER_FUNCTION(result, name, parameters)                            \
  {#name, reinterpret_cast<void **>(&(name))},
  if (!library.resolve("cuBLASLt",
                       {REGATHER_CUBLASLT_FUNCTIONS(REGATHER_FUNCTION)},
                       message))
    return false;
#undef REGATHER_FUNCTION
  if (cublasLtGetVersion() < kMinCublasLtVersion) {
    message = "cuBLASLt '" + library.getName() + "' is version " +
              getVersion() + ", but " + formatVersion(kMinCublasLtVersion) +
              " or newer is needed";
    return false;
  }
  return true;
}

bool CublasLtApi::start(const std::string &path, const DriverApi &driver,
                        LtHandle &handle, std::string &message) {
  std::vector<std::string> files = {"libcublasLt.so.13", "libcublasLt.so.12"};
  if (!path.empty())
    files = {path};
  message.clear();
  for (const std::string &file : files) {
    std::string reason;
    if (load(file, reason)) {
      LtStatus status = cublasLtCreate(&handle);
      if (status == kLtSuccess)
        return true;
      // Such as a library of CUDA 13 on a driver of CUDA 12.
      reason = "cuBLASLt '" + file + "', version " + getVersion() +
               ", does not start on a driver for CUDA " + driver.getVersion() +
               ": " + cublasLtGetStatusName(status);
    }
    message += (message.empty() ? "" : "; ") + reason;
  }
  handle = nullptr;
  return false;
}

std::string CublasLtApi::getVersion() const {
  return formatVersion(cublasLtGetVersion());
}
