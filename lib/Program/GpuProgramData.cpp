//===- GpuProgramData.cpp - Tables for GPUs as constant data --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DataEmitter.h"

#include "regather/Program/GpuCode.h"
#include "regather/Program/ProgramTables.h"

using namespace regather;
using llvm::ArrayRef;
using llvm::StringRef;

static llvm::Constant *emitImages(DataEmitter &emitter,
                                  ArrayRef<GpuImage> images) {
  std::vector<rg_gpu_image> entries;
  for (const GpuImage &image : images) {
    // Text ends with a zero byte.
    auto bytes = static_cast<int64_t>(image.data.size()) +
                 (image.kind == RG_GPU_IMAGE_PTX ? 1 : 0);
    entries.push_back({image.kind, image.architecture, image.isSpecific, 0,
                       image.data.data(), bytes});
  }
  DataEmitter::Table<rg_gpu_image> table(emitter, entries);
  for (const rg_gpu_image &entry : entries)
    table.set(entry.data,
              emitter.addGlobal(StringRef(static_cast<const char *>(entry.data),
                                          static_cast<size_t>(entry.bytes)),
                                {}, "image"));
  return table.emit("images");
}

static llvm::Constant *emitLaunches(DataEmitter &emitter,
                                    const nvptx::LaunchPlan &plan) {
  std::vector<rg_gpu_launch> entries;
  for (const nvptx::Launch &launch : plan.launches)
    entries.push_back({launch.symbol.c_str(), launch.blocks,
                       static_cast<int32_t>(launch.threads),
                       static_cast<int32_t>(launch.dynamicSharedBytes)});
  DataEmitter::Table<rg_gpu_launch> table(emitter, entries);
  for (const rg_gpu_launch &entry : entries)
    table.set(entry.symbol, emitter.addString(entry.symbol));
  return table.emit("launches");
}

static llvm::Constant *emitKernels(DataEmitter &emitter,
                                   ArrayRef<GpuLaunches> kernels,
                                   const llvm::Twine &name) {
  std::vector<rg_gpu_kernel> entries;
  for (const GpuLaunches &kernel : kernels)
    entries.push_back({nullptr,
                       static_cast<int64_t>(kernel.plan.launches.size()),
                       kernel.plan.scratchBytes, kernel.numArguments});
  DataEmitter::Table<rg_gpu_kernel> table(emitter, entries);
  for (auto [entry, kernel] : llvm::zip_equal(entries, kernels))
    table.set(entry.launches, kernel.plan.launches.empty()
                                  ? emitter.getNull()
                                  : emitLaunches(emitter, kernel.plan));
  return table.emit(name);
}

static llvm::Constant *emitGraphs(DataEmitter &emitter,
                                  ArrayRef<rg_gpu_graph> graphs) {
  DataEmitter::Table<rg_gpu_graph> table(emitter, graphs);
  for (const rg_gpu_graph &graph : graphs)
    table.set(graph.name, emitter.addString(graph.name));
  return table.emit("graphs");
}

void ProgramTables::emit(llvm::Module &module, ArrayRef<GpuCode> codes,
                         StringRef symbol) {
  DataEmitter emitter(module);
  llvm::Constant *program = emitProgram(emitter, /*functions=*/{});
  llvm::Constant *graphTable = emitGraphs(emitter, graphs);
  llvm::GlobalVariable *first = nullptr;
  // Each names the one behind it.
  for (const GpuCode &code : llvm::reverse(codes)) {
    rg_gpu_program gpu = {};
    gpu.version = RG_GPU_PROGRAM_VERSION;
    gpu.elastic = code.isElastic;
    gpu.image_count = static_cast<int64_t>(code.images.size());
    gpu.graph_count = static_cast<int64_t>(graphs.size());
    DataEmitter::Table<rg_gpu_program> table(emitter, gpu);
    table.set(gpu.program, program);
    table.set(gpu.images, emitImages(emitter, code.images));
    table.set(gpu.kernels, emitKernels(emitter, code.kernels, "gpu_kernels"));
    table.set(gpu.gemms, emitKernels(emitter, code.gemms, "gpu_gemms"));
    table.set(gpu.attentions,
              emitKernels(emitter, code.attentions, "gpu_attentions"));
    table.set(gpu.graphs, graphTable);
    table.set(gpu.next, first ? first : emitter.getNull());
    first = table.emit("gpu_program");
  }
  DataEmitter::setName(first, symbol);
}
