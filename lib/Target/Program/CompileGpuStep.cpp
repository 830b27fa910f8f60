//===- CompileGpuStep.cpp - From a step to code for GPUs ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Target/Program/CompileGpuStep.h"

#include "regather/Target/NVPTX/PtxFile.h"
#include "regather/Target/Program/CompileStep.h"

using namespace mlir;
using namespace regather;

/// PTX of all kernels and, if there is an assembler, machine code.
static llvm::Expected<std::vector<GpuImage>>
makeImages(llvm::ArrayRef<nvptx::KernelCode> kernels,
           const GpuCompileOptions &options) {
  std::vector<GpuImage> images;
  if (kernels.empty())
    return images;
  const nvptx::GpuArchitecture &architecture = *options.kernels.architecture;
  GpuImage ptx;
  ptx.architecture = architecture.getNumber();
  ptx.isSpecific = architecture.isSpecific();
  ptx.data = nvptx::joinPtx(kernels);
  if (!options.ptxas.empty() || nvptx::hasPtxas()) {
    auto binary = nvptx::assemblePtx(ptx.data, architecture, options.ptxas);
    if (!binary)
      return binary.takeError();
    images.push_back(ptx);
    images.back().kind = RG_GPU_IMAGE_CUBIN;
    images.back().data = std::move(*binary);
  }
  images.push_back(std::move(ptx));
  return images;
}

FailureOr<CompiledGpuStep>
regather::compileGpuStep(func::FuncOp entry, const GpuCompileOptions &options,
                         PassOptionTexts &passOptions) {
  CompiledGpuStep step;
  FailureOr<OwningOpRef<ModuleOp>> module = lowerToProgram(entry, passOptions);
  if (failed(module))
    return failure();
  step.module = std::move(*module);
  auto program = step.module->lookupSymbol<exec::ProgramOp>(entry.getName());
  FailureOr<std::unique_ptr<ProgramTables>> tables =
      ProgramTables::build(program);
  if (failed(tables))
    return failure();
  step.tables = std::move(*tables);
  llvm::ArrayRef<tg::KernelOp> kernels = step.tables->getKernels();
  FailureOr<std::vector<nvptx::KernelCode>> codes =
      nvptx::compileKernels(kernels, options.kernels, step.statistics);
  if (failed(codes))
    return failure();
  for (auto [kernel, code] : llvm::zip_equal(kernels, *codes))
    step.code.kernels.push_back(
        {code.plan, tg::KernelOp(kernel).getNumArguments()});
  const rg_program &header = step.tables->get();
  step.code.gemms.resize(static_cast<size_t>(header.gemm_count));
  step.code.attentions.resize(static_cast<size_t>(header.attention_count));
  auto images = makeImages(*codes, options);
  if (!images)
    return entry.emitError() << llvm::toString(images.takeError());
  step.code.images = std::move(*images);
  return step;
}
