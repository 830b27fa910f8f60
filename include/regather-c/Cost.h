/*===- Cost.h - What operations take ------------------------------*- C -*-===*
 *
 * Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*/

#ifndef REGATHER_C_COST_H
#define REGATHER_C_COST_H

#include "regather-c/Status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The element type of what a kernel multiplies. */
enum RegatherElementType {
  /** It is no GEMM, convolution or attention. */
  RegatherElementNone = 0,
  RegatherElementF32 = 1,
  RegatherElementBF16 = 2,
  RegatherElementF16 = 3,
  RegatherElementF64 = 4
};

/** Seconds of kernels on a device of `cluster`, a name or the path of a file:
    the longer of arithmetic and memory traffic. `flops`, `bytes`, which are not
    negative, `types`, of RegatherElementType, and `seconds`, the result, have
    `count` elements each. */
REGATHER_C_EXPORT RegatherStatus *
regatherComputeSeconds(const char *cluster, uint32_t count, const double *flops,
                       const double *bytes, const uint8_t *types,
                       double *seconds);

enum RegatherCollectiveKind {
  RegatherCollectiveAllGather = 0,
  RegatherCollectiveReduceScatter = 1,
  RegatherCollectiveAllReduce = 2,
  RegatherCollectiveAllToAll = 3,
  RegatherCollectiveBroadcast = 4
};

/** Seconds of `count` collectives, of RegatherCollectiveKind, in each of which
    every rank of one group receives so many bytes. `members` are the ranks of
    the group. */
REGATHER_C_EXPORT RegatherStatus *
regatherCollectiveSeconds(const char *cluster, uint32_t numMembers,
                          const int64_t *members, uint32_t count,
                          const uint8_t *kinds, const double *receivedBytes,
                          double *seconds);

#ifdef __cplusplus
}
#endif

#endif /* REGATHER_C_COST_H */
