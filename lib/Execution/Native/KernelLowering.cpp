//===- KernelLowering.cpp - Tensors to the LLVM dialect -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelSet.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/FuncBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Linalg/Transforms/AllInterfaces.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/AllocationOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace regather::native;

/// Dialects and models that the passes below need; the step's own context has
/// only what a step is written in.
static void loadDependencies(MLIRContext *context) {
  DialectRegistry registry;
  registry.insert<affine::AffineDialect, memref::MemRefDialect>();
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  bufferization::func_ext::registerBufferizableOpInterfaceExternalModels(
      registry);
  linalg::registerAllDialectInterfaceImplementations(registry);
  memref::registerAllocationOpInterfaceExternalModels(registry);
  scf::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
  context->appendDialectRegistry(registry);
}

/// A number in the type of `like`, which may be a tensor.
static Value makeNumber(OpBuilder &builder, Location loc, Value like,
                        const llvm::APFloat &number) {
  Type type = like.getType();
  TypedAttr value =
      FloatAttr::get(cast<FloatType>(getElementTypeOrSelf(type)), number);
  if (auto shaped = dyn_cast<ShapedType>(type))
    value = DenseElementsAttr::get(shaped, number);
  return arith::ConstantOp::create(builder, loc, value);
}

/// Comparisons for the classes of numbers that have no lowering to LLVM.
static void expandClasses(ModuleOp module) {
  IRRewriter rewriter(module.getContext());
  module.walk([&](Operation *op) {
    if (!isa<math::IsInfOp, math::IsNormalOp>(op))
      return;
    rewriter.setInsertionPoint(op);
    Location loc = op->getLoc();
    Value value = op->getOperand(0);
    const llvm::fltSemantics &semantics =
        cast<FloatType>(getElementTypeOrSelf(value)).getFloatSemantics();
    auto compare = [&](arith::CmpFPredicate predicate,
                       const llvm::APFloat &number) -> Value {
      Value magnitude = math::AbsFOp::create(rewriter, loc, value);
      return arith::CmpFOp::create(rewriter, loc, predicate, magnitude,
                                   makeNumber(rewriter, loc, value, number));
    };
    llvm::APFloat infinity = llvm::APFloat::getInf(semantics);
    if (isa<math::IsInfOp>(op)) {
      rewriter.replaceOp(op, compare(arith::CmpFPredicate::OEQ, infinity));
      return;
    }
    Value isFinite = compare(arith::CmpFPredicate::OLT, infinity);
    Value isLarge = compare(arith::CmpFPredicate::OGE,
                            llvm::APFloat::getSmallestNormalized(semantics));
    rewriter.replaceOpWithNewOp<arith::AndIOp>(op, isFinite, isLarge);
  });
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

/// Fast-math flags permit results that depend on the shape of a loop; every
/// engine must give the same bits, so they are not used.
static void removeFastMath(ModuleOp module) {
  module.walk([](arith::ArithFastMathInterface op) {
    op->setAttr(op.getFastMathAttrName(),
                arith::FastMathFlagsAttr::get(op->getContext(),
                                              arith::FastMathFlags::none));
  });
}

namespace {
/// f64 to bf16 over f32, which would round twice: an inexact f32 is moved to
/// its neighbour towards zero and made odd, so that it cannot look like a tie.
/// Source: Boldo and Melquiond, "Emulation of FMA and correctly rounded sums:
/// proved algorithms using rounding to odd", 2008.
struct ExpandDoubleToBFloat16 : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    Value value = op.getIn();
    if (!value.getType().isF64() || !op.getType().isBF16())
      return rewriter.notifyMatchFailure(op, "is not f64 to bf16");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value narrow = arith::TruncFOp::create(b, b.getF32Type(), value);
    Value back = arith::ExtFOp::create(b, b.getF64Type(), narrow);
    Value isInexact =
        arith::CmpFOp::create(b, arith::CmpFPredicate::ONE, back, value);
    Value isAbove = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT,
                                          math::AbsFOp::create(b, back),
                                          math::AbsFOp::create(b, value));
    Value one = arith::ConstantIntOp::create(b, 1, 32);
    Value bits = arith::BitcastOp::create(b, b.getI32Type(), narrow);
    Value below = arith::SubIOp::create(b, bits, one);
    Value truncated = arith::SelectOp::create(b, isAbove, below, bits);
    Value odd = arith::OrIOp::create(b, truncated, one);
    Value chosen = arith::SelectOp::create(b, isInexact, odd, bits);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(
        op, b.getBF16Type(),
        arith::BitcastOp::create(b, b.getF32Type(), chosen));
    return success();
  }
};
} // namespace

namespace {
/// Integers to 16-bit floats over f64 instead of f32, which would round twice.
/// What f64 cannot hold is too long by at most 11 bits: of large numbers the
/// last 12 are replaced by one that says whether any was set.
template <typename ConvertOp>
struct ExpandIntegerToHalf : OpRewritePattern<ConvertOp> {
  using OpRewritePattern<ConvertOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(ConvertOp op,
                                PatternRewriter &rewriter) const override {
    Value value = op.getIn();
    Type type = op.getType();
    unsigned width = value.getType().getIntOrFloatBitWidth();
    if (!isa<BFloat16Type, Float16Type>(type) || width < 32)
      return rewriter.notifyMatchFailure(op, "is exact in f32");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    if (width == 64)
      value = shorten(b, value);
    Value wide = ConvertOp::create(b, b.getF64Type(), value);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, type, wide);
    return success();
  }

  static Value shorten(ImplicitLocOpBuilder &b, Value value) {
    auto number = [&](int64_t n) -> Value {
      return arith::ConstantIntOp::create(b, n, 64);
    };
    Value low = arith::AndIOp::create(b, value, number(0xfff));
    Value isAnySet =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne, low, number(0));
    Value shortened = arith::OrIOp::create(
        b, arith::SubIOp::create(b, value, low),
        arith::SelectOp::create(b, isAnySet, number(0x800), number(0)));
    int64_t limit = int64_t(1) << 53;
    Value isLarge;
    if (std::is_same_v<ConvertOp, arith::SIToFPOp>)
      isLarge = arith::CmpIOp::create(
          b, arith::CmpIPredicate::ugt,
          arith::AddIOp::create(b, value, number(limit)), number(2 * limit));
    else
      isLarge = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, value,
                                      number(limit));
    return arith::SelectOp::create(b, isLarge, shortened, value);
  }
};
} // namespace

static LogicalResult expandIntegerConversions(ModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  patterns.add<ExpandIntegerToHalf<arith::SIToFPOp>,
               ExpandIntegerToHalf<arith::UIToFPOp>>(module.getContext());
  return applyPatternsGreedily(module, std::move(patterns),
                               GreedyRewriteConfig().enableFolding(false));
}

/// bf16 conversions as integer arithmetic: the instructions of some CPUs flush
/// subnormals, and the compiler's helper is not in every libgcc.
static LogicalResult expandConversions(ModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  patterns.add<ExpandDoubleToBFloat16>(module.getContext());
  arith::populateExpandBFloat16Patterns(patterns);
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  return applyPatternsGreedily(module, std::move(patterns),
                               GreedyRewriteConfig().enableFolding(false));
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
}

static void buildBufferPipeline(OpPassManager &pm) {
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  bufferize.allowReturnAllocsFromLoops = true;
  bufferize.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(bufferize));
  bufferization::BufferResultsToOutParamsPassOptions results;
  results.hoistStaticAllocs = true;
  results.modifyPublicFunctions = true;
  pm.addPass(bufferization::createBufferResultsToOutParamsPass(results));
  bufferization::buildBufferDeallocationPipeline(
      pm, bufferization::BufferDeallocationPipelineOptions());
  pm.addPass(createConvertBufferizationToMemRefPass());
}

/// Copies of views as loops: their lowering to LLVM would call a function of
/// MLIR's runner library.
static void expandCopies(ModuleOp module) {
  IRRewriter rewriter(module.getContext());
  module.walk([&](memref::CopyOp op) {
    rewriter.setInsertionPoint(op);
    linalg::makeMemRefCopyOp(rewriter, op.getLoc(), op.getSource(),
                             op.getTarget());
    rewriter.eraseOp(op);
  });
}

static void buildLLVMPipeline(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addNestedPass<func::FuncOp>(createConvertMathToLLVMPass());
  pm.addPass(createConvertMathToLibmPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

LogicalResult regather::native::lowerKernels(ModuleOp module) {
  loadDependencies(module.getContext());
  expandClasses(module);
  simplifyStrides(module);
  if (failed(decompose(module)))
    return failure();
  auto run = [&](void (*build)(OpPassManager &)) {
    PassManager pm(module.getContext());
    build(pm);
    return pm.run(module);
  };
  if (failed(run(buildElementwisePipeline)) ||
      failed(expandIntegerConversions(module)) ||
      failed(run(buildFloatPipeline)))
    return failure();
  removeFastMath(module);
  if (failed(run(buildBufferPipeline)) || failed(expandConversions(module)))
    return failure();
  expandCopies(module);
  return run(buildLLVMPipeline);
}
