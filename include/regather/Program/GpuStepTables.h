//===- GpuStepTables.h - A step for GPUs in this process --------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_PROGRAM_GPUSTEPTABLES_H
#define REGATHER_PROGRAM_GPUSTEPTABLES_H

#include "regather/Program/CompileGpuStep.h"

#include <deque>

namespace regather {

/// The tables of a step for GPUs as rg_gpu_executor_create takes them, without
/// the way over a file. They refer to the step.
class GpuStepTables {
public:
  explicit GpuStepTables(CompiledGpuStep &step);
  GpuStepTables(const GpuStepTables &) = delete;
  GpuStepTables &operator=(const GpuStepTables &) = delete;

  /// Of the first architecture, with those of all others behind it.
  const rg_gpu_program &get() const { return programs.front(); }

private:
  /// The tables of what one architecture has.
  struct Code {
    std::vector<rg_gpu_image> images;
    std::vector<rg_gpu_kernel> kernels, gemms, attentions;
  };

  std::vector<rg_gpu_kernel> makeKernels(llvm::ArrayRef<GpuLaunches> kernels);

  std::deque<Code> codes;
  std::deque<std::vector<rg_gpu_launch>> launches;
  std::vector<rg_gpu_program> programs;
};

} // namespace regather

#endif // REGATHER_PROGRAM_GPUSTEPTABLES_H
