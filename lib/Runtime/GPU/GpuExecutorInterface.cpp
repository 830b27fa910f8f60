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

/// Calls a function for an executor that is there, and leaves the thread on the
/// device on which the caller has it.
template <typename Call>
static rg_status call(rg_gpu_executor *executor, Call function) {
  if (!executor)
    return RG_ERROR_ARGUMENT;
  CurrentDevice current(unwrap(executor)->getDevice());
  return function(*unwrap(executor));
}

rg_status rg_gpu_executor_create(const rg_gpu_program *program,
                                 const rg_gpu_executor_options *options,
                                 rg_gpu_executor **executor) {
  bool hasProgram = program && program->program;
  return createExecutor<GpuExecutor>(hasProgram ? program : nullptr, options,
                                     executor);
}

void rg_gpu_executor_destroy(rg_gpu_executor *executor) {
  if (!executor)
    return;
  // Left when the device is destroyed, which is last.
  unwrap(executor)->getDevice().enter();
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
  return call(data ? executor : nullptr, [&](GpuExecutor &made) {
    return made.upload(rank, argument, data);
  });
}

rg_status rg_gpu_executor_take(rg_gpu_executor *executor, int32_t rank,
                               int64_t argument, uint64_t address) {
  return call(address ? executor : nullptr, [&](GpuExecutor &made) {
    return made.take(rank, argument, address);
  });
}

rg_status rg_gpu_executor_download(rg_gpu_executor *executor, int32_t rank,
                                   int64_t result, void *data) {
  return call(data ? executor : nullptr, [&](GpuExecutor &made) {
    return made.downloadResult(rank, result, data);
  });
}

rg_status rg_gpu_executor_download_argument(rg_gpu_executor *executor,
                                            int32_t rank, int64_t argument,
                                            void *data) {
  return call(data ? executor : nullptr, [&](GpuExecutor &made) {
    return made.downloadArgument(rank, argument, data);
  });
}

uint64_t rg_gpu_executor_argument_address(const rg_gpu_executor *executor,
                                          int32_t rank, int64_t argument) {
  return executor ? unwrap(executor)->getArgumentAddress(rank, argument) : 0;
}

rg_status rg_gpu_executor_run(rg_gpu_executor *executor) {
  return call(executor, [](GpuExecutor &made) { return made.run(); });
}

rg_status rg_gpu_executor_run_with(rg_gpu_executor *executor,
                                   const rg_gpu_copies *copies) {
  return call(copies ? executor : nullptr,
              [&](GpuExecutor &made) { return made.run(*copies); });
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

const rg_span *rg_gpu_executor_spans(const rg_gpu_executor *executor,
                                     int32_t rank, int64_t *count) {
  const std::vector<rg_span> *spans =
      executor ? unwrap(executor)->getSpans(rank) : nullptr;
  if (count)
    *count = spans ? int64_t(spans->size()) : 0;
  return spans ? spans->data() : nullptr;
}

double rg_gpu_executor_seconds(const rg_gpu_executor *executor, int32_t rank) {
  return unwrap(executor)->getSeconds(rank);
}

int64_t rg_gpu_executor_bytes(const rg_gpu_executor *executor) {
  return executor ? unwrap(executor)->getBytes() : 0;
}

int64_t rg_gpu_executor_touched_bytes(rg_gpu_executor *executor) {
  if (!executor)
    return -1;
  CurrentDevice current(unwrap(executor)->getDevice());
  return unwrap(executor)->findTouchedBytes();
}
