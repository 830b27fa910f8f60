//===- GpuProgramCheck.cpp - Tables for GPUs that make sense --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuProgramCheck.h"

#include "Program/ProgramCheck.h"

using namespace regather::runtime;

/// Entries may assume this of all their arguments.
static constexpr int64_t kBufferAlignment = 16;

static std::string checkImages(const rg_gpu_program &program) {
  for (int64_t i = 0; i < program.image_count; ++i) {
    const rg_gpu_image &image = program.images[i];
    if (image.kind < RG_GPU_IMAGE_PTX || image.kind > RG_GPU_IMAGE_HOST ||
        !image.data || image.bytes < 1 || image.architecture < 0)
      return "image " + std::to_string(i) + " is malformed";
    if (image.kind == RG_GPU_IMAGE_PTX &&
        static_cast<const char *>(image.data)[image.bytes - 1] != 0)
      return "image " + std::to_string(i) + " is text without an end";
  }
  return "";
}

static std::string checkKernel(const rg_gpu_kernel &kernel,
                               const std::string &where) {
  if (kernel.launch_count < 0 || kernel.scratch_bytes < 0 ||
      kernel.argument_count < 0 || (kernel.launch_count && !kernel.launches))
    return where + " is malformed";
  for (int64_t i = 0; i < kernel.launch_count; ++i) {
    const rg_gpu_launch &launch = kernel.launches[i];
    if (!launch.symbol || launch.blocks < 1 || launch.blocks > INT32_MAX ||
        launch.threads < 1 || launch.threads > 1024 ||
        launch.dynamic_shared_bytes < 0)
      return "launch " + std::to_string(i) + " of " + where + " is malformed";
  }
  return "";
}

static std::string checkKernels(const rg_gpu_kernel *kernels, int64_t count,
                                const char *table) {
  if (count && !kernels)
    return "a table of the program for GPUs is missing";
  for (int64_t i = 0; i < count; ++i)
    if (std::string problem =
            checkKernel(kernels[i], table + std::to_string(i));
        !problem.empty())
      return problem;
  return "";
}

/// The kernel that an instruction launches; null if a library computes it.
static const rg_gpu_kernel *getKernel(const rg_gpu_program &program,
                                      const rg_instruction &instruction) {
  const rg_gpu_kernel *kernels = nullptr;
  if (instruction.opcode == RG_OP_LAUNCH)
    return program.kernels + instruction.index;
  if (instruction.opcode == RG_OP_GEMM)
    kernels = program.gemms + instruction.index;
  else if (instruction.opcode == RG_OP_ATTENTION)
    kernels = program.attentions + instruction.index;
  return kernels && kernels->launch_count != 0 ? kernels : nullptr;
}

static std::string checkLaunch(const rg_gpu_program &program,
                               const rg_instruction &instruction,
                               const rg_gpu_kernel &kernel) {
  std::string where =
      "instruction " +
      std::to_string(&instruction - program.program->instructions);
  if (kernel.launch_count == 0)
    return where + " runs a kernel without launches";
  if (kernel.argument_count > instruction.slice_count)
    return where + " has fewer places than its kernel has arguments";
  const rg_slice *slices = program.program->slices + instruction.first_slice;
  for (int32_t i = 0; i < instruction.slice_count; ++i)
    if (slices[i].offset % kBufferAlignment != 0)
      return "place " + std::to_string(i) + " of " + where +
             " is not aligned to " + std::to_string(kBufferAlignment) +
             " bytes";
  return "";
}

static std::string checkGraphs(const rg_gpu_program &program) {
  int64_t last = 0;
  for (int64_t i = 0; i < program.graph_count; ++i) {
    const rg_gpu_graph &graph = program.graphs[i];
    if (!graph.name || graph.first < last || graph.end <= graph.first ||
        graph.end > program.program->instruction_count)
      return "graph " + std::to_string(i) + " is malformed";
    last = graph.end;
  }
  return "";
}

/// Checks what the program for one architecture adds to that of all.
static std::string checkCode(const rg_gpu_program &gpu) {
  const rg_program &program = *gpu.program;
  if (gpu.image_count < 0 || gpu.graph_count < 0 ||
      (gpu.image_count && !gpu.images) || (gpu.graph_count && !gpu.graphs))
    return "a table of the program for GPUs is missing";
  std::string problem = checkImages(gpu);
  if (problem.empty())
    problem = checkKernels(gpu.kernels, program.kernel_count, "kernel ");
  if (problem.empty())
    problem =
        checkKernels(gpu.gemms, program.gemm_count, "the kernel of GEMM ");
  if (problem.empty())
    problem = checkKernels(gpu.attentions, program.attention_count,
                           "the kernel of attention ");
  if (problem.empty())
    problem = checkGraphs(gpu);
  for (int64_t i = 0; problem.empty() && i < program.instruction_count; ++i)
    if (const rg_gpu_kernel *kernel = getKernel(gpu, program.instructions[i]))
      problem = checkLaunch(gpu, program.instructions[i], *kernel);
  return problem;
}

std::string regather::runtime::checkGpuProgram(const rg_gpu_program &programs) {
  if (programs.version != RG_GPU_PROGRAM_VERSION)
    return "the program for GPUs has version " +
           std::to_string(programs.version) +
           ", but this runtime runs version " +
           std::to_string(RG_GPU_PROGRAM_VERSION);
  if (!programs.program)
    return "a table of the program for GPUs is missing";
  std::string problem = checkProgram(*programs.program, KernelCode::Device);
  for (const rg_gpu_program *gpu = &programs; problem.empty() && gpu;
       gpu = gpu->next) {
    if (gpu->version != programs.version || gpu->program != programs.program ||
        gpu->graph_count != programs.graph_count ||
        gpu->graphs != programs.graphs)
      return "the programs for several architectures are not of one step";
    problem = checkCode(*gpu);
  }
  return problem;
}
