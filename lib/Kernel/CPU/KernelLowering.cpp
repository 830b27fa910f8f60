//===- KernelLowering.cpp - Buffers to the LLVM dialect -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

#include "BFloat16Bits.h"
#include "LaneLoops.h"

#include "regather/Kernel/Transforms/BoundsChecks.h"
#include "regather/Kernel/Transforms/HostConversions.h"
#include "regather/Kernel/Transforms/KernelBuffers.h"
#include "regather/Kernel/Transforms/NumberExpansion.h"

#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace regather;
using namespace regather::cpu;

/// Buffers share scratch memory if all of them together take more.
static constexpr uint64_t kMaxSeparateBytes = 1 << 20;

/// Lets the function return 0, or 1 if an index is out of bounds.
static void returnBoundsChecks(func::FuncOp func) {
  OpBuilder b = OpBuilder::atBlockBegin(&func.getBody().front());
  Location loc = func.getLoc();
  Value status =
      memref::AllocaOp::create(b, loc, MemRefType::get({}, b.getI32Type()));
  auto set = [&](OpBuilder &b, Location loc, int64_t value) {
    Value number = arith::ConstantIntOp::create(b, loc, value, 32);
    memref::StoreOp::create(b, loc, number, status);
  };
  kernel::addBoundsChecks(
      func, [&](OpBuilder &b, Location loc) { set(b, loc, /*value=*/1); });
  b.setInsertionPointAfterValue(status);
  set(b, loc, /*value=*/0);
  Operation *end = func.getBody().front().getTerminator();
  b.setInsertionPoint(end);
  Value result = memref::LoadOp::create(b, end->getLoc(), status);
  end->setOperands(result);
  func.setFunctionType(
      b.getFunctionType(func.getArgumentTypes(), TypeRange(result.getType())));
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
  kernel::addHostConversions(pm);
}

FailureOr<kernel::ScratchLayout>
regather::cpu::lowerKernelFunction(ModuleOp module) {
  if (failed(kernel::lowerToBuffers(module)) ||
      failed(kernel::expandFloatConversions(module)))
    return failure();
  auto func = *module.getOps<func::FuncOp>().begin();
  FailureOr<kernel::ScratchLayout> scratch =
      kernel::placeInScratch(func, kMaxSeparateBytes);
  if (failed(scratch))
    return failure();
  returnBoundsChecks(func);
  expandCopies(module);
  lowerLaneReductions(func);
  PassManager pm(module.getContext());
  buildLLVMPipeline(pm);
  if (failed(pm.run(module)))
    return failure();
  storeBFloat16AsBits(module);
  return scratch;
}
