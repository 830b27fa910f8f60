//===- KernelPipelines.cpp - Kernels from tensors to buffers --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/Transforms/KernelPipelines.h"

#include "regather/Conversion/Passes.h"

#include "mlir/Conversion/BufferizationToMemRef/BufferizationToMemRef.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/FuncBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Linalg/Transforms/AllInterfaces.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/AllocationOpInterfaceImpl.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace regather;

void regather::kernel::loadKernelDialects(MLIRContext *context) {
  DialectRegistry registry;
  registry.insert<affine::AffineDialect, memref::MemRefDialect,
                  vector::VectorDialect>();
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  bufferization::func_ext::registerBufferizableOpInterfaceExternalModels(
      registry);
  linalg::registerAllDialectInterfaceImplementations(registry);
  memref::registerAllocationOpInterfaceExternalModels(registry);
  scf::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
  context->appendDialectRegistry(registry);
  context->loadDialect<arith::ArithDialect, bufferization::BufferizationDialect,
                       cf::ControlFlowDialect, func::FuncDialect,
                       memref::MemRefDialect, scf::SCFDialect,
                       tensor::TensorDialect, vector::VectorDialect>();
}

/// Arithmetic in f32 for the 16-bit floats, rounded after each operation.
static void addFloatPasses(OpPassManager &pm) {
  math::MathExtendToSupportedTypesOptions math;
  math.extraTypeStrs = {"f64"};
  math.targetTypeStr = "f32";
  pm.addNestedPass<func::FuncOp>(
      math::createMathExtendToSupportedTypes(std::move(math)));
  arith::ArithEmulateUnsupportedFloatsOptions arith;
  arith.sourceTypeStrs = {"bf16", "f16"};
  arith.targetTypeStr = "f32";
  pm.addPass(arith::createArithEmulateUnsupportedFloats(std::move(arith)));
  pm.addPass(regather::createConvertMathToArithPass());
}

void kernel::buildBufferPipeline(OpPassManager &pm) {
  // Nodes become linalg operations.
  pm.addPass(createConvertTGFlatToTensorPass());
  pm.addPass(createConvertTGRandomToLinalgPass());
  pm.addPass(createConvertTGNodesToLinalgPass());

  // All that can be fused becomes a generic operation, and is fused.
  OpPassManager &functions = pm.nest<func::FuncOp>();
  functions.addPass(createSelectSingleScattersPass());
  functions.addPass(createExpandClassesPass());
  functions.addPass(createDecomposePass());
  functions.addPass(createConvertElementwiseToLinalgPass());
  functions.addPass(createInlineGathersPass());
  functions.addPass(createFuseIntoReductionsPass());
  functions.addPass(createFuseElementwisePass());

  // Each operation computes in a type that every target has.
  functions.addPass(createGeneralizeContractionsPass());
  functions.addPass(createExpandIntegerConversionsPass());
  addFloatPasses(pm);
  pm.addNestedPass<func::FuncOp>(createRemoveFastMathPass());

  // Tensors become buffers, results in place.
  pm.addNestedPass<func::FuncOp>(createKeepLoopBuffersPass());
  pm.addPass(createCSEPass());
  pm.addPass(createComputeInResultsPass());
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.allowReturnAllocsFromLoops = true;
  pm.addPass(bufferization::createOneShotBufferizePass(bufferize));
  pm.addPass(createConvertBufferizationToMemRefPass());
}

void kernel::buildScratchPipeline(OpPassManager &pm,
                                  const ScratchPipelineOptions &options) {
  OpPassManager &functions = pm.nest<func::FuncOp>();
  ExpandFloatConversionsPassOptions conversions;
  conversions.nativeBFloat16 = options.nativeBFloat16;
  functions.addPass(createExpandFloatConversionsPass(conversions));
  PlaceScratchPassOptions scratch;
  scratch.maxSeparateBytes = options.maxSeparateBytes;
  functions.addPass(createPlaceScratchPass(scratch));
  CheckBoundsPassOptions bounds;
  bounds.report = options.report;
  functions.addPass(createCheckBoundsPass(bounds));
  ExpandCopiesPassOptions copies;
  copies.dropSelfCopies = options.dropSelfCopies;
  functions.addPass(createExpandCopiesPass(copies));
}
