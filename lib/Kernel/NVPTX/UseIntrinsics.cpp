//===- UseIntrinsics.cpp - Functions of numbers as intrinsics -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuDialects.h"

#include "regather/Kernel/NVPTX/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace regather;

namespace regather::nvptx {
#define GEN_PASS_DEF_USEINTRINSICSPASS
#include "regather/Kernel/NVPTX/Passes.h.inc"
} // namespace regather::nvptx

namespace {
/// A function that is one instruction, or that LLVM expands to the same
/// operations for all targets. What is left is called in libdevice.
template <typename MathOp> struct UseIntrinsic : OpRewritePattern<MathOp> {
  UseIntrinsic(MLIRContext *context, StringRef name)
      : OpRewritePattern<MathOp>(context), name(name) {}

  LogicalResult matchAndRewrite(MathOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32() && !op.getType().isF64())
      return rewriter.notifyMatchFailure(op, "is not of f32 or f64");
    // The operations of the LLVM dialect would become calls of libdevice, too.
    rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(
        op, op.getType(), rewriter.getStringAttr(name), op->getOperands());
    return success();
  }

  StringRef name;
};

/// |x|, where the smallest integer stays what it is.
struct ExpandAbsI : OpRewritePattern<math::AbsIOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::AbsIOp op,
                                PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto zero = arith::ConstantOp::create(b, b.getZeroAttr(op.getType()));
    Value negated = arith::SubIOp::create(b, zero, op.getOperand());
    Value isNegative = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                             op.getOperand(), zero);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isNegative, negated,
                                                 op.getOperand());
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

namespace {
class UseIntrinsicsPass
    : public nvptx::impl::UseIntrinsicsPassBase<UseIntrinsicsPass> {
public:
  using UseIntrinsicsPassBase::UseIntrinsicsPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    UseIntrinsicsPassBase::getDependentDialects(registry);
    // Later passes ask the dialects how they are converted to LLVM.
    nvptx::registerConversions(registry);
  }

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    patterns.add<ExpandAbsI, ExpandRsqrt>(context);
    patterns.add<UseIntrinsic<math::AbsFOp>>(context, "llvm.fabs");
    patterns.add<UseIntrinsic<math::CeilOp>>(context, "llvm.ceil");
    patterns.add<UseIntrinsic<math::CopySignOp>>(context, "llvm.copysign");
    patterns.add<UseIntrinsic<math::FloorOp>>(context, "llvm.floor");
    patterns.add<UseIntrinsic<math::FmaOp>>(context, "llvm.fma");
    patterns.add<UseIntrinsic<math::RoundEvenOp>>(context, "llvm.roundeven");
    patterns.add<UseIntrinsic<math::SqrtOp>>(context, "llvm.sqrt");
    patterns.add<UseIntrinsic<math::TruncOp>>(context, "llvm.trunc");
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
