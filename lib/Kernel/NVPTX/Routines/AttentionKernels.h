//===- AttentionKernels.h - Attention as functions of the gpu dialect -----===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_KERNEL_NVPTX_ROUTINES_ATTENTIONKERNELS_H
#define REGATHER_LIB_KERNEL_NVPTX_ROUTINES_ATTENTIONKERNELS_H

#include "regather/Runtime/Attention.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace regather::nvptx {

/// Builds functions, at the end of `module`, one for each launch in order, that
/// compute what the description says:
///
///   gpu.func @name(buffers..., scratch) kernel
///
/// Buffers are those of a call, in order, as bytes; scratch memory is there for
/// gradients. How the functions are launched is said by their attributes
/// (`getLaunchPlan`). Emits an error if there is nothing to compute, or if a
/// head is too wide.
mlir::LogicalResult buildAttentionKernels(const rg_attention_desc &desc,
                                          mlir::gpu::GPUModuleOp module,
                                          llvm::StringRef name);

/// What it does for the two directions.
mlir::LogicalResult buildAttentionForward(const rg_attention_desc &desc,
                                          mlir::gpu::GPUModuleOp module,
                                          llvm::StringRef name);
mlir::LogicalResult buildAttentionBackward(const rg_attention_desc &desc,
                                           mlir::gpu::GPUModuleOp module,
                                           llvm::StringRef name);

} // namespace regather::nvptx

#endif // REGATHER_LIB_KERNEL_NVPTX_ROUTINES_ATTENTIONKERNELS_H
