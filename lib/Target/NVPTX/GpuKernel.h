//===- GpuKernel.h - Kernels as functions of the gpu dialect ----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_TARGET_NVPTX_GPUKERNEL_H
#define REGATHER_LIB_TARGET_NVPTX_GPUKERNEL_H

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Target/NVPTX/LaunchShape.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace regather::nvptx {

/// Loads what the functions below need into a context.
void loadGpuDialects(mlir::MLIRContext *context);

/// Lowers a kernel to a `gpu.func`, at the end of `module`, that computes a
/// block of it:
///
///   gpu.func @name(arguments..., results..., scratch) kernel
///
/// Buffers are static memrefs, aligned to 16 bytes; what is not written is
/// `readonly`. The last argument is there if blocks need memory of their own
/// that shared memory cannot hold. How a kernel is launched is said by the
/// attributes of the function (`getLaunchShape`). Changes the module that
/// the kernel is in, in a way that does not change what it computes.
mlir::FailureOr<mlir::gpu::GPUFuncOp> buildGpuKernel(tg::KernelOp kernel,
                                                     mlir::gpu::GPUModuleOp,
                                                     llvm::StringRef name);

/// How the function is to be launched.
LaunchShape getLaunchShape(mlir::gpu::GPUFuncOp func);

} // namespace regather::nvptx

#endif // REGATHER_LIB_TARGET_NVPTX_GPUKERNEL_H
