//===- GpuKernel.h - Kernels as functions of the gpu dialect ----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_NVPTX_GPUKERNEL_H
#define REGATHER_LIB_KERNEL_NVPTX_GPUKERNEL_H

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace regather::nvptx {

/// Loads what the functions below need into a context.
void loadGpuDialects(mlir::MLIRContext *context);

/// Lowers a kernel to functions, at the end of `module`, one for each launch in
/// order, that compute a block of it:
///
///   gpu.func @name(arguments..., results..., scratch) kernel
///
/// Buffers are static memrefs, aligned to 16 bytes; what is not written is
/// `readonly`. The last argument is there if the kernel needs memory that the
/// shared memory of a block cannot be. How the functions are launched is said
/// by their attributes (`getLaunchPlan`). Changes the module that the kernel is
/// in, in a way that does not change what it computes.
mlir::LogicalResult buildGpuKernel(tg::KernelOp kernel,
                                   mlir::gpu::GPUModuleOp module,
                                   llvm::StringRef name);

} // namespace regather::nvptx

#endif // REGATHER_LIB_KERNEL_NVPTX_GPUKERNEL_H
