//===- LibraryChoice.h - Which libraries and device are used ----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_LIBRARYCHOICE_H
#define REGATHER_LIB_RUNTIME_GPU_LIBRARYCHOICE_H

#include "regather/Support/Result.h"

#include <cstdint>
#include <cstdlib>
#include <string>

namespace regather::runtime {

/// Environment variables that name libraries.
inline constexpr const char *kCudaVariable = "REGATHER_CUDA_LIBRARY";
inline constexpr const char *kCublasLtVariable = "REGATHER_CUBLASLT_LIBRARY";
inline constexpr const char *kCudnnVariable = "REGATHER_CUDNN_LIBRARY";
inline constexpr const char *kNcclVariable = "REGATHER_NCCL_LIBRARY";

/// What an option or else the environment gives; empty for none.
inline std::string getChoice(const char *option, const char *variable) {
  const char *path = option ? option : std::getenv(variable);
  return path ? path : "";
}

/// The number of a device; of -1 what the launcher of the process says, or 0.
Result<int32_t> chooseDevice(int32_t number);

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_LIBRARYCHOICE_H
