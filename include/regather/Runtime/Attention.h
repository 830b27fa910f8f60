/*===- Attention.h - Attention of the runtime ---------------------*- C -*-===*\
|*                                                                            *|
|* Part of Regather, under the Apache License v2.0 with LLVM Exceptions.      *|
|* See LICENSE for license information.                                       *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* For each batch element and head, with the head of K and V that it belongs  *|
|* to:                                                                        *|
|*                                                                            *|
|*   S = scale * Q K^T              softcap * tanh(S / softcap) if capped     *|
|*   S = S + mask                   -inf above the diagonal if it is causal   *|
|*   O = softmax(S) V               zero in rows that are masked as a whole   *|
|*   L = log(sum(exp(S)))           along the columns                         *|
|*                                                                            *|
|* and backward the gradients of Q, K and V for one of O, and on request that *|
|* of the mask. The scores are computed block by block and never stored. All  *|
|* arithmetic is f32.                                                         *|
|*                                                                            *|
|* Blocks whose scores a mask lowers by 1e30 or more are left out, unless all *|
|* that a row sees is so low: what is hidden adds nothing then.               *|
|*                                                                            *|
|* As for GEMMs, tasks and bits depend on the description      *|
|* alone: not on strides, the number of threads or the machine.               *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef REGATHER_RUNTIME_ATTENTION_H
#define REGATHER_RUNTIME_ATTENTION_H

#include "regather/Runtime/Runtime.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A tensor of rank 4: batch, heads, rows, elements. Offset and strides count
 *  elements. A stride of zero repeats what is read. */
typedef struct rg_attention_operand {
  /** Number among the buffers of a call. */
  int32_t buffer;
  /** RG_F32, RG_BF16 or RG_F16; of a mask also RG_I1, where false masks a
   *  score. */
  int32_t dtype;
  int64_t offset;
  int64_t strides[4];
} rg_attention_operand;

typedef struct rg_attention_desc {
  /** Of Q; K and V have `heads` / `groups` heads, each serving `groups` heads
   *  of Q that follow each other. */
  int64_t batch, heads, groups;
  /** Of the scores. */
  int64_t rows, columns;
  /** Of the elements of Q and K, and of those of V and O. */
  int64_t width, value_width;
  float scale;
  /** Bounds scores before they are masked; 0 for none. */
  float softcap;
  /** Nonzero: row i sees columns up to i. */
  int32_t causal;
  /** Nonzero: there is a mask, which is added to the scores. */
  int32_t masked;
  /** Nonzero: computes gradients. O and L are inputs then. */
  int32_t backward;
  /** Nonzero, for backward with a mask of floats: computes the gradient of the
   *  mask. */
  int32_t mask_gradient;
  rg_attention_operand q, k, v, mask, o;
  /** f32, with strides of elements that are not used. Forward leaves it out if
   *  its buffer is -1. */
  rg_attention_operand l;
  /** Of O (an input), Q, K and V; for backward only. */
  rg_attention_operand grad_o, grad_q, grad_k, grad_v;
  /** f32. With a stride of zero along the batch it is a sum over this. */
  rg_attention_operand grad_mask;
} rg_attention_desc;

/** Attention that is ready to run. */
typedef struct rg_attention rg_attention;

/** Errors: RG_ERROR_ARGUMENT for a type or size that is not allowed. */
RG_EXPORT rg_status rg_attention_create(const rg_attention_desc *desc,
                                        rg_attention **attention);

/** The number of tasks that make up the computation. */
RG_EXPORT int64_t rg_attention_tasks(const rg_attention *attention);

/** Bytes of scratch memory that a task needs. */
RG_EXPORT size_t rg_attention_scratch(const rg_attention *attention);

/** Runs one task. `scratch` is aligned to 64 bytes, and the task's own.
 *  Errors: RG_ERROR_ARGUMENT for a task that there is not. */
RG_EXPORT rg_status rg_attention_run_task(const rg_attention *attention,
                                          void *const *buffers, int64_t task,
                                          void *scratch);

/** Runs all tasks on the calling thread.
 *  Errors: RG_ERROR_ABORTED if there is no memory for scratch. */
RG_EXPORT rg_status rg_attention_run(const rg_attention *attention,
                                     void *const *buffers);

RG_EXPORT void rg_attention_destroy(rg_attention *attention);

#ifdef __cplusplus
}
#endif

#endif /* REGATHER_RUNTIME_ATTENTION_H */
