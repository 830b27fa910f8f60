/*===- Gemm.h - GEMMs of the runtime --------------------*- C -*-===*\
|*                                                                            *|
|* Part of Regather, under the Apache License v2.0 with LLVM Exceptions.      *|
|* See LICENSE for license information.                                       *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* For a batch of strided matrices, with addends D0 and D1 if there are any:  *|
|*                                                                            *|
|*   C = convert(relu(alpha * (A B) + D0 + D1))                               *|
|*                                                                            *|
|* If k is cut into segments, A B is the sum over those of the segments, as   *|
|* a balanced tree: that over s segments is the one over the first s / 2      *|
|* plus the one over the others, in f32. The sum of each segment is that of a *|
|* GEMM of its own.                                                           *|
|*                                                                            *|
|* Every step after the sum over k rounds to f32 once, as operations that     *|
|* come one after the other do; so it does not matter for the result what is  *|
|* folded into a GEMM.                                                        *|
|*                                                                            *|
|* How a sum is split depends on k and the type of A and B alone: neither on  *|
|* strides nor on the number of threads, and on the machine for bf16 alone.   *|
|*                                                                            *|
|* A GEMM is split into tasks, whose number depends on the description *|
|* alone. Any of them may run at the same time.                               *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef REGATHER_RUNTIME_GEMM_H
#define REGATHER_RUNTIME_GEMM_H

#include "regather/Runtime/Runtime.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Most dimensions that a batch can have. */
#define RG_GEMM_MAX_BATCH 6

/** Most tensors that can be added to a GEMM. */
#define RG_GEMM_MAX_ADDENDS 2

/** Most segments that k can have. */
#define RG_GEMM_MAX_SEGMENTS 65536

/** Where the matrices of one operand lie. Offset and strides count elements. A
 *  stride of zero repeats what is read. */
typedef struct rg_gemm_operand {
  /** Number among the buffers of a call. */
  int32_t buffer;
  /** RG_F32, RG_BF16 or RG_F16. */
  int32_t dtype;
  int64_t offset;
  /** Along rows and columns. */
  int64_t strides[2];
  int64_t batch_strides[RG_GEMM_MAX_BATCH];
} rg_gemm_operand;

/** A GEMM, for each element of the batch, of an m x k and a k x n matrix. */
typedef struct rg_gemm_desc {
  int64_t m, n, k;
  int64_t batch_rank;
  int64_t batch_sizes[RG_GEMM_MAX_BATCH];
  /** A and B have one type. */
  rg_gemm_operand a, b, c;
  /** Added in this order. An addend may lie where C does, in equal places. */
  rg_gemm_operand addends[RG_GEMM_MAX_ADDENDS];
  int32_t addend_count;
  /** Nonzero: negative numbers become zero. */
  int32_t relu;
  /** Factor of the sum; 1 for none. */
  float alpha;
  /** RG_F32, or what the sum of each segment is rounded to: RG_BF16, RG_F16. */
  int32_t segment_dtype;
  /** Number of equal segments of k; 0 and 1 for none. On GPUs generated kernels
   *  add up to 64 of them. */
  int64_t segments;
} rg_gemm_desc;

/** A GEMM that is ready to run. */
typedef struct rg_gemm rg_gemm;

/** Prepares a GEMM.
 *  Errors: RG_ERROR_ARGUMENT for a type or size that is not allowed. */
RG_EXPORT rg_status rg_gemm_create(const rg_gemm_desc *desc, rg_gemm **gemm);

/** The number of tasks that make up the GEMM. */
RG_EXPORT int64_t rg_gemm_tasks(const rg_gemm *gemm);

/** Bytes of scratch memory that a task needs. */
RG_EXPORT size_t rg_gemm_scratch(const rg_gemm *gemm);

/** Runs one task. `scratch` is aligned to 64 bytes, and the task's own.
 *  Errors: RG_ERROR_ARGUMENT for a task that there is not. */
RG_EXPORT rg_status rg_gemm_run_task(const rg_gemm *gemm, void *const *buffers,
                                     int64_t task, void *scratch);

/** Runs all tasks on the calling thread. Any number of threads may run one
 *  GEMM at a time.
 *  Errors: RG_ERROR_ABORTED if there is no memory for scratch. */
RG_EXPORT rg_status rg_gemm_run(const rg_gemm *gemm, void *const *buffers);

RG_EXPORT void rg_gemm_destroy(rg_gemm *gemm);

#ifdef __cplusplus
}
#endif

#endif /* REGATHER_RUNTIME_GEMM_H */
