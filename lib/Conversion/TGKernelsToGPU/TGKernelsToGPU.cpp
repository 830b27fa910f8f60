//===- TGKernelsToGPU.cpp - Kernels as functions of the gpu dialect -------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Conversion/Passes.h"
#include "regather/Kernel/NVPTX/CompileKernels.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace regather;

namespace regather {
#define GEN_PASS_DEF_CONVERTTGKERNELSTOGPUPASS
#include "regather/Conversion/Passes.h.inc"
} // namespace regather

/// Name of the module that holds the functions.
static constexpr llvm::StringLiteral kModuleName = "kernels";

/// Appends the function that a kernel becomes to `target`, with the constants
/// that it reads. It was lowered in another context and comes as text.
static LogicalResult appendKernel(tg::KernelOp kernel,
                                  gpu::GPUModuleOp target) {
  FailureOr<std::string> text =
      nvptx::printGpuKernel(kernel, kernel.getSymName());
  if (failed(text))
    return failure();
  auto parsed =
      parseSourceString<ModuleOp>(*text, ParserConfig(kernel.getContext()));
  if (!parsed)
    return failure();
  gpu::GPUModuleOp source = *parsed->getOps<gpu::GPUModuleOp>().begin();
  target.getBody()->getOperations().splice(target.getBody()->end(),
                                           source.getBody()->getOperations());
  return success();
}

namespace {
class ConvertTGKernelsToGPUPass
    : public regather::impl::ConvertTGKernelsToGPUPassBase<
          ConvertTGKernelsToGPUPass> {
public:
  using ConvertTGKernelsToGPUPassBase::ConvertTGKernelsToGPUPassBase;

  void runOnOperation() override {
    SmallVector<tg::KernelOp> kernels = nvptx::collectKernels(getOperation());
    if (kernels.empty())
      return;
    OpBuilder b = OpBuilder::atBlockEnd(getOperation().getBody());
    auto module =
        gpu::GPUModuleOp::create(b, getOperation().getLoc(), kModuleName);
    bool hasFailed = false;
    for (tg::KernelOp kernel : kernels)
      hasFailed |= failed(appendKernel(kernel, module));
    if (hasFailed)
      return signalPassFailure();
    numKernels += kernels.size();
  }
};
} // namespace
