//===- CompileGpuKernels.h - PTX of kernels ---------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_NVPTX_COMPILEGPUKERNELS_H
#define REGATHER_KERNEL_NVPTX_COMPILEGPUKERNELS_H

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Kernel/Compilation/ParallelCompilation.h"
#include "regather/Kernel/NVPTX/GpuArchitecture.h"
#include "regather/Kernel/NVPTX/LaunchPlan.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace regather::nvptx {

struct KernelCompileOptions : kernel::CompileOptions {
  const GpuArchitecture *architecture = &getGpuArchitectures().front();
  /// Bitcode with the functions that have no expansion; none if empty.
  std::string libdevice;
  /// The step is elastic: sums have orders that depend on no number of rows,
  /// and no library computes GEMMs.
  bool elastic = false;
};

/// The code of one kernel.
struct KernelCode {
  /// The entries are named by what the kernel computes and what it was compiled
  /// for, so that equal kernels have the same names in all programs.
  LaunchPlan plan;
  /// A file with the entries; all names in it begin with that of the first one.
  std::string ptx;

  const std::string &getSymbol() const { return plan.launches.front().symbol; }
};

/// The code of each kernel, on several threads and with a cache like
/// `cpu::compileKernels`. Emits an error at each kernel that cannot be
/// compiled.
mlir::FailureOr<std::vector<KernelCode>>
compileKernels(llvm::ArrayRef<tg::KernelOp> kernels,
               const KernelCompileOptions &options,
               kernel::KernelStatistics &statistics);

/// The text of a module that holds what a kernel is lowered to: a `gpu.func` of
/// the given name, and further ones whose names begin with it if it takes
/// several launches. Emits an error if it cannot be lowered.
mlir::FailureOr<std::string> printGpuKernel(tg::KernelOp kernel,
                                            llvm::StringRef name);

/// True if a routine of a library computes the kernel on GPUs.
bool hasRoutine(tg::KernelOp kernel);

/// Kernels of a module that have code of their own: one of each text, without
/// those that a routine of a library computes.
llvm::SmallVector<tg::KernelOp> collectKernels(mlir::ModuleOp module);

/// The path of libdevice in the CUDA toolkit that $CUDA_HOME, $CUDA_PATH or
/// /usr/local/cuda is; empty if there is none.
std::string findLibdevice();

} // namespace regather::nvptx

#endif // REGATHER_KERNEL_NVPTX_COMPILEGPUKERNELS_H
