//===- NvvmLowering.cpp - The gpu dialect to NVVM -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ptx.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace regather;

namespace {
/// A function that is one instruction, or that LLVM expands to the same
/// operations for all targets. What is left is called in libdevice.
template <typename MathOp, typename LLVMOp>
struct UseInstruction : OpRewritePattern<MathOp> {
  using OpRewritePattern<MathOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(MathOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32() && !op.getType().isF64())
      return rewriter.notifyMatchFailure(op, "is not of f32 or f64");
    rewriter.replaceOpWithNewOp<LLVMOp>(op, op.getType(), op->getOperands());
    return success();
  }
};

/// 1 / sqrt(x), each rounded, as on CPUs.
struct ExpandRsqrt : OpRewritePattern<math::RsqrtOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::RsqrtOp op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<FloatType>(op.getType());
    if (!type)
      return rewriter.notifyMatchFailure(op, "is not a scalar");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value one = arith::ConstantOp::create(b, b.getFloatAttr(type, 1.0));
    Value root = math::SqrtOp::create(b, op.getOperand());
    rewriter.replaceOp(op, arith::DivFOp::create(b, one, root));
    return success();
  }
};
} // namespace

static LogicalResult useInstructions(gpu::GPUModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  patterns.add<ExpandRsqrt, UseInstruction<math::AbsFOp, LLVM::FAbsOp>,
               UseInstruction<math::CeilOp, LLVM::FCeilOp>,
               UseInstruction<math::CopySignOp, LLVM::CopySignOp>,
               UseInstruction<math::FloorOp, LLVM::FFloorOp>,
               UseInstruction<math::FmaOp, LLVM::FMAOp>,
               UseInstruction<math::RoundEvenOp, LLVM::RoundEvenOp>,
               UseInstruction<math::SqrtOp, LLVM::SqrtOp>,
               UseInstruction<math::TruncOp, LLVM::FTruncOp>>(
      module.getContext());
  return applyPatternsGreedily(module, std::move(patterns));
}

static void buildNVVMPipeline(OpPassManager &pm) {
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertVectorToLLVMPass());
  ConvertGpuOpsToNVVMOpsOptions options;
  options.useBarePtrCallConv = true;
  pm.addPass(createConvertGpuOpsToNVVMOps(options));
  pm.addPass(createReconcileUnrealizedCastsPass());
}

LogicalResult nvptx::lowerToNVVM(gpu::GPUModuleOp module) {
  if (failed(useInstructions(module)))
    return failure();
  PassManager pm(module.getContext(), gpu::GPUModuleOp::getOperationName());
  buildNVVMPipeline(pm);
  return pm.run(module);
}
