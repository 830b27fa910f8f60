//===- Passes.h - Kernels on CPUs -------------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_CPU_PASSES_H
#define REGATHER_KERNEL_CPU_PASSES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace regather::cpu {

#define GEN_PASS_DECL
#include "regather/Kernel/CPU/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "regather/Kernel/CPU/Passes.h.inc"

struct KernelPipelineOptions
    : mlir::PassPipelineOptions<KernelPipelineOptions> {
  Option<int64_t> tileBytes{
      *this, "tile-bytes",
      llvm::cl::desc("About how many bytes a tile of a kernel touches"),
      llvm::cl::init(64 * 1024)};
};

/// Adds the passes by which kernels become functions of the LLVM dialect. A
/// function gets the buffers of its arguments and results, the numbers of the
/// first tile and of the one behind the last, and the regions of its scratch
/// memory; it returns 0, or 1 if an index is out of bounds. Each reduction runs
/// in an order that its shape decides; nothing is contracted.
void buildKernelPipeline(mlir::OpPassManager &pm,
                         const KernelPipelineOptions &options);

/// Registers the pipeline as `kernel-to-llvm`.
void registerKernelPipeline();

} // namespace regather::cpu

#endif // REGATHER_KERNEL_CPU_PASSES_H
