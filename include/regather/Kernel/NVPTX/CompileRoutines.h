//===- CompileRoutines.h - PTX of routines ----------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a program computes by routines (Gemm.h, Attention.h) is not in the
// kernels of its module. On GPUs a library computes GEMMs; for
// all that no library computes, code is generated from the description.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_NVPTX_COMPILEROUTINES_H
#define REGATHER_KERNEL_NVPTX_COMPILEROUTINES_H

#include "regather/Kernel/NVPTX/CompileGpuKernels.h"
#include "regather/Runtime/Attention.h"
#include "regather/Runtime/Gemm.h"

#include <optional>

namespace regather::nvptx {

/// The code of each attention, on several threads and with a cache like
/// `compileKernels`. The arguments of the entries are the buffers of a call,
/// and scratch memory if there is any. Emits an error at `location` for each
/// one that cannot be compiled.
mlir::FailureOr<std::vector<KernelCode>> compileAttentions(
    mlir::Location location, llvm::ArrayRef<rg_attention_desc> descs,
    const KernelCompileOptions &options, kernel::KernelStatistics &statistics);

/// The same for each GEMM that cuBLASLt does not compute, which are all of an
/// elastic step, and nothing for those that it does (`rg_gpu_gemm_obstacle`).
mlir::FailureOr<std::vector<std::optional<KernelCode>>>
compileGemms(mlir::Location location, llvm::ArrayRef<rg_gemm_desc> descs,
             const KernelCompileOptions &options,
             kernel::KernelStatistics &statistics);

/// The text of a module with what an attention is lowered to, functions whose
/// names begin with `name`. Emits an error if it cannot be lowered.
mlir::FailureOr<std::string>
printAttentionKernels(mlir::Location location, const rg_attention_desc &desc,
                      llvm::StringRef name);

/// The same for a GEMM.
mlir::FailureOr<std::string> printGemmKernel(mlir::Location location,
                                             const rg_gemm_desc &desc,
                                             llvm::StringRef name);

} // namespace regather::nvptx

#endif // REGATHER_KERNEL_NVPTX_COMPILEROUTINES_H
