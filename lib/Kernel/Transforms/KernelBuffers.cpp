//===- KernelBuffers.cpp - Kernels from tensors to buffers ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/Transforms/KernelBuffers.h"

#include "ElementFusion.h"
#include "ReductionFusion.h"
#include "ResultBuffers.h"

#include "regather/Conversion/Passes.h"
#include "regather/Kernel/Transforms/ElementInlining.h"
#include "regather/Kernel/Transforms/NumberExpansion.h"
#include "regather/Kernel/Transforms/ScatterLoop.h"

#include "mlir/Conversion/BufferizationToMemRef/BufferizationToMemRef.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/FuncBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Linalg/Transforms/AllInterfaces.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/AllocationOpInterfaceImpl.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace regather::kernel;

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

/// The stride of a single element does not matter. With another one than 1,
/// views that drop its dimension crash passes of MLIR 22.
static void simplifyStrides(ModuleOp module) {
  auto simplify = [](auto op) {
    SmallVector<int64_t> strides(op.getStaticStrides());
    for (auto [size, stride] : llvm::zip(op.getStaticSizes(), strides))
      if (size == 1 && !ShapedType::isDynamic(stride))
        stride = 1;
    op.setStaticStrides(strides);
  };
  module.walk([&](tensor::ExtractSliceOp op) { simplify(op); });
  module.walk([&](tensor::InsertSliceOp op) { simplify(op); });
}

/// Rewrites what bufferization does not know in terms of what it knows.
static LogicalResult decompose(ModuleOp module) {
  IRRewriter rewriter(module.getContext());
  SmallVector<linalg::AggregatedOpInterface> aggregated;
  module.walk(
      [&](linalg::AggregatedOpInterface op) { aggregated.push_back(op); });
  for (linalg::AggregatedOpInterface op : aggregated) {
    rewriter.setInsertionPoint(op);
    FailureOr<SmallVector<Value>> values = op.decomposeOperation(rewriter);
    if (failed(values))
      return op->emitError()
             << "'" << op->getName() << "' cannot be decomposed";
    rewriter.replaceOp(op, *values);
  }
  RewritePatternSet patterns(module.getContext());
  tensor::populateDecomposeTensorConcatPatterns(patterns);
  return applyPatternsGreedily(module, std::move(patterns));
}

/// Reductions as loops with a body, as fusion expects them.
static LogicalResult generalizeReductions(ModuleOp module) {
  IRRewriter rewriter(module.getContext());
  SmallVector<linalg::LinalgOp> ops;
  module.walk([&](Operation *op) {
    if (isa<linalg::BroadcastOp, linalg::MapOp, linalg::ReduceOp,
            linalg::TransposeOp>(op))
      ops.push_back(cast<linalg::LinalgOp>(op));
  });
  for (linalg::LinalgOp op : ops) {
    rewriter.setInsertionPoint(op);
    if (failed(linalg::generalizeNamedOp(rewriter, op)))
      return op->emitError() << "'" << op->getName() << "' has no loops";
  }
  return success();
}

/// True if an operation reads no element of a tensor more than once, on
/// average.
static bool readsOnce(linalg::LinalgOp op) {
  if (op.hasDynamicShape())
    return false;
  int64_t points = 1;
  for (int64_t size : op.getStaticLoopRanges())
    points *= size;
  WalkResult result = op->walk([&](tensor::ExtractOp extract) {
    auto type = extract.getTensor().getType();
    return type.hasStaticShape() && points <= type.getNumElements()
               ? WalkResult::advance()
               : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

/// Computes elements that are read at places that are computed, as of a gather,
/// where they are read.
static void inlineGathers(ModuleOp module) {
  SmallVector<Block *> blocks;
  module->walk([&](Block *block) {
    if (!isa<linalg::LinalgOp>(block->getParentOp()))
      blocks.push_back(block);
  });
  // From reader to producer: what is read may read in turn, and goes with its
  // last reader.
  for (Block *block : blocks)
    for (Operation *op = block->empty() ? nullptr : &block->back(); op;
         op = op->getPrevNode())
      if (auto reader = dyn_cast<linalg::LinalgOp>(op);
          reader && readsOnce(reader))
        inlineElements(op);
}

static void buildElementwisePipeline(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(createConvertElementwiseToLinalgPass());
}

/// Arithmetic in f32 for the 16-bit floats, rounded after each operation.
static void buildFloatPipeline(OpPassManager &pm) {
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

/// True if `value` is `argument` with some elements replaced.
static bool isUpdateOf(Value value, Value argument) {
  while (value != argument) {
    if (auto insert = value.getDefiningOp<tensor::InsertSliceOp>())
      value = insert.getDest();
    else if (auto insert = value.getDefiningOp<tensor::InsertOp>())
      value = insert.getDest();
    else if (auto op = value.getDefiningOp<linalg::LinalgOp>())
      value = op.getTiedOpOperand(cast<OpResult>(value))->get();
    else
      return false;
  }
  return true;
}

/// True if the value may lie in the buffer of something that the loop carries.
static bool mayLieInArgument(Value value, scf::ForOp loop) {
  for (;;) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return argument.getOwner() == loop.getBody();
    Operation *def = value.getDefiningOp();
    if (!loop->isProperAncestor(def))
      return false;
    if (auto op = dyn_cast<linalg::LinalgOp>(def))
      value = op.getTiedOpOperand(cast<OpResult>(value))->get();
    else if (def->getNumRegions() > 0 || isa<arith::SelectOp>(def))
      return true;
    else if (auto insert = dyn_cast<tensor::InsertSliceOp>(def))
      value = insert.getDest();
    else if (auto insert = dyn_cast<tensor::InsertOp>(def))
      value = insert.getDest();
    else if (isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp,
                 tensor::ExtractSliceOp, tensor::ReshapeOp>(def))
      value = def->getOperand(0);
    else
      return false;
  }
}

/// A copy of the value, made before anything is written over it.
static Value keepValue(Value value, scf::ForOp loop) {
  OpBuilder b(loop.getContext());
  b.setInsertionPointAfterValue(value);
  auto type = cast<RankedTensorType>(value.getType());
  Value empty = tensor::EmptyOp::create(b, loop.getLoc(), type.getShape(),
                                        type.getElementType());
  return linalg::CopyOp::create(b, loop.getLoc(), value, empty).getResult(0);
}

/// Writes what a loop carries into one buffer for all iterations. Values that
/// change places do so by way of a copy.
static void keepLoopBuffers(ModuleOp module) {
  module.walk([](scf::ForOp loop) {
    Operation *yield = loop.getBody()->getTerminator();
    OpBuilder b(yield);
    for (auto [operand, argument] :
         llvm::zip_equal(yield->getOpOperands(), loop.getRegionIterArgs())) {
      Value value = operand.get();
      if (!isa<RankedTensorType>(value.getType()) ||
          isUpdateOf(value, argument))
        continue;
      if (mayLieInArgument(value, loop))
        value = keepValue(value, loop);
      operand.set(linalg::CopyOp::create(b, loop.getLoc(), value, argument)
                      .getResult(0));
    }
  });
}

static void buildNodePipeline(OpPassManager &pm) {
  pm.addPass(regather::createConvertTGFlatToTensorPass());
  pm.addPass(regather::createConvertTGRandomToLinalgPass());
  pm.addPass(regather::createConvertTGNodesToLinalgPass());
}

static void buildCSEPipeline(OpPassManager &pm) { pm.addPass(createCSEPass()); }

static void buildBufferPipeline(OpPassManager &pm) {
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.allowReturnAllocsFromLoops = true;
  pm.addPass(bufferization::createOneShotBufferizePass(bufferize));
  pm.addPass(createConvertBufferizationToMemRefPass());
}

LogicalResult regather::kernel::lowerToBuffers(ModuleOp module) {
  auto run = [&](void (*build)(OpPassManager &)) {
    PassManager pm(module.getContext());
    build(pm);
    return pm.run(module);
  };
  if (failed(run(buildNodePipeline)))
    return failure();
  selectSingleScatters(module);
  expandClasses(module);
  simplifyStrides(module);
  if (failed(decompose(module)) || failed(run(buildElementwisePipeline)) ||
      failed(generalizeReductions(module)))
    return failure();
  inlineGathers(module);
  fuseIntoReductions(module);
  if (failed(fuseElementwise(module)) ||
      failed(expandIntegerConversions(module)) ||
      failed(run(buildFloatPipeline)))
    return failure();
  removeFastMath(module);
  keepLoopBuffers(module);
  if (failed(run(buildCSEPipeline)) || failed(computeInResults(module)))
    return failure();
  return run(buildBufferPipeline);
}
