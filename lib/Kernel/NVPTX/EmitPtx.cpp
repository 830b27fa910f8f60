//===- EmitPtx.cpp - Modules of NVVM functions as PTX ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ptx.h"

#include "regather/Kernel/NVPTX/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace regather;

namespace regather::nvptx {
#define GEN_PASS_DEF_EMITPTXPASS
#include "regather/Kernel/NVPTX/Passes.h.inc"
} // namespace regather::nvptx

/// Replaces a module by its PTX.
static LogicalResult emitBinary(gpu::GPUModuleOp module,
                                const nvptx::GpuArchitecture &architecture,
                                StringRef libdevice) {
  auto ptx = nvptx::emitPtx(module, module.getName(), architecture, libdevice,
                            kernel::generateCode);
  if (!ptx)
    return module.emitError()
           << "cannot compile the module for " << architecture.name << ": "
           << llvm::toString(ptx.takeError());
  OpBuilder b(module);
  auto target = NVVM::NVVMTargetAttr::get(
      b.getContext(), /*optLevel=*/3, "nvptx64-nvidia-cuda", architecture.name,
      architecture.ptxFeature);
  auto object = gpu::ObjectAttr::get(
      b.getContext(), target, gpu::CompilationTarget::Assembly,
      b.getStringAttr(*ptx), /*properties=*/nullptr, /*kernels=*/nullptr);
  gpu::BinaryOp::create(b, module.getLoc(), module.getName(),
                        /*offloadingHandler=*/nullptr,
                        ArrayRef<Attribute>(object));
  module.erase();
  return success();
}

namespace {
class EmitPtxPass : public nvptx::impl::EmitPtxPassBase<EmitPtxPass> {
public:
  using EmitPtxPassBase::EmitPtxPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    EmitPtxPassBase::getDependentDialects(registry);
    nvptx::registerTranslations(registry);
  }

  void runOnOperation() override {
    const nvptx::GpuArchitecture *found =
        nvptx::findGpuArchitecture(architecture);
    if (!found) {
      getOperation().emitError()
          << "unknown architecture '" << architecture << "'";
      return signalPassFailure();
    }
    auto modules = llvm::to_vector(getOperation().getOps<gpu::GPUModuleOp>());
    bool hasFailed = false;
    for (gpu::GPUModuleOp module : modules)
      hasFailed |= failed(emitBinary(module, *found, libdevice));
    if (hasFailed)
      return signalPassFailure();
    numModules += modules.size();
  }
};
} // namespace
