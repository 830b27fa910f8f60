//===- GpuExecutorInterface.cpp - The C interface of the executor ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuExecutor.h"

using namespace regather::runtime;

static GpuExecutor *unwrap(rg_gpu_executor *executor) {
  return unwrapAs<GpuExecutor>(executor);
}
static const GpuExecutor *unwrap(const rg_gpu_executor *executor) {
  return unwrapAs<GpuExecutor>(executor);
}

rg_status rg_gpu_executor_create(const rg_gpu_program *program,
                                 const rg_gpu_executor_options *options,
                                 rg_gpu_executor **executor) {
  bool hasProgram = program && program->program;
  return createExecutor<GpuExecutor>(hasProgram ? program : nullptr, options,
                                     executor);
}

void rg_gpu_executor_destroy(rg_gpu_executor *executor) {
  delete unwrap(executor);
}

const char *rg_gpu_executor_error(const rg_gpu_executor *executor) {
  return executor ? unwrap(executor)->getError() : "";
}

const char *rg_gpu_executor_note(const rg_gpu_executor *executor) {
  return executor ? unwrap(executor)->getNote() : "";
}

rg_failure rg_gpu_executor_failure(const rg_gpu_executor *executor) {
  return unwrap(executor)->getFailure();
}

int32_t rg_gpu_executor_ranks(const rg_gpu_executor *executor) {
  return executor ? unwrap(executor)->getNumRanks() : 0;
}

int32_t rg_gpu_executor_first_rank(const rg_gpu_executor *executor) {
  return executor ? unwrap(executor)->getFirstRank() : 0;
}

const char *rg_gpu_executor_routines(const rg_gpu_executor *executor) {
  return executor ? unwrap(executor)->getRoutines() : "";
}

rg_status rg_gpu_executor_upload(rg_gpu_executor *executor, int32_t rank,
                                 int64_t argument, const void *data) {
  return executor && data ? unwrap(executor)->upload(rank, argument, data)
                          : RG_ERROR_ARGUMENT;
}

rg_status rg_gpu_executor_download(rg_gpu_executor *executor, int32_t rank,
                                   int64_t result, void *data) {
  return executor && data ? unwrap(executor)->downloadResult(rank, result, data)
                          : RG_ERROR_ARGUMENT;
}

rg_status rg_gpu_executor_download_argument(rg_gpu_executor *executor,
                                            int32_t rank, int64_t argument,
                                            void *data) {
  return executor && data
             ? unwrap(executor)->downloadArgument(rank, argument, data)
             : RG_ERROR_ARGUMENT;
}

rg_status rg_gpu_executor_run(rg_gpu_executor *executor) {
  return executor ? unwrap(executor)->run() : RG_ERROR_ARGUMENT;
}

int32_t rg_gpu_job_rank(void) {
  regather::Result<LaunchEnvironment> environment = LaunchEnvironment::read();
  return environment ? environment->rank : -1;
}

rg_status rg_gpu_executor_gather(rg_gpu_executor *executor, const void *data,
                                 int64_t bytes, void *const *parts) {
  return executor
             ? unwrap(executor)->gather(static_cast<const char *>(data), bytes,
                                        reinterpret_cast<char *const *>(parts))
             : RG_ERROR_ARGUMENT;
}

rg_status rg_gpu_executor_agree_to_stop(rg_gpu_executor *executor, int64_t step,
                                        int32_t wants, int32_t *stops) {
  return executor && stops
             ? unwrap(executor)->agreeToStop(step, wants != 0, stops)
             : RG_ERROR_ARGUMENT;
}

double rg_gpu_executor_seconds(const rg_gpu_executor *executor, int32_t rank) {
  return unwrap(executor)->getSeconds(rank);
}

int64_t rg_gpu_executor_bytes(const rg_gpu_executor *executor) {
  return executor ? unwrap(executor)->getBytes() : 0;
}

int64_t rg_gpu_executor_touched_bytes(rg_gpu_executor *executor) {
  return executor ? unwrap(executor)->findTouchedBytes() : -1;
}
