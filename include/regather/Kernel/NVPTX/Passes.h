//===- Passes.h - Kernels on GPUs -------------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_NVPTX_PASSES_H
#define REGATHER_KERNEL_NVPTX_PASSES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

#include <string>

namespace regather::nvptx {

#define GEN_PASS_DECL
#include "regather/Kernel/NVPTX/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "regather/Kernel/NVPTX/Passes.h.inc"

struct PtxPipelineOptions : mlir::PassPipelineOptions<PtxPipelineOptions> {
  Option<std::string> architecture{
      *this, "architecture",
      llvm::cl::desc("Architecture to compile for: sm_80, sm_90a or sm_100a"),
      llvm::cl::init("sm_80")};
  Option<std::string> libdevice{
      *this, "libdevice",
      llvm::cl::desc("Path of NVIDIA's libdevice; none is linked without it"),
      llvm::cl::init("")};
};

struct GpuPipelineOptions : mlir::PassPipelineOptions<GpuPipelineOptions> {
  Option<bool> elastic{
      *this, "elastic",
      llvm::cl::desc("Sum in orders that depend on no number of rows, for a "
                     "step of the same bits on any number of ranks"),
      llvm::cl::init(false)};
};

/// Adds the passes by which kernels of a module become functions of the gpu
/// dialect, in a `gpu.module @kernels`. Kernels are left as they are.
void buildGpuPipeline(mlir::OpPassManager &pm,
                      const GpuPipelineOptions &options);

/// Adds the passes that lower modules of such functions to the NVVM dialect.
void buildNvvmPipeline(mlir::OpPassManager &pm);

/// Adds the passes that lower modules of such functions to the NVVM dialect,
/// and replace each by its PTX.
void buildPtxPipeline(mlir::OpPassManager &pm,
                      const PtxPipelineOptions &options);

/// Registers the pipelines as `convert-tg-kernels-to-gpu`, `kernel-to-nvvm` and
/// `convert-gpu-kernels-to-ptx`.
void registerKernelPipelines();

} // namespace regather::nvptx

#endif // REGATHER_KERNEL_NVPTX_PASSES_H
