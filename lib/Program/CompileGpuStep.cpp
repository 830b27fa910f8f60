//===- CompileGpuStep.cpp - From a step to code for GPUs ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Program/CompileGpuStep.h"

#include "regather/Kernel/NVPTX/CompileRoutines.h"
#include "regather/Kernel/NVPTX/PtxFile.h"
#include "regather/Program/CompileStep.h"

using namespace mlir;
using namespace regather;

/// PTX of all kernels and, if there is an assembler, machine code.
static llvm::Expected<std::vector<GpuImage>>
makeImages(llvm::ArrayRef<nvptx::KernelCode> kernels,
           const nvptx::KernelCompileOptions &options, llvm::StringRef ptxas,
           kernel::KernelStatistics &statistics) {
  std::vector<GpuImage> images;
  if (kernels.empty())
    return images;
  GpuImage ptx;
  ptx.architecture = options.architecture->getNumber();
  ptx.isSpecific = options.architecture->isSpecific();
  ptx.data = nvptx::joinPtx(kernels);
  if (!ptxas.empty() || nvptx::hasPtxas()) {
    auto binary = nvptx::assemblePtx(ptx.data, options, ptxas, statistics);
    if (!binary)
      return binary.takeError();
    images.push_back(ptx);
    images.back().kind = RG_GPU_IMAGE_CUBIN;
    images.back().data = std::move(*binary);
  }
  images.push_back(std::move(ptx));
  return images;
}

static void add(kernel::KernelStatistics &sum,
                const kernel::KernelStatistics &statistics) {
  sum.count += statistics.count;
  sum.compiled += statistics.compiled;
  sum.cached += statistics.cached;
  if (!statistics.cacheError.empty())
    sum.cacheError = statistics.cacheError;
}

/// Compiles what no library computes, and adds it to `codes`.
static LogicalResult compileRoutines(Location location,
                                     const rg_program &program,
                                     const nvptx::KernelCompileOptions &options,
                                     std::vector<nvptx::KernelCode> &codes,
                                     GpuCode &code,
                                     kernel::KernelStatistics &statistics) {
  auto count = [](int64_t number) { return static_cast<size_t>(number); };
  auto keep = [&](GpuLaunches &launches, nvptx::KernelCode &kernel) {
    launches.plan = kernel.plan;
    codes.push_back(std::move(kernel));
  };
  kernel::KernelStatistics ofGemms, ofAttentions;
  auto gemms = nvptx::compileGemms(
      location, {program.gemms, count(program.gemm_count)}, options, ofGemms);
  auto attentions = nvptx::compileAttentions(
      location, {program.attentions, count(program.attention_count)}, options,
      ofAttentions);
  if (failed(gemms) || failed(attentions))
    return failure();
  add(statistics, ofGemms);
  add(statistics, ofAttentions);
  code.gemms.resize(gemms->size());
  for (auto [launches, kernel] : llvm::zip_equal(code.gemms, *gemms))
    if (kernel)
      keep(launches, *kernel);
  code.attentions.resize(attentions->size());
  for (auto [launches, kernel] : llvm::zip_equal(code.attentions, *attentions))
    keep(launches, kernel);
  return success();
}

/// The code of a step for one architecture.
static FailureOr<GpuCode>
compileForArchitecture(func::FuncOp entry, ProgramTables &tables,
                       const nvptx::KernelCompileOptions &options,
                       StringRef ptxas, kernel::KernelStatistics &statistics) {
  GpuCode code;
  code.isElastic = options.elastic;
  kernel::KernelStatistics ofKernels;
  llvm::ArrayRef<tg::KernelOp> kernels = tables.getKernels();
  FailureOr<std::vector<nvptx::KernelCode>> codes =
      nvptx::compileKernels(kernels, options, ofKernels);
  add(statistics, ofKernels);
  if (failed(codes))
    return failure();
  for (auto [kernel, compiled] : llvm::zip_equal(kernels, *codes))
    code.kernels.push_back(
        {compiled.plan, tg::KernelOp(kernel).getNumArguments()});
  if (failed(compileRoutines(entry.getLoc(), tables.get(), options, *codes,
                             code, statistics)))
    return failure();
  auto images = makeImages(*codes, options, ptxas, statistics);
  if (!images)
    return entry.emitError() << llvm::toString(images.takeError());
  code.images = std::move(*images);
  return code;
}

FailureOr<CompiledGpuStep>
regather::compileGpuStep(func::FuncOp entry, const GpuCompileOptions &options,
                         const ProgramOptions &program) {
  CompiledGpuStep step;
  if (failed(lowerToTables(entry, program, ProgramPlace::Device, step.module,
                           step.tables)))
    return failure();
  for (const nvptx::KernelCompileOptions &kernels : options.kernels) {
    FailureOr<GpuCode> code = compileForArchitecture(
        entry, *step.tables, kernels, options.ptxas, step.statistics);
    if (failed(code))
      return failure();
    step.codes.push_back(std::move(*code));
  }
  return step;
}
