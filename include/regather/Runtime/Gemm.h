/*===- Gemm.h - Matrix products of the runtime --------------------*- C -*-===*\
|*                                                                            *|
|* Part of Regather, under the Apache License v2.0 with LLVM Exceptions.      *|
|* See LICENSE for license information.                                       *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* C = A B, or C += A B, for a batch of strided matrices. oneDNN computes it  *|
|* where the machine has it (it is loaded when the first product is made), a  *|
|* plain loop elsewhere.                                                      *|
|*                                                                            *|
|* A product runs on the thread that calls it: how often the sum over k is    *|
|* split, and with it every bit of the result, depends on the description     *|
|* alone, not on the number of threads.                                       *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef REGATHER_RUNTIME_GEMM_H
#define REGATHER_RUNTIME_GEMM_H

#include "regather/Runtime/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Most dimensions that a batch can have. */
#define RG_GEMM_MAX_BATCH 6

/** A product, for each element of the batch, of an m x k and a k x n matrix.
 *  Strides count elements. */
typedef struct rg_gemm_desc {
  /** Of A and B: RG_F32 or RG_BF16. C is RG_F32. */
  int32_t input_dtype;
  /** Nonzero: C += A B. */
  int32_t accumulate;
  int64_t m, n, k;
  /** Of A along m and k, of B along k and n, of C along m and n. */
  int64_t a_strides[2], b_strides[2], c_strides[2];
  int64_t batch_rank;
  int64_t batch_sizes[RG_GEMM_MAX_BATCH];
  int64_t a_batch_strides[RG_GEMM_MAX_BATCH];
  int64_t b_batch_strides[RG_GEMM_MAX_BATCH];
  int64_t c_batch_strides[RG_GEMM_MAX_BATCH];
} rg_gemm_desc;

/** A product that is ready to run. */
typedef struct rg_gemm rg_gemm;

/** Prepares a product; with oneDNN this generates its code.
 *  Errors: RG_ERROR_ARGUMENT for a type or size that is not allowed. */
RG_EXPORT rg_status rg_gemm_create(const rg_gemm_desc *desc, rg_gemm **gemm);

/** Runs the product. Any number of threads may run one product at a time.
 *  Errors: RG_ERROR_ABORTED if the library fails, as it does without memory. */
RG_EXPORT rg_status rg_gemm_run(const rg_gemm *gemm, const void *a,
                                const void *b, void *c);

/** The name of what computes the product, for reports; static. */
RG_EXPORT const char *rg_gemm_library(const rg_gemm *gemm);

RG_EXPORT void rg_gemm_destroy(rg_gemm *gemm);

#ifdef __cplusplus
}
#endif

#endif /* REGATHER_RUNTIME_GEMM_H */
