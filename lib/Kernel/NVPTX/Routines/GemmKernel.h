//===- GemmKernel.h - GEMMs as functions of the gpu dialect -----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_NVPTX_ROUTINES_GEMMKERNEL_H
#define REGATHER_LIB_KERNEL_NVPTX_ROUTINES_GEMMKERNEL_H

#include "regather/Runtime/Gemm.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace regather::nvptx {

/// Builds a function, at the end of `module`, that computes a GEMM of any
/// strides, types and addends: what cuBLASLt does not. Its arguments are the
/// buffers of a call, in order, as bytes. Emits an error if there is nothing to
/// compute.
mlir::LogicalResult buildGemmKernel(const rg_gemm_desc &desc,
                                    mlir::gpu::GPUModuleOp module,
                                    llvm::StringRef name);

} // namespace regather::nvptx

#endif // REGATHER_LIB_KERNEL_NVPTX_ROUTINES_GEMMKERNEL_H
