//===- KernelPipelines.h - Kernels from tensors to buffers ------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_TRANSFORMS_KERNELPIPELINES_H
#define REGATHER_KERNEL_TRANSFORMS_KERNELPIPELINES_H

#include "regather/Kernel/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"

namespace regather::kernel {

/// Loads the dialects that kernel functions are written in, and the models that
/// their lowering needs; the step's own context has only what a step is written
/// in.
void loadKernelDialects(mlir::MLIRContext *context);

/// Adds the passes that lower functions of tiles (kernel-tile) to loops between
/// buffers: linalg operations without results, views, and `memref.alloc` for
/// what passes between them. What is fused, and in which type each operation
/// computes, depends on the kernel alone, so that all targets give the same
/// bits to what they compute element by element. Floats are as wide as the
/// operations round; conversions between them are left.
void buildBufferPipeline(mlir::OpPassManager &pm);

/// How the targets lower kernels on buffers.
struct ScratchPipelineOptions {
  bool nativeBFloat16 = false;
  uint64_t maxSeparateBytes = 0;
  BoundsReport report = BoundsReport::Status;
  bool dropSelfCopies = false;
};

/// Adds the passes that expand conversions of floats, place what is allocated
/// in scratch memory, check indices and expand copies.
void buildScratchPipeline(mlir::OpPassManager &pm,
                          const ScratchPipelineOptions &options);

} // namespace regather::kernel

#endif // REGATHER_KERNEL_TRANSFORMS_KERNELPIPELINES_H
