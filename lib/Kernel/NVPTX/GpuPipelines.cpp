//===- GpuPipelines.cpp - Kernels to PTX by passes ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuDialects.h"

#include "regather/Kernel/NVPTX/Passes.h"
#include "regather/Kernel/Transforms/KernelPipelines.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVGPUToNVVM/NVGPUToNVVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace regather;

/// Buffers of a block share memory if all of them together take more.
static constexpr uint64_t kMaxSeparateBytes = 8 * 1024;

void nvptx::loadGpuDialects(MLIRContext *context) {
  kernel::loadKernelDialects(context);
  context->loadDialect<gpu::GPUDialect, LLVM::LLVMDialect, nvgpu::NVGPUDialect,
                       NVVM::NVVMDialect>();
}

void nvptx::registerConversions(DialectRegistry &registry) {
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  index::registerConvertIndexToLLVMInterface(registry);
  registerConvertFuncToLLVMInterface(registry);
  registerConvertMemRefToLLVMInterface(registry);
}

void nvptx::buildGpuPipeline(OpPassManager &pm,
                             const GpuPipelineOptions &options) {
  DivideStagesPassOptions divide;
  divide.elastic = options.elastic;
  pm.addPass(createDivideStagesPass(divide));

  // Each stage becomes a function on buffers, as on CPUs.
  OpPassManager &functions = pm.nest<gpu::GPUModuleOp>();
  OpPassManager &stages = functions.nest<ModuleOp>().nest<ModuleOp>();
  kernel::TilePassOptions tile;
  tile.minPieceBytes = divide.minPieceBytes;
  tile.minCrossPieceBytes = divide.minPieceBytes;
  stages.addPass(kernel::createTilePass(tile));
  kernel::buildBufferPipeline(stages);
  kernel::ScratchPipelineOptions scratch;
  scratch.nativeBFloat16 = true;
  scratch.maxSeparateBytes = kMaxSeparateBytes;
  scratch.report = kernel::BoundsReport::Trap;
  scratch.dropSelfCopies = true;
  kernel::buildScratchPipeline(stages, scratch);

  // A block of threads computes a tile.
  functions.addPass(createOutlineLaunchesPass());
  DistributeThreadsPassOptions distribute;
  distribute.elastic = options.elastic;
  functions.addNestedPass<gpu::GPUFuncOp>(
      createDistributeThreadsPass(distribute));
}

void nvptx::buildNvvmPipeline(OpPassManager &pm) {
  OpPassManager &inner = pm.nest<gpu::GPUModuleOp>();
  inner.addPass(createUseIntrinsicsPass());
  inner.addPass(memref::createExpandStridedMetadataPass());
  inner.addPass(createLowerAffinePass());
  inner.addPass(createCanonicalizerPass());
  inner.addPass(createCSEPass());
  inner.addPass(createConvertNVGPUToNVVMPass());
  inner.addPass(createSCFToControlFlowPass());
  inner.addPass(createConvertVectorToLLVMPass());
  ConvertGpuOpsToNVVMOpsOptions options;
  options.useBarePtrCallConv = true;
  inner.addPass(createConvertGpuOpsToNVVMOps(options));
  // The pass above leaves the types of branches to this one.
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

void nvptx::buildPtxPipeline(OpPassManager &pm,
                             const PtxPipelineOptions &options) {
  buildNvvmPipeline(pm);
  EmitPtxPassOptions emit;
  emit.architecture = options.architecture;
  emit.libdevice = options.libdevice;
  pm.addPass(createEmitPtxPass(emit));
}

void nvptx::registerKernelPipelines() {
  PassPipelineRegistration<GpuPipelineOptions>(
      "convert-tg-kernels-to-gpu",
      "Lower kernels to functions of the gpu dialect", buildGpuPipeline);
  PassPipelineRegistration<>("kernel-to-nvvm",
                             "Lower gpu functions to the NVVM dialect",
                             buildNvvmPipeline);
  PassPipelineRegistration<PtxPipelineOptions>(
      "convert-gpu-kernels-to-ptx", "Compile modules of gpu functions to PTX",
      buildPtxPipeline);
}
