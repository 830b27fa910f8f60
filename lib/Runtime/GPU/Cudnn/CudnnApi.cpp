//===- CudnnApi.cpp - Functions of cuDNN ----------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudnnApi.h"

#include <array>

using namespace regather::runtime;
using regather::Failure;

std::string regather::runtime::formatCudnnVersion(size_t version) {
  return std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

Failure CudnnApi::load(const std::string &path) {
  if (Failure failure = library.open(path, {"libcudnn.so.9"}))
    return "cannot open cuDNN: " + failure.getMessage();
#define REGATHER_FUNCTION(result, name, parameters)                            \
  {#name, reinterpret_cast<void **>(&(name))},
  if (Failure failure = library.resolve(
          "cuDNN", {REGATHER_CUDNN_FUNCTIONS(REGATHER_FUNCTION)}))
    return failure;
#undef REGATHER_FUNCTION
  if (cudnnGetVersion() < kMinCudnnVersion)
    return "cuDNN '" + library.getName() + "' is version " +
           formatCudnnVersion(cudnnGetVersion()) + ", but " +
           formatCudnnVersion(kMinCudnnVersion) + " or newer is needed";
  return Failure();
}

std::string CudnnApi::describeError(DnnStatus status) const {
  std::string text = cudnnGetErrorString(status);
  std::array<char, 512> reason = {};
  cudnnGetLastErrorString(reason.data(), reason.size());
  // Several lines if one call has failed in another.
  std::string line = reason.data();
  line.resize(line.find_first_of('\n') == std::string::npos
                  ? line.size()
                  : line.find_first_of('\n'));
  return line.empty() ? text : text + ": " + line;
}
