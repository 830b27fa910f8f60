/*===- GpuProgram.h - A step compiled for GPUs --------------------*- C -*-===*\
|*                                                                            *|
|* Part of Regather, under the Apache License v2.0 with LLVM Exceptions.      *|
|* See LICENSE for license information.                                       *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* The tables of Program.h, whose kernels have no code for the host, and what *|
|* a GPU needs besides: images with the kernels, how each is launched, and    *|
|* which instructions are captured into CUDA graphs. GpuExecutor.h runs it.   *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef REGATHER_RUNTIME_GPUPROGRAM_H
#define REGATHER_RUNTIME_GPUPROGRAM_H

#include "regather/Runtime/Program.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Changes whenever the layout or the meaning of a table does. */
#define RG_GPU_PROGRAM_VERSION 3

/** The symbol of the program in the shared object of a bundle. */
#define RG_GPU_PROGRAM_SYMBOL "regather_gpu_program"

/** The same of RG_ROOMY_PROGRAM_SYMBOL. */
#define RG_ROOMY_GPU_PROGRAM_SYMBOL "regather_roomy_gpu_program"

typedef enum rg_gpu_image_kind {
  /** Text, ends with a zero byte. The driver translates it. */
  RG_GPU_IMAGE_PTX = 0,
  /** Machine code of a GPU. */
  RG_GPU_IMAGE_CUBIN,
  /** A shared object for the host, for tests: only drivers that stand in for
   *  CUDA's load it. */
  RG_GPU_IMAGE_HOST
} rg_gpu_image_kind;

/** Code of all kernels, for one architecture. */
typedef struct rg_gpu_image {
  int32_t kind; /**< an rg_gpu_image_kind */
  /** Ten times the major number and the minor one, such as 90. */
  int32_t architecture;
  /** Nonzero: for this architecture alone, as sm_90a is; else later ones with
   *  the same major number run it too, and all later ones if it is PTX. */
  int32_t specific;
  int32_t reserved;
  const void *data;
  int64_t bytes;
} rg_gpu_image;

/** One launch of an entry with a grid and blocks of one dimension. */
typedef struct rg_gpu_launch {
  const char *symbol;
  int64_t blocks;
  int32_t threads;
  int32_t dynamic_shared_bytes;
} rg_gpu_launch;

/** How a kernel of rg_program.kernels runs: launches that follow each other on
 *  one stream. Each takes the addresses of all arguments and then of all
 *  results, and last, if `scratch_bytes` is not 0, that of scratch memory. */
typedef struct rg_gpu_kernel {
  const rg_gpu_launch *launches;
  int64_t launch_count;
  /** Aligned to 256 bytes; its contents are undefined before. */
  int64_t scratch_bytes;
  /** How many of the slices are arguments; the others are results. */
  int64_t argument_count;
} rg_gpu_kernel;

/** Instructions [first, end) as one CUDA graph. They use stream 0 alone unless
 *  all of what they fork is joined to it. */
typedef struct rg_gpu_graph {
  const char *name;
  int64_t first, end;
} rg_gpu_graph;

typedef struct rg_gpu_program {
  uint32_t version; /**< RG_GPU_PROGRAM_VERSION */
  /** Nonzero: sums have orders that depend on no number of rows, as no library
   *  promises, so all GEMMs and attention have kernels, which compute them. */
  uint32_t elastic;
  const rg_program *program;
  int64_t image_count;
  const rg_gpu_image *images;
  /** As many as program->kernel_count. */
  const rg_gpu_kernel *kernels;
  /** As many as program->gemm_count and program->attention_count: what computes
   *  them where no library does. The launches take the addresses of the slices
   *  of the instruction, in order. Without launches if nothing was generated,
   *  as for GEMMs that cuBLASLt computes (rg_gpu_gemm_obstacle). */
  const rg_gpu_kernel *gemms;
  const rg_gpu_kernel *attentions;
  /** In order, without overlaps. */
  int64_t graph_count;
  const rg_gpu_graph *graphs;
  /** The same step for another architecture: other images and launches, with
   *  `program` and the graphs of this one. Null after the last one. The device
   *  decides which of them is loaded. */
  const struct rg_gpu_program *next;
} rg_gpu_program;

/** Why cuBLASLt does not compute a GEMM, so that the program needs kernels
 *  for it; static text, or null if it does. */
RG_EXPORT const char *rg_gpu_gemm_obstacle(const rg_gemm_desc *desc);

#ifdef __cplusplus
}
#endif

#endif /* REGATHER_RUNTIME_GPUPROGRAM_H */
