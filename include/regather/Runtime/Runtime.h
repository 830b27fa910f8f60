/*===- Runtime.h - The runtime's C interface ----------------------*- C -*-===*\
|*                                                                            *|
|* Part of Regather, under the Apache License v2.0 with LLVM Exceptions.      *|
|* See LICENSE for license information.                                       *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Asynchronous collectives between the ranks of one process. Each rank is a  *|
|* thread of the caller; the data is moved by worker threads of the runtime.  *|
|* Compiled programs call this interface; it needs no LLVM.                   *|
|*                                                                            *|
|* Three promises hold for every program, correct or not:                     *|
|*  - results are a function of the inputs alone, never of timing;            *|
|*  - ranks whose programs disagree get an error that names both places;      *|
|*  - no wait blocks forever.                                                 *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef REGATHER_RUNTIME_RUNTIME_H
#define REGATHER_RUNTIME_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define RG_EXPORT __attribute__((visibility("default")))
#else
#define RG_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*===----------------------------------------------------------------------===*\
|* Element types
\*===----------------------------------------------------------------------===*/

/** Element types. An i1 is one byte that holds 0 or 1. */
typedef enum rg_dtype {
  /** Only as rg_collective.accumulate: f32 for f32, bf16 and f16, else the
   *  element type itself. */
  RG_DTYPE_AUTO = -1,
  RG_F32 = 0,
  RG_F64,
  RG_BF16,
  RG_F16,
  RG_I1,
  RG_I8,
  RG_I16,
  RG_I32,
  RG_I64
} rg_dtype;

/** Size of one element in bytes; 0 for a value that is no element type. */
RG_EXPORT size_t rg_dtype_size(int32_t dtype);

/** The type as MLIR spells it, such as "bf16"; "invalid" for any other value.
 *  The string is static. */
RG_EXPORT const char *rg_dtype_name(int32_t dtype);

/*===----------------------------------------------------------------------===*\
|* Status
\*===----------------------------------------------------------------------===*/

/** What a call reports. rg_world_error has the text. Every status but
 *  RG_ERROR_ARGUMENT is a failure of the whole world: from then on every start
 *  and every wait of every rank returns the status of the first failure. */
typedef enum rg_status {
  RG_OK = 0,
  /** The call was wrong in itself and had no effect. */
  RG_ERROR_ARGUMENT,
  /** Ranks disagree on a collective or on the order of collectives. */
  RG_ERROR_MISMATCH,
  /** Ranks wait for collectives that can never complete. */
  RG_ERROR_DEADLOCK,
  /** A rank waited for longer than the world's timeout. */
  RG_ERROR_TIMEOUT,
  /** rg_world_abort or rg_world_destroy was called, or no worker thread could
   *  be started. */
  RG_ERROR_ABORTED,
  /** There is not enough memory. */
  RG_ERROR_MEMORY,
  /** A device, its driver or a library for it is missing, too old, or has
   *  failed. */
  RG_ERROR_DEVICE
} rg_status;

/** A lowercase word for a status, such as "deadlock"; "invalid" for any other
 *  value. The string is static. */
RG_EXPORT const char *rg_status_name(int32_t status);

/*===----------------------------------------------------------------------===*\
|* World
\*===----------------------------------------------------------------------===*/

/** The ranks of one process, their communicators and the worker threads. */
typedef struct rg_world rg_world;

/** How to create a world. Zero means the default in every field but `ranks`. */
typedef struct rg_world_options {
  /** Number of ranks, at least 1. Memory grows with its square. */
  int32_t ranks;
  /** Number of worker threads; 0: as many as the hardware runs at once. */
  int32_t workers;
  /** Seconds a wait may take before the world fails; 0: 100. Time in which
   *  workers move the data that is waited for does not count. */
  double timeout_seconds;
  /** For experiments: how long collectives take at least. One is complete
   *  `latency_seconds`, and `1 / bandwidth` for each byte that a rank receives,
   *  after its last rank has started it, or after the one before it on the same
   *  group is complete. Bytes are those of an algorithm that moves none twice,
   *  such as 2 (n - 1) / n of an all_reduce's input; a group of one receives
   *  nothing and waits for nothing. In bytes per second; 0: unlimited. Results
   *  are the same. */
  double latency_seconds;
  double bandwidth;
} rg_world_options;

/** Creates a world and starts its workers. On success the caller owns `*world`
 *  and ends it with rg_world_destroy; otherwise `*world` is null.
 *  Errors: RG_ERROR_ARGUMENT for a null pointer, fewer than 1 rank, a negative
 *  number of workers, a timeout, latency or bandwidth that is negative or not
 *  a number;
 *  RG_ERROR_ABORTED if no worker thread could be started. */
RG_EXPORT rg_status rg_world_create(const rg_world_options *options,
                                    rg_world **world);

/** Ends a world: ranks that still wait get RG_ERROR_ABORTED, data movement in
 *  progress is finished, and everything the world owns is freed, futures that
 *  were never waited for included. No other call on the world may begin during
 *  or after this one. Null is allowed. */
RG_EXPORT void rg_world_destroy(rg_world *world);

/** Number of ranks; 0 for null. */
RG_EXPORT int32_t rg_world_ranks(const rg_world *world);

/** The message of the first error of the world or of a call on it, without
 *  newline at the end; empty if there was none. Once it is not empty the string
 *  stays the same, and valid until the world is destroyed. */
RG_EXPORT const char *rg_world_error(const rg_world *world);

/** Makes every present and future wait and start return RG_ERROR_ABORTED,
 *  unless the world failed before. `message` is copied; null means none. */
RG_EXPORT void rg_world_abort(rg_world *world, const char *message);

/** Says that this rank will start nothing more; ranks that wait for it to do so
 *  get RG_ERROR_DEADLOCK at once. The rank may still wait for what it started.
 *  Saying it again changes nothing.
 *  Errors: RG_ERROR_ARGUMENT for a null world or a rank it has not. */
RG_EXPORT rg_status rg_rank_finish(rg_world *world, int32_t rank);

/** Takes rg_rank_finish back, for another round of work. All ranks of the round
 *  are resumed before one of them starts something.
 *  Errors: RG_ERROR_ARGUMENT for a null world or a rank it has not. */
RG_EXPORT rg_status rg_rank_resume(rg_world *world, int32_t rank);

/*===----------------------------------------------------------------------===*\
|* Communicators
\*===----------------------------------------------------------------------===*/

/** One rank's view of one group of ranks. All calls on communicators and
 *  futures of one rank come from one thread at a time. */
typedef struct rg_comm rg_comm;

/** Gives `rank` its view of the group `members[0..count)`, in group order.
 *  Equal lists are the same group, lists in another order another group.
 *  The world owns `*comm`; asking again gives the same pointer.
 *  Errors: RG_ERROR_ARGUMENT for a null pointer, an empty group, a member out
 *  of range or listed twice, a rank that is no member. */
RG_EXPORT rg_status rg_comm_get(rg_world *world, int32_t rank,
                                const int32_t *members, int32_t count,
                                rg_comm **comm);

/** Number of members; 0 for null. */
RG_EXPORT int32_t rg_comm_size(const rg_comm *comm);

/** Position of the communicator's rank in the group; -1 for null. */
RG_EXPORT int32_t rg_comm_position(const rg_comm *comm);

/*===----------------------------------------------------------------------===*\
|* Collectives
\*===----------------------------------------------------------------------===*/

/** Kinds of collectives, for a group of n ranks. Shapes are those of one member
 *  on one rank and equal on all ranks; S stands for ceil(G / n). */
typedef enum rg_kind {
  /** Concatenates shards in group order along `dim`. Input S, output G
   *  elements along `dim`; what lies past G in the shards is dropped. */
  RG_ALL_GATHER = 0,
  /** Reduces, and position r keeps elements r*S and following along `dim`.
   *  Input G, output S elements along `dim`; what lies past G is zero. */
  RG_REDUCE_SCATTER,
  /** Reduces, and every rank gets the result. Input and output shapes agree. */
  RG_ALL_REDUCE,
  /** Cuts the input into n pieces along `split_dim`, sends piece j to position
   *  j and concatenates what arrives in group order along `concat_dim`.
   *  Input D and C elements along the two, output ceil(D / n) and C', with
   *  C = ceil(C' / n); padded with zeros past D, cut off past C'. If the two
   *  are one dimension its size is divisible by n and shapes agree. */
  RG_ALL_TO_ALL,
  /** Gives every rank the input of the position `root`. Shapes agree. */
  RG_BROADCAST,
  /** Position targets[i] gets the input of position sources[i]; a position that
   *  is no target gets zeros. Shapes agree. */
  RG_PERMUTE
} rg_kind;

/** How contributions are combined: in group order, ((c0 + c1) + c2) + ..., in
 *  the accumulation type, then rounded once to the element type (to nearest,
 *  ties to even). A result that is no number is the positive quiet NaN with
 *  payload zero. Integers wrap around; for i1 sum is exclusive or. */
typedef enum rg_reduction {
  RG_SUM = 0,
  /** The sum divided by n in the accumulation type. Not for integers. */
  RG_AVG,
  /** IEEE 754 maximum: NaN if any contribution is NaN, and +0 is above -0.
   *  Integers are signed; for i1 it is or. */
  RG_MAX
} rg_reduction;

/** One tensor of a collective: dense, row-major. */
typedef struct rg_member {
  int32_t dtype; /**< an rg_dtype */
  int32_t rank;  /**< number of dimensions */
  /** `rank` sizes each, in elements. May be null if `rank` is 0. */
  const int64_t *input_shape;
  const int64_t *output_shape;
  /** Aligned to the element size; may be null if there are no elements.
   *
   *  Input and output may overlap in three cases: an all_reduce in place; an
   *  all_gather or reduce_scatter along the outermost dimension of which the
   *  shard lies at the rank's own place in the gathered buffer; a broadcast in
   *  place. */
  const void *input;
  void *output;
} rg_member;

/** One collective as one rank sees it. Fields that the kind does not use are
 *  ignored. */
typedef struct rg_collective {
  int32_t kind;      /**< an rg_kind */
  int32_t reduction; /**< an rg_reduction: reduce_scatter, all_reduce */
  /** An rg_dtype: reduce_scatter, all_reduce. RG_DTYPE_AUTO, or RG_F32 or
   *  RG_F64 and at least as wide as each floating-point member. Integers
   *  accumulate in their own type whatever it says. */
  int32_t accumulate;
  int32_t root;       /**< a group position: broadcast */
  int64_t dim;        /**< a dimension: all_gather, reduce_scatter */
  int64_t split_dim;  /**< a dimension: all_to_all */
  int64_t concat_dim; /**< a dimension: all_to_all */
  /** `pair_count` group positions each, none twice in one list: permute. */
  const int32_t *sources;
  const int32_t *targets;
  int64_t pair_count;
  /** Tensors that travel together; none makes a mere rendezvous. */
  const rg_member *members;
  int64_t member_count;
  /** Operation and source location, for messages. May be null and may differ
   *  between ranks. Not copied: it lives as long as the world. */
  const char *name;
  /** Identity of the operation in the program, equal on all ranks. */
  uint64_t tag;
} rg_collective;

/** A collective that one rank has started. */
typedef struct rg_future rg_future;

/** Starts a collective and returns without waiting for other ranks. The k-th
 *  collective that a rank starts on a group is matched with the k-th of every
 *  other member, and any two ranks start those that they share in one order.
 *
 *  Shapes and lists are copied. Inputs are to stay unchanged, and outputs
 *  untouched, until rg_wait has returned or the world is destroyed. The caller
 *  owns `*future` and gives it to rg_wait; it is null on error.
 *  Errors: RG_ERROR_ARGUMENT for a null pointer, a kind, type, shape, dimension
 *  or position that is not allowed, a rank that is finished; RG_ERROR_MISMATCH
 *  if other ranks disagree; or the earlier failure of the world. */
RG_EXPORT rg_status rg_start(rg_comm *comm, const rg_collective *collective,
                             rg_future **future);

/** Blocks until the outputs are written and no rank reads this rank's inputs
 * any more. Frees the future, whatever it returns; after an error, too, nobody
 *  touches the buffers any more, but outputs are undefined.
 *  Errors: RG_ERROR_ARGUMENT for null; or the failure of the world. */
RG_EXPORT rg_status rg_wait(rg_future *future);

/** When the data of a collective was moved, in seconds of the system's
 * monotonic clock (std::chrono::steady_clock). */
typedef struct rg_collective_times {
  /** The last rank of the group has started it. */
  double begin;
  /** Outputs are written, and have arrived if links are injected. */
  double end;
} rg_collective_times;

/** rg_wait that also says when the data was moved. On error `*flight` stays as
 *  it is. Null for it is allowed. */
RG_EXPORT rg_status rg_wait_timed(rg_future *future,
                                  rg_collective_times *times);

/** Sets `*done` to 1 if rg_wait would return RG_OK at once, else to 0. Never
 *  blocks; frees nothing.
 *  Errors: RG_ERROR_ARGUMENT for a null pointer; or the failure of the world.
 */
RG_EXPORT rg_status rg_test(rg_future *future, int32_t *done);

#ifdef __cplusplus
}
#endif

#endif /* REGATHER_RUNTIME_RUNTIME_H */
