/*===- Convolution.h - Convolutions of the runtime ----------------*- C -*-===*\
|*                                                                            *|
|* Part of Regather, under the Apache License v2.0 with LLVM Exceptions.      *|
|* See LICENSE for license information.                                       *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Tensors x, w and y belong together if y is the convolution of x and w:     *|
|*                                                                            *|
|*   y[n, g, k, i] = sum_{c, s} x[n, g, c, p(i, s)] * w[g, k, c, s]           *|
|*   p(i, s) = i * stride - padding + s * dilation    in each dimension       *|
|*                                                                            *|
|* where x is zero outside of its extents. A call reads some of the three and *|
|* writes some:                                                               *|
|*                                                                            *|
|*   to_y as above, plus a bias                                               *|
|*   to_x the adjoint of this in x, from y and w: the gradient of x, and what *|
|*        a transposed convolution computes, which may have a bias            *|
|*   to_w the adjoint in w, from x and y: the gradient of w                   *|
|*   to_bias  the sums of all but the channels of y, or of x if it is         *|
|*        transposed                                                          *|
|*                                                                            *|
|* Sums are f32; with the bias they round to the type of the result once.     *|
|* Bits depend on the description alone: not on strides in memory, the number *|
|* of threads or the machine, but on the machine for bf16, of which some      *|
|* multiply pairs (the two tensors that are read are both bf16).              *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef REGATHER_RUNTIME_CONVOLUTION_H
#define REGATHER_RUNTIME_CONVOLUTION_H

#include "regather/Runtime/Runtime.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Most dimensions that windows can have. */
#define RG_CONVOLUTION_MAX_RANK 3

/** x and y have strides of the batch, groups, channels of a group, and of the
 *  dimensions of windows; w of groups, outer and inner channels, and of
 * windows; a bias of groups and channels. Offset and strides count elements. */
typedef struct rg_convolution_operand {
  /** Number among the buffers of a call; -1 if it has no such operand. */
  int32_t buffer;
  /** RG_F32, RG_BF16 or RG_F16. */
  int32_t dtype;
  int64_t offset;
  int64_t strides[3 + RG_CONVOLUTION_MAX_RANK];
} rg_convolution_operand;

typedef struct rg_convolution_desc {
  /** Dimensions of windows. */
  int64_t rank;
  /** Each group has `inner` channels of x and `outer` channels of y. */
  int64_t batch, groups, inner, outer;
  /** Of x and of y. */
  int64_t extents[RG_CONVOLUTION_MAX_RANK];
  int64_t counts[RG_CONVOLUTION_MAX_RANK];
  /** Of windows. */
  int64_t sizes[RG_CONVOLUTION_MAX_RANK];
  int64_t strides[RG_CONVOLUTION_MAX_RANK];
  int64_t padding[RG_CONVOLUTION_MAX_RANK];
  int64_t dilation[RG_CONVOLUTION_MAX_RANK];
  /** Nonzero: x is what the layer gives, y what it gets. */
  int32_t transposed;
  int32_t reserved; /**< zero */
  /** What is read. */
  rg_convolution_operand x, w, y, bias;
  /** What is written. */
  rg_convolution_operand to_x, to_w, to_y, to_bias;
} rg_convolution_desc;

/** A convolution that is ready to run. */
typedef struct rg_convolution rg_convolution;

/** Errors: RG_ERROR_ARGUMENT for a type or size that is not allowed, or if what
 *  is written needs an operand that is not there. */
RG_EXPORT rg_status rg_convolution_create(const rg_convolution_desc *desc,
                                          rg_convolution **convolution);

/** The number of tasks that make up the computation. */
RG_EXPORT int64_t rg_convolution_tasks(const rg_convolution *convolution);

/** Bytes of scratch memory that a task needs. */
RG_EXPORT size_t rg_convolution_scratch(const rg_convolution *convolution);

/** Runs one task. `scratch` is aligned to 64 bytes, and the task's own.
 *  Errors: RG_ERROR_ARGUMENT for a task that there is not. */
RG_EXPORT rg_status rg_convolution_run_task(const rg_convolution *convolution,
                                            void *const *buffers, int64_t task,
                                            void *scratch);

/** Runs all tasks on the calling thread.
 *  Errors: RG_ERROR_ABORTED if there is no memory for scratch. */
RG_EXPORT rg_status rg_convolution_run(const rg_convolution *convolution,
                                       void *const *buffers);

RG_EXPORT void rg_convolution_destroy(rg_convolution *convolution);

#ifdef __cplusplus
}
#endif

#endif /* REGATHER_RUNTIME_CONVOLUTION_H */
