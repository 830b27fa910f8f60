//===- GpuStepTables.cpp - A step for GPUs in this process ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Program/GpuStepTables.h"

using namespace regather;

static std::vector<rg_gpu_image> makeImages(llvm::ArrayRef<GpuImage> images) {
  std::vector<rg_gpu_image> entries;
  for (const GpuImage &image : images) {
    // Text ends with a zero byte.
    auto bytes = static_cast<int64_t>(image.data.size()) +
                 (image.kind == RG_GPU_IMAGE_PTX ? 1 : 0);
    entries.push_back({image.kind, image.architecture, image.isSpecific, 0,
                       image.data.c_str(), bytes});
  }
  return entries;
}

std::vector<rg_gpu_kernel>
GpuStepTables::makeKernels(llvm::ArrayRef<GpuLaunches> kernels) {
  std::vector<rg_gpu_kernel> entries;
  for (const GpuLaunches &kernel : kernels) {
    std::vector<rg_gpu_launch> &list = launches.emplace_back();
    for (const nvptx::Launch &launch : kernel.plan.launches)
      list.push_back({launch.symbol.c_str(), launch.blocks,
                      static_cast<int32_t>(launch.threads),
                      static_cast<int32_t>(launch.dynamicSharedBytes)});
    entries.push_back({list.data(), static_cast<int64_t>(list.size()),
                       kernel.plan.scratchBytes, kernel.numArguments});
  }
  return entries;
}

GpuStepTables::GpuStepTables(CompiledGpuStep &step) {
  llvm::ArrayRef<rg_gpu_graph> graphs = step.tables->getGraphs();
  for (const GpuCode &code : step.codes) {
    Code &made = codes.emplace_back();
    made.images = makeImages(code.images);
    made.kernels = makeKernels(code.kernels);
    made.gemms = makeKernels(code.gemms);
    made.attentions = makeKernels(code.attentions);
    rg_gpu_program program = {};
    program.version = RG_GPU_PROGRAM_VERSION;
    program.elastic = code.isElastic;
    program.program = &step.tables->get();
    program.image_count = static_cast<int64_t>(made.images.size());
    program.images = made.images.data();
    program.kernels = made.kernels.data();
    program.gemms = made.gemms.data();
    program.attentions = made.attentions.data();
    program.graph_count = static_cast<int64_t>(graphs.size());
    program.graphs = graphs.data();
    programs.push_back(program);
  }
  for (size_t i = 1; i < programs.size(); ++i)
    programs[i - 1].next = &programs[i];
}
