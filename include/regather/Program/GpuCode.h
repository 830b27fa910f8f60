//===- GpuCode.h - Kernels of a program for GPUs ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_PROGRAM_GPUCODE_H
#define REGATHER_PROGRAM_GPUCODE_H

#include "regather/Kernel/NVPTX/LaunchPlan.h"
#include "regather/Runtime/GpuProgram.h"

namespace regather {

/// Code of all kernels, as rg_gpu_image has it.
struct GpuImage {
  rg_gpu_image_kind kind = RG_GPU_IMAGE_PTX;
  int32_t architecture = 0;
  bool isSpecific = false;
  std::string data;
};

/// How one kernel is launched, and how many of its slices are arguments.
struct GpuLaunches {
  nvptx::LaunchPlan plan;
  int64_t numArguments = 0;
};

/// What GPUs of an architecture need besides the tables of a program. The lists
/// of launches are as long as the tables; a plan without launches is left to a
/// library.
struct GpuCode {
  std::vector<GpuImage> images;
  std::vector<GpuLaunches> kernels, gemms, attentions;
  /// No library computes a GEMM or attention.
  bool isElastic = false;
};

} // namespace regather

#endif // REGATHER_PROGRAM_GPUCODE_H
