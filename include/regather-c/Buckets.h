/*===- Buckets.h - Collectives that start as one ------------------*- C -*-===*
 *
 * Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*
 *
 * The decisions of the pass `tg-bucket-collectives`, on operations by number.
 *
 *===----------------------------------------------------------------------===*/

#ifndef REGATHER_C_BUCKETS_H
#define REGATHER_C_BUCKETS_H

#include "regather-c/ModulePaths.h"
#include "regather-c/Schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Reads a plan such as `[embedding],[layers.*]each`, and writes, by module
    path, the number of its bucket, or REGATHER_C_NONE. Buckets have numbers in
    the order of their first paths. Fails as regatherMatchModules does, and for
    a plan that is malformed. */
REGATHER_C_EXPORT RegatherStatus *
regatherPlanBuckets(const char *plan, const char *what, uint32_t numPaths,
                    const char *const *paths, uint32_t *buckets);

/** Gathers of parameters and reductions of gradients of a timed graph. */
typedef struct RegatherMergeable {
  uint32_t count;
  /** Operations, ascending, that start collectives. */
  const uint32_t *starts;
  /** What has the same key can be one. */
  const uint32_t *keys;
  /** RegatherCollectiveKind. What is no gather is a reduction. */
  const uint8_t *kinds;
  /** Received by each rank, and of the whole tensor; not negative, finite. */
  const double *receivedBytes;
  const int64_t *wholeBytes;
} RegatherMergeable;

typedef struct RegatherBucketOptions {
  /** What times are estimated for: a name or the path of a file. */
  const char *cluster;
  /** By stream of the graph: the ranks of its group. */
  RegatherLists groups;
  /** By operation: it makes something of an argument, or a constant, and can do
      so at any time. */
  const uint8_t *isEarly;
  /** By collective: the number of the bucket that a plan puts it into, or
      REGATHER_C_NONE. Null: as schedules tell; the rest is for these. */
  const uint32_t *planned;
  /** Most bytes of buffers at any place; negative for a twentieth more than the
      peak of the given order. */
  int64_t memoryLimit;
  /** Those of the largest unit. */
  int64_t unitBytes;
  /** Most bytes of whole tensors in a bucket; 0 for those of the largest unit
      or, where nothing is gathered, for what saturates the link. */
  int64_t maxBytes;
  /** Part of the bandwidth that saturates a link, between 0 and 1. */
  double saturation;
  /** Most seconds of computation between the operands of a reduction; 0 to
      leave that to schedules. */
  double maxCompute;
} RegatherBucketOptions;

/** Writes to `parts`, by collective, the smallest number of those that start as
    one with it, and to `order`, which has numOps elements, an order of the
    operations that are left: of each part the start and the wait of that
    collective. `numLeft` is their number. A bucket whose members depend on each
    other is cut. The result is a function of the arguments alone. O(n log n).
    Fails for malformed arrays. */
REGATHER_C_EXPORT RegatherStatus *
regatherBucketCollectives(const RegatherTimedArrays *arrays,
                          const RegatherMergeable *mergeable,
                          const RegatherBucketOptions *options, uint32_t *parts,
                          uint32_t *order, uint32_t *numLeft);

#ifdef __cplusplus
}
#endif

#endif /* REGATHER_C_BUCKETS_H */
