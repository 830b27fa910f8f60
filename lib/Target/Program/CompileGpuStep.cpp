//===- CompileGpuStep.cpp - From a step to code for GPUs ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Target/Program/CompileGpuStep.h"

#include "regather/Target/NVPTX/CompileRoutines.h"
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

/// Compiles what no library computes, and adds it to `codes`.
static LogicalResult compileRoutines(Location location,
                                     const rg_program &program,
                                     const GpuCompileOptions &options,
                                     std::vector<nvptx::KernelCode> &codes,
                                     CompiledGpuStep &step) {
  auto count = [](int64_t number) { return static_cast<size_t>(number); };
  auto add = [&](GpuLaunches &launches, nvptx::KernelCode &code) {
    launches.plan = code.plan;
    codes.push_back(std::move(code));
  };
  kernel::KernelStatistics ofProducts, ofAttentions;
  auto products = nvptx::compileProducts(
      location, {program.gemms, count(program.gemm_count)}, options.kernels,
      ofProducts);
  auto attentions = nvptx::compileAttentions(
      location, {program.attentions, count(program.attention_count)},
      options.kernels, ofAttentions);
  if (failed(products) || failed(attentions))
    return failure();
  for (const kernel::KernelStatistics &statistics :
       {ofProducts, ofAttentions}) {
    step.statistics.count += statistics.count;
    step.statistics.compiled += statistics.compiled;
    step.statistics.cached += statistics.cached;
  }
  step.code.gemms.resize(products->size());
  for (auto [launches, code] : llvm::zip_equal(step.code.gemms, *products))
    if (code)
      add(launches, *code);
  step.code.attentions.resize(attentions->size());
  for (auto [launches, code] :
       llvm::zip_equal(step.code.attentions, *attentions))
    add(launches, code);
  return success();
}

FailureOr<CompiledGpuStep>
regather::compileGpuStep(func::FuncOp entry, const GpuCompileOptions &options,
                         PassOptionTexts &passOptions) {
  CompiledGpuStep step;
  if (failed(lowerToTables(entry, passOptions, step.module, step.tables)))
    return failure();
  llvm::ArrayRef<tg::KernelOp> kernels = step.tables->getKernels();
  FailureOr<std::vector<nvptx::KernelCode>> codes =
      nvptx::compileKernels(kernels, options.kernels, step.statistics);
  if (failed(codes))
    return failure();
  for (auto [kernel, code] : llvm::zip_equal(kernels, *codes))
    step.code.kernels.push_back(
        {code.plan, tg::KernelOp(kernel).getNumArguments()});
  if (failed(compileRoutines(entry.getLoc(), step.tables->get(), options,
                             *codes, step)))
    return failure();
  auto images = makeImages(*codes, options);
  if (!images)
    return entry.emitError() << llvm::toString(images.takeError());
  step.code.images = std::move(*images);
  return step;
}
