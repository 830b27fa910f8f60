/*===- GroupedGemm.h - Grouped GEMMs of the runtime ---------------*- C -*-===*\
|*                                                                            *|
|* Part of Regather, under the Apache License v2.0 with LLVM Exceptions.      *|
|* See LICENSE for license information.                                       *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Rows that each meet the matrix of their group, as those of experts do:     *|
|*                                                                            *|
|*   y[t, n] = sum_k x[t, k] * w[g(t), k, n]                                  *|
|*                                                                            *|
|* where g(t) is the first group whose end lies behind row t. Ends are read   *|
|* when the call runs; one that lies before an earlier end leaves its group   *|
|* empty. A call reads some of the three tensors and writes some:             *|
|*                                                                            *|
|*   to_y as above                                                            *|
|*   to_x the adjoint of this in x, from y and w: the gradient of x           *|
|*   to_w the adjoint in w, from x and y: the gradient of w                   *|
|*                                                                            *|
|* Rows behind all ends get NaN, or zeros; no matrix counts them.             *|
|*                                                                            *|
|* Sums are f32, and round to the type of the result once. The bits of a row  *|
|* depend on it and on its matrix alone, those of a matrix of to_w on the     *|
|* rows of its group: not on where groups lie, what else they hold, strides   *|
|* in memory, the number of threads or the machine.                           *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef REGATHER_RUNTIME_GROUPEDGEMM_H
#define REGATHER_RUNTIME_GROUPEDGEMM_H

#include "regather/Runtime/Runtime.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** x has strides of rows and inner, w of groups, inner and outer, y of rows and
 *  outer, ends of groups. Offset and strides count elements. */
typedef struct rg_grouped_gemm_operand {
  /** Number among the buffers of a call; -1 if it has no such operand. */
  int32_t buffer;
  /** RG_F32, RG_BF16 or RG_F16; of ends RG_I32 or RG_I64. */
  int32_t dtype;
  int64_t offset;
  int64_t strides[3];
} rg_grouped_gemm_operand;

typedef struct rg_grouped_gemm_desc {
  int64_t groups, rows, inner, outer;
  /** Nonzero: rows behind all ends get zeros, else NaN. */
  int32_t fills_zeros;
  int32_t reserved; /**< zero */
  /** What is read. */
  rg_grouped_gemm_operand x, w, y, ends;
  /** What is written. */
  rg_grouped_gemm_operand to_x, to_w, to_y;
} rg_grouped_gemm_desc;

/** A grouped GEMM that is ready to run. */
typedef struct rg_grouped_gemm rg_grouped_gemm;

/** Errors: RG_ERROR_ARGUMENT for a type or size that is not allowed, or if what
 *  is written needs an operand that is not there. */
RG_EXPORT rg_status rg_grouped_gemm_create(const rg_grouped_gemm_desc *desc,
                                           rg_grouped_gemm **gemm);

/** The number of tasks that make up the computation, which depends on the
 *  description alone. */
RG_EXPORT int64_t rg_grouped_gemm_tasks(const rg_grouped_gemm *gemm);

/** Bytes of scratch memory that a task needs. */
RG_EXPORT size_t rg_grouped_gemm_scratch(const rg_grouped_gemm *gemm);

/** Runs one task. `scratch` is aligned to 64 bytes, and the task's own.
 *  Errors: RG_ERROR_ARGUMENT for a task that there is not. */
RG_EXPORT rg_status rg_grouped_gemm_run_task(const rg_grouped_gemm *gemm,
                                             void *const *buffers, int64_t task,
                                             void *scratch);

/** Runs all tasks on the calling thread.
 *  Errors: RG_ERROR_ABORTED if there is no memory for scratch. */
RG_EXPORT rg_status rg_grouped_gemm_run(const rg_grouped_gemm *gemm,
                                        void *const *buffers);

RG_EXPORT void rg_grouped_gemm_destroy(rg_grouped_gemm *gemm);

#ifdef __cplusplus
}
#endif

#endif /* REGATHER_RUNTIME_GROUPEDGEMM_H */
