/*===- Executor.h - Run a compiled step ---------------------------*- C -*-===*\
|*                                                                            *|
|* Part of Regather, under the Apache License v2.0 with LLVM Exceptions.      *|
|* See LICENSE for license information.                                       *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Runs the tables of Program.h on all ranks of this process, or on one rank  *|
|* of a job whose other ranks run elsewhere. Each rank is a thread with an    *|
|* arena and helpers of its own, all of which are made once, before the first *|
|* step.                                                                      *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef REGATHER_RUNTIME_EXECUTOR_H
#define REGATHER_RUNTIME_EXECUTOR_H

#include "regather/Runtime/Program.h"
#include "regather/Runtime/Transport.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The ranks of this process that run one program. */
typedef struct rg_executor rg_executor;

/** How to run a program. Zero means the default in every field. */
typedef struct rg_executor_options {
  /** Number of ranks; 0: as the program says, or else 1. In a job, 0 or the
   *  number of its ranks. */
  int32_t ranks;
  /** Threads on which a rank computes, its own included; 0: as many as the
   *  hardware runs at once, divided by the number of ranks, as if all ranks of
   *  a job ran on this machine. Has no effect on results. */
  int32_t threads;
  /** Seconds a wait may take before the step fails; 0: 100. */
  double timeout_seconds;
  /** Nonzero: arenas are filled with a pattern, by which
   *  rg_executor_touched_bytes finds what is written. */
  int32_t watch_arena;
  /** How long collectives take at least, as in rg_world_options; 0: no longer
   *  than it takes to move the data. */
  double latency_seconds;
  double bandwidth;
  /** Nonzero: steps keep what rg_executor_spans returns. */
  int32_t record_spans;
  /** Not null: this is one rank of a job, and reaches the others by these
   *  functions, which are copied; what they need outlives the executor. All
   *  ranks create their executors, for programs with the same collectives, and
   *  run as many steps. In all that follows the executor has one rank, number
   *  0; only messages and rg_failure.rank say which one of the job it is.
   *  Latency and bandwidth have no effect. */
  const rg_transport *transport;
  /** Nonzero: messages of the transport carry a checksum, and one that comes
   *  damaged, twice or in place of another one fails with RG_ERROR_ABORTED. All
   *  ranks of a job say the same. */
  int32_t check_messages;
  /** How long copies to and from the host take at least, in bytes per second in
   *  each direction; 0: no longer than it takes to move the data. */
  double host_bandwidth;
} rg_executor_options;

/** When an instruction was run. */
typedef struct rg_span {
  int64_t instruction;
  /** Seconds since the step began on the first rank. Of a collective: when its
   *  data was moved. Of a wait: when the rank was blocked. */
  double begin, end;
} rg_span;

/** Where a step failed. */
typedef struct rg_failure {
  int32_t status; /**< an rg_status */
  int32_t rank;
  /** Number of the instruction; -1 if it was none. */
  int64_t instruction;
} rg_failure;

/** Checks the tables and sets up all that steps need. The program has to
 *  outlive the executor. `*executor` is set unless a pointer is null, and is to
 *  be destroyed even if this fails: rg_executor_error says why.
 *  Errors: RG_ERROR_ARGUMENT for a null pointer, tables of another version or
 *  that contradict themselves, a number of ranks that the program was not
 *  compiled for; RG_ERROR_MEMORY if the machine has not enough of it;
 *  RG_ERROR_ABORTED if threads cannot be started. In a job, too:
 *  RG_ERROR_MISMATCH if another rank has a program with other collectives,
 *  RG_ERROR_ABORTED or RG_ERROR_TIMEOUT if one is gone or says nothing. */
RG_EXPORT rg_status rg_executor_create(const rg_program *program,
                                       const rg_executor_options *options,
                                       rg_executor **executor);

/** Joins all threads and frees everything. Null is allowed. */
RG_EXPORT void rg_executor_destroy(rg_executor *executor);

/** The message of the first error, without newline at the end; empty if there
 *  was none. Valid until the executor is destroyed. */
RG_EXPORT const char *rg_executor_error(const rg_executor *executor);

/** Where the last step failed; of several ranks the first that was not stopped
 *  by another. */
RG_EXPORT rg_failure rg_executor_failure(const rg_executor *executor);

RG_EXPORT int32_t rg_executor_ranks(const rg_executor *executor);

/** Threads on which each rank computes, its own included. */
RG_EXPORT int32_t rg_executor_threads(const rg_executor *executor);

/** Runs one step. `arguments[rank][i]` is aligned to the element size; only
 *  donated arguments are written. No two arguments overlap if one of them is
 *  donated. `results[rank][i]` is memory for result i, aligned likewise, that
 *  overlaps nothing else; only those of space RG_SPACE_RESULT are looked at,
 *  and without one `results` may be null. Returns when all ranks have ended.
 *  Errors: RG_ERROR_ARGUMENT for a null pointer, which nothing follows from; as
 *  rg_wait, or RG_ERROR_ARGUMENT if an index was out of bounds: from then on
 *  every step fails. */
RG_EXPORT rg_status rg_executor_run(rg_executor *executor,
                                    void *const *const *arguments,
                                    void *const *const *results);

/** Sends bytes of every rank of a job to the rank `to`, or to all if `to` is
 *  negative: where a rank gets them, `parts[i]` has room for those of rank i;
 *  elsewhere `parts` may be null. All ranks call it at the same point between
 *  steps, with as many bytes; with none, and `to` negative, they wait for each
 *  other. Without a transport, `parts[0]` is all there is. Fails as
 *  rg_executor_run does, and with RG_ERROR_MISMATCH if a rank sends another
 *  number of bytes. */
RG_EXPORT rg_status rg_executor_gather(rg_executor *executor, const void *data,
                                       int64_t bytes, int32_t to,
                                       void *const *parts);

/** The bytes of a result of the last step, in the arena, an argument, a
 *  constant or memory of the caller; valid until the next step. */
RG_EXPORT const void *rg_executor_result(const rg_executor *executor,
                                         int32_t rank, int64_t result);

/** Seconds for which a rank was blocked in the last step by collectives that
 *  were not complete: what communication adds to the step. */
RG_EXPORT double rg_executor_wait_seconds(const rg_executor *executor,
                                          int32_t rank);

/** When a rank ran the instructions of the last step, collectives among them,
 * and
 *  `*count`, how many there are; in the order in which they were found to be
 *  done. Valid until the next step. Null without `record_spans`. */
RG_EXPORT const rg_span *rg_executor_spans(const rg_executor *executor,
                                           int32_t rank, int64_t *count);

/** Bytes of memory outside of the arguments that each rank holds: its arenas,
 *  and scratch memory of its threads. */
RG_EXPORT int64_t rg_executor_bytes(const rg_executor *executor);

/** The end of the last bytes that were written in the arena of any rank,
 *  rounded up to its alignment. Only with `watch_arena`; otherwise -1. */
RG_EXPORT int64_t rg_executor_touched_bytes(const rg_executor *executor);

/** The same in the arena of the host. */
RG_EXPORT int64_t rg_executor_touched_host_bytes(const rg_executor *executor);

#ifdef __cplusplus
}
#endif

#endif /* REGATHER_RUNTIME_EXECUTOR_H */
