/*===- Schedule.h - Orders that hide communication ----------------*- C -*-===*
 *
 * Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*
 *
 * The analysis of the pass `tg-schedule`, on operations by number. All ranks
 * run the same program. Computation runs in the order in which it is issued; a
 * collective runs beside it, on a stream, and its wait holds computation up.
 *
 *===----------------------------------------------------------------------===*/

#ifndef REGATHER_C_SCHEDULE_H
#define REGATHER_C_SCHEDULE_H

#include "regather-c/Status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum RegatherOpKind {
  RegatherOpCompute = 0,
  RegatherOpCollective = 1,
  RegatherOpWait = 2
};

/** Short lists, one after the other: those of list i are the elements from
    begins[i] to begins[i + 1] - 1; the first one begins at 0. */
typedef struct RegatherLists {
  const uint32_t *begins;
  const uint32_t *elements;
} RegatherLists;

/** The lengths are those of the counts. The library copies what it keeps. */
typedef struct RegatherTimedArrays {
  uint32_t numOps;
  /** By operation: RegatherOpKind; what it takes, in seconds, if nothing else
      runs. Of collectives and their waits: the stream. Of waits: the
      collective. Each collective has one wait. */
  const uint8_t *kinds;
  const double *seconds;
  const uint32_t *streams;
  const uint32_t *collectives;
  /** By operation: what comes before it in every order; smaller numbers. A wait
      has its collective and nothing else. */
  RegatherLists predecessors;
  uint32_t numStreams;
  /** By stream: others whose collectives must not be in flight beside its own.
      Symmetric. */
  RegatherLists conflicts;
  uint32_t numBuffers;
  /** By buffer: its size, the operation that writes it first, whether it holds
      a result, and the operations after the last of which it is free. What a
      collective reads and writes is in use until its wait. */
  const int64_t *bufferBytes;
  const uint32_t *bufferWriters;
  const uint8_t *bufferLiveOut;
  RegatherLists bufferUsers;
} RegatherTimedArrays;

typedef struct RegatherScheduleOptions {
  /** Most bytes of buffers at any place; negative for `memoryRatio`, at least
      1, times the peak of the given order. */
  int64_t memoryLimit;
  double memoryRatio;
  /** Most collectives in flight on one stream; 0 for any number. */
  uint32_t inFlight;
  /** Work of the local search for each operation; 0 for none. */
  uint32_t effort;
  /** Not 0: streams that conflict may have collectives in flight together. */
  uint32_t allowsConflicts;
} RegatherScheduleOptions;

/** What a step takes in some order. */
typedef struct RegatherScore {
  double seconds;
  /** Of these, how long computation waits. */
  double exposedSeconds;
  int64_t peakBytes;
} RegatherScore;

/** Writes an order of all operations to `order`, which has numOps elements, and
    what it takes, and what the given order takes. The result is a function of
    the arguments alone and never takes longer than the given order.
    O(n log n). Fails for malformed arrays, and if no order that is known keeps
    to the limit. */
REGATHER_C_EXPORT RegatherStatus *
regatherSchedule(const RegatherTimedArrays *arrays,
                 const RegatherScheduleOptions *options, uint32_t *order,
                 RegatherScore *score, RegatherScore *given);

#ifdef __cplusplus
}
#endif

#endif /* REGATHER_C_SCHEDULE_H */
