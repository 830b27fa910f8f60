//===- TensorCoreGemm.h - GEMMs by tensor cores -----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_NVPTX_ROUTINES_TENSORCOREGEMM_H
#define REGATHER_LIB_KERNEL_NVPTX_ROUTINES_TENSORCOREGEMM_H

#include "regather/Runtime/Gemm.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace regather::nvptx {

/// True if a kernel that uses tensor cores computes the GEMM.
bool fitsTensorCores(const rg_gemm_desc &desc);

/// What `buildGemmKernel` does then.
mlir::LogicalResult buildTensorCoreGemm(const rg_gemm_desc &desc,
                                        mlir::gpu::GPUModuleOp module,
                                        llvm::StringRef name);

} // namespace regather::nvptx

#endif // REGATHER_LIB_KERNEL_NVPTX_ROUTINES_TENSORCOREGEMM_H
