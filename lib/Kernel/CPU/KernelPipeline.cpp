//===- KernelPipeline.cpp - Kernels to the LLVM dialect -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/CPU/Passes.h"
#include "regather/Kernel/Transforms/HostConversions.h"
#include "regather/Kernel/Transforms/KernelPipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace regather;

/// Buffers share scratch memory if all of them together take more.
static constexpr uint64_t kMaxSeparateBytes = 1 << 20;

void cpu::buildKernelPipeline(OpPassManager &pm,
                              const KernelPipelineOptions &options) {
  kernel::TilePassOptions tile;
  tile.tileBytes = options.tileBytes;
  pm.addPass(kernel::createTilePass(tile));
  kernel::buildBufferPipeline(pm);
  kernel::ScratchPipelineOptions scratch;
  scratch.maxSeparateBytes = kMaxSeparateBytes;
  kernel::buildScratchPipeline(pm, scratch);

  // Linalg operations become loops; the order of their sums depends on shapes
  // alone.
  pm.addNestedPass<func::FuncOp>(createLowerLaneReductionsPass());
  pm.addNestedPass<func::FuncOp>(createCollapseLoopsPass());
  pm.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
  pm.addNestedPass<func::FuncOp>(createKeepShortLoopsPass());
  kernel::addHostConversions(pm);
  pm.addPass(createStoreBFloat16AsBitsPass());
  pm.addPass(createStoreBooleansAsBytesPass());
}

void cpu::registerKernelPipeline() {
  PassPipelineRegistration<KernelPipelineOptions>(
      "kernel-to-llvm", "Lower kernels to functions of the LLVM dialect",
      buildKernelPipeline);
}
