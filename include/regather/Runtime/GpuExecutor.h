/*===- GpuExecutor.h - Runs a step on GPUs ------------------------*- C -*-===*\
|*                                                                            *|
|* Part of Regather, under the Apache License v2.0 with LLVM Exceptions.      *|
|* See LICENSE for license information.                                       *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Runs the tables of GpuProgram.h on one device. Memory, streams, events and *|
|* communicators are made once; a step only enqueues. Arguments stay on the   *|
|* device from step to step, and donated ones are updated in place.           *|
|*                                                                            *|
|* Only loops and conditions wait for the device within a step: the host      *|
|* reads the values that they depend on.                                      *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef REGATHER_RUNTIME_GPUEXECUTOR_H
#define REGATHER_RUNTIME_GPUEXECUTOR_H

#include "regather/Runtime/Executor.h"
#include "regather/Runtime/GpuProgram.h"
#include "regather/Runtime/Store.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The ranks of this process that run one program on one device. */
typedef struct rg_gpu_executor rg_gpu_executor;

/** Which of the algorithms that cuBLASLt proposes computes a GEMM. */
typedef enum rg_gpu_algorithms {
  /** As the environment variable REGATHER_ALGORITHMS says, `first` or `timed`,
   *  or else the first. */
  RG_GPU_ALGORITHMS_DEFAULT = 0,
  RG_GPU_ALGORITHMS_FIRST,
  /** The fastest of the first eight, which are timed when the program is
   *  loaded: in a job by rank 0, for all ranks. */
  RG_GPU_ALGORITHMS_TIMED
} rg_gpu_algorithms;

/** How to run a program. Zero means the default in every field. */
typedef struct rg_gpu_executor_options {
  /** Number of the device, from 0 on. */
  int32_t device;
  /** Number of ranks; 0: as the program says, or else 1. */
  int32_t ranks;
  /** Seconds after which the first step, and a later one, fails if the device
   *  is not done; 0: 300 and 100. In the first step communication is set up. */
  double first_timeout_seconds;
  double timeout_seconds;
  /** Nonzero: arenas are filled with a pattern, by which
   *  rg_gpu_executor_touched_bytes finds what is written. */
  int32_t watch_arena;
  /** Nonzero: the process is one rank of a job that torchrun, mpirun or srun
   *  has started, as the environment says, with a device of its own; `device`
   *  and `ranks` are ignored. Ranks communicate by NCCL. Otherwise all ranks
   *  run in this process and share the device. */
  int32_t one_rank_of_job;
  /** Nonzero: NCCL moves data only, and sums have the bits that ranks of one
   *  process give. */
  int32_t reproducible;
  int32_t algorithms; /**< an rg_gpu_algorithms */
  /** Seconds that the ranks of a job wait for each other at first; 0: 300. */
  double setup_timeout_seconds;
  /** Libraries to open instead of those of the system; null: the environment
   *  variables REGATHER_CUDA_LIBRARY, REGATHER_CUBLASLT_LIBRARY and
   *  REGATHER_NCCL_LIBRARY say which, or else the system does. */
  const char *cuda_library;
  const char *cublaslt_library;
  /** File that keeps which algorithm each GEMM uses, and pins it
   *  for the next run on such a device; null: the environment variable
   *  REGATHER_ALGORITHM_FILE says which, or else `default_algorithm_file`. In
   *  a job, rank 0 reads and writes it. */
  const char *algorithm_file;
  const char *nccl_library;
  /** Of a job: the file for the last collectives if a step fails, to which the
   *  number of the rank and ".json" are added; null: REGATHER_COLLECTIVE_LOG,
   *  or else none. */
  const char *collective_log;
  /** cuDNN, as the libraries above; null: REGATHER_CUDNN_LIBRARY. */
  const char *cudnn_library;
  /** What computes attention: "cudnn" and nothing else, or "generated" kernels;
   *  null: REGATHER_ATTENTION, or else cuDNN does what it can. */
  const char *attention;
  /** The file of algorithms if nothing names one; null for none. That it cannot
   *  be written is no error: rg_gpu_executor_note says so. */
  const char *default_algorithm_file;
  /** For each argument where on the device it lies, aligned to 256 bytes, such
   *  as what rg_gpu_executor_argument_address of another executor on the device
   *  gave, which has to outlive this one; 0: in memory of the executor. Null:
   * all lie there. For one rank. */
  const uint64_t *argument_addresses;
  /** Not null: the process is one rank of a job whose ranks the caller has
   * brought together, and `device` is its own; `one_rank_of_job` and `ranks`
   * are ignored. Functions are copied; what they need outlives the executor.
   * All ranks create their executors, for programs with the same collectives,
   * and run as many steps. A step that does not end never ends the process. */
  const rg_store *store;
  /** Nonzero: steps keep what rg_gpu_executor_spans returns. Two events are
   *  recorded for each instruction, which adds microseconds to each. A program
   *  with CUDA graphs is refused. */
  int32_t record_spans;
} rg_gpu_executor_options;

/** Checks the tables, opens the device and sets up all that steps need. The
 *  program has to outlive the executor. `*executor` is set unless a pointer is
 *  null, and is to be destroyed even if this fails: rg_gpu_executor_error says
 *  why.
 *  Errors: RG_ERROR_ARGUMENT for a null pointer, tables of another version or
 *  that contradict themselves, a number of ranks that the program was not
 *  compiled for, or environment variables of a job that make no sense;
 *  RG_ERROR_MEMORY if the device has not enough free memory;
 *  RG_ERROR_DEVICE if the driver, a device that runs the code, or a library is
 *  missing or too old, or ranks of the job do not arrive. */
RG_EXPORT rg_status rg_gpu_executor_create(
    const rg_gpu_program *program, const rg_gpu_executor_options *options,
    rg_gpu_executor **executor);

/** Frees everything. Null is allowed. */
RG_EXPORT void rg_gpu_executor_destroy(rg_gpu_executor *executor);

/** The message of the first error, without newline at the end; empty if there
 *  was none. Valid until the executor is destroyed. */
RG_EXPORT const char *rg_gpu_executor_error(const rg_gpu_executor *executor);

/** What could not be done when the executor was created but is no error,
 *  without newline at the end; empty for nothing. Valid until the executor is
 *  destroyed. */
RG_EXPORT const char *rg_gpu_executor_note(const rg_gpu_executor *executor);

/** Where the last step failed. */
RG_EXPORT rg_failure rg_gpu_executor_failure(const rg_gpu_executor *executor);

/** Number of ranks of this process; `rank` below is one of them, from 0 on. */
RG_EXPORT int32_t rg_gpu_executor_ranks(const rg_gpu_executor *executor);

/** The number in the job of this process's first rank. */
RG_EXPORT int32_t rg_gpu_executor_first_rank(const rg_gpu_executor *executor);

/** What computes each attention of the program, and why, if that is a generated
 *  kernel: one line each, with newline at the end. Valid until the executor is
 *  destroyed. */
RG_EXPORT const char *rg_gpu_executor_routines(const rg_gpu_executor *executor);

/** Copies an argument to the device, where it stays.
 *  Errors: RG_ERROR_ARGUMENT for a rank or an argument that there is not;
 *  RG_ERROR_DEVICE. */
RG_EXPORT rg_status rg_gpu_executor_upload(rg_gpu_executor *executor,
                                           int32_t rank, int64_t argument,
                                           const void *data);

/** Copies a result of the last step, or the present value of an argument, from
 *  the device.
 *  Errors: as rg_gpu_executor_upload. */
RG_EXPORT rg_status rg_gpu_executor_download(rg_gpu_executor *executor,
                                             int32_t rank, int64_t result,
                                             void *data);
RG_EXPORT rg_status rg_gpu_executor_download_argument(rg_gpu_executor *executor,
                                                      int32_t rank,
                                                      int64_t argument,
                                                      void *data);

/** Runs one step on the arguments that lie on the device. Returns when the
 *  device is done.
 *  Errors: RG_ERROR_DEVICE if a call or the device fails; RG_ERROR_TIMEOUT;
 * from then on every step fails. */
RG_EXPORT rg_status rg_gpu_executor_run(rg_gpu_executor *executor);

/** A place of the host where a value is read or written. */
typedef struct rg_gpu_host_value {
  int64_t number;
  void *data;
} rg_gpu_host_value;

/** What is copied around a step. */
typedef struct rg_gpu_copies {
  /** Arguments that are copied to the device before it. */
  int64_t argument_count;
  const rg_gpu_host_value *arguments;
  /** Results that then take the place of an argument: an update that the step
   *  leaves elsewhere is `updates[i]`, and lies in argument `updated[i]` when
   *  all of them have moved. */
  int64_t update_count;
  const int64_t *updates;
  const int64_t *updated;
  /** Results that are copied to the host after it, as the step left them. */
  int64_t result_count;
  const rg_gpu_host_value *results;
} rg_gpu_copies;

/** Runs one step as rg_gpu_executor_run does, with copies of its only rank
 *  before and after it.
 *  Errors: RG_ERROR_ARGUMENT for a number that there is not, or more than one
 *  rank; as rg_gpu_executor_run. */
RG_EXPORT rg_status rg_gpu_executor_run_with(rg_gpu_executor *executor,
                                             const rg_gpu_copies *copies);

/** Copies an argument from other memory of the device, which work that is
 *  enqueued elsewhere no longer writes to.
 *  Errors: as rg_gpu_executor_upload. */
RG_EXPORT rg_status rg_gpu_executor_take(rg_gpu_executor *executor,
                                         int32_t rank, int64_t argument,
                                         uint64_t address);

/** Where on the device an argument lies; 0 for a rank or an argument that there
 *  is not. */
RG_EXPORT uint64_t rg_gpu_executor_argument_address(
    const rg_gpu_executor *executor, int32_t rank, int64_t argument);

/** What rg_gpu_find_device finds. */
typedef struct rg_gpu_device {
  /** As the driver counts. */
  int32_t number;
  /** Ten times the major number and the minor one, such as 90. */
  int32_t architecture;
} rg_gpu_device;

/** Opens the driver and the device `number`, or -1: the one that the launcher
 * of the process says, by LOCAL_RANK or the like, or 0; and NCCL, if
 * `needsNccl` is not 0. Finds libraries as executors do without options.
 * Returns null, or a text that lists all that is missing, one line each, which
 * the caller frees by free(). cuBLASLt is on the list if there is one. */
RG_EXPORT char *rg_gpu_find_device(int32_t number, int32_t needsNccl,
                                   rg_gpu_device *device);

/** The rank of this process in its job, as the environment says; -1 if that
 *  makes no sense, which rg_gpu_executor_create explains. */
RG_EXPORT int32_t rg_gpu_job_rank(void);

/** Collects bytes of all ranks of a job: on its rank 0 `parts[i]` is where
 * those of rank i go, elsewhere it may be null. All processes call it in the
 * same order with as many bytes. Errors: RG_ERROR_ARGUMENT if the process is no
 * rank of a job; RG_ERROR_TIMEOUT if a rank has ended, or does not come within
 * the seconds that ranks wait for each other at first. */
RG_EXPORT rg_status rg_gpu_executor_gather(rg_gpu_executor *executor,
                                           const void *data, int64_t bytes,
                                           void *const *parts);

/** Asked after each step, by all processes of a job: `stops` becomes 1 if the
 * training is to end after it, else 0. When `wants` of one of them is not 0,
 * all end after the step that follows; a process that is no rank of a job ends
 * at once. Each step has to exchange data between all ranks. One message to
 * rank 0 and back. Errors: RG_ERROR_TIMEOUT if a rank has ended, or does not
 * end after the same step. */
RG_EXPORT rg_status rg_gpu_executor_agree_to_stop(rg_gpu_executor *executor,
                                                  int64_t step, int32_t wants,
                                                  int32_t *stops);

/** Seconds that the last step of a rank took on the device. */
RG_EXPORT double rg_gpu_executor_seconds(const rg_gpu_executor *executor,
                                         int32_t rank);

/** When the device of a rank ran the instructions of the last step, and
 *  `*count`, how many there are; in the order in which they were enqueued, in
 *  seconds since the step began on the first rank of this process. Waits are
 *  not among them. Valid until the next step. Null without `record_spans`. */
RG_EXPORT const rg_span *rg_gpu_executor_spans(const rg_gpu_executor *executor,
                                               int32_t rank, int64_t *count);

/** Bytes of device memory outside of the arguments that each rank holds. */
RG_EXPORT int64_t rg_gpu_executor_bytes(const rg_gpu_executor *executor);

/** The end of the last bytes that were written in the arena of any rank,
 *  rounded up to its alignment. Only with `watch_arena`; otherwise -1. */
RG_EXPORT int64_t rg_gpu_executor_touched_bytes(rg_gpu_executor *executor);

#ifdef __cplusplus
}
#endif

#endif /* REGATHER_RUNTIME_GPUEXECUTOR_H */
