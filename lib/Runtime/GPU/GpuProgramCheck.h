//===- GpuProgramCheck.h - Tables for GPUs that make sense ------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_GPUPROGRAMCHECK_H
#define REGATHER_LIB_RUNTIME_GPU_GPUPROGRAMCHECK_H

#include "regather/Runtime/GpuProgram.h"

#include <string>

namespace regather::runtime {

/// What is wrong with the tables of a step for GPUs, those of its program
/// included; empty if they make sense. Linear in their size.
std::string checkGpuProgram(const rg_gpu_program &programs);

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_GPUPROGRAMCHECK_H
