//===- Gemm.cpp - GEMMs of the runtime ------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gemm.h"
#include "CPU/Blocks/BlockKernels.h"
#include "CPU/Scratch.h"
#include "Numeric/Elements.h"

using namespace regather::runtime;

static GemmRoutine *unwrap(rg_gemm *gemm) {
  return reinterpret_cast<GemmRoutine *>(gemm);
}
static const GemmRoutine *unwrap(const rg_gemm *gemm) {
  return reinterpret_cast<const GemmRoutine *>(gemm);
}

static bool isValid(const rg_gemm_operand &operand) {
  return operand.buffer >= 0 && isRoutineFloat(operand.dtype);
}

static bool isValid(const rg_gemm_desc &desc) {
  if (desc.m < 0 || desc.n < 0 || desc.k < 0 || desc.batch_rank < 0 ||
      desc.batch_rank > RG_GEMM_MAX_BATCH || desc.addend_count < 0 ||
      desc.addend_count > RG_GEMM_MAX_ADDENDS)
    return false;
  if (desc.segments < 0 || desc.segments > RG_GEMM_MAX_SEGMENTS ||
      !isRoutineFloat(desc.segment_dtype) ||
      desc.k % getNumSegments(desc) != 0 ||
      (desc.segment_dtype != RG_F32 && desc.segments < 2))
    return false;
  for (int64_t i = 0; i < desc.batch_rank; ++i)
    if (desc.batch_sizes[i] < 0)
      return false;
  for (int32_t i = 0; i < desc.addend_count; ++i)
    if (!isValid(desc.addends[i]))
      return false;
  return isValid(desc.a) && isValid(desc.b) && isValid(desc.c) &&
         desc.a.dtype == desc.b.dtype;
}

bool GemmRoutine::run(void *const *buffers, int64_t task, void *scratch) const {
  int64_t end = tasks.getFirstTile(task + 1);
  for (int64_t tile = tasks.getFirstTile(task); tile < end; ++tile)
    if (!runTile(buffers, tasks.getTile(tile), scratch))
      return false;
  return true;
}

rg_status rg_gemm_create(const rg_gemm_desc *desc, rg_gemm **gemm) {
  if (!desc || !gemm || !isValid(*desc))
    return RG_ERROR_ARGUMENT;
  std::unique_ptr<GemmRoutine> created;
  if (desc->a.dtype == RG_BF16 && !hasPairsOfBF16())
    created = createOneDNNGemm(*desc);
  if (!created)
    created = createBlockedGemm(*desc);
  *gemm = reinterpret_cast<rg_gemm *>(created.release());
  return RG_OK;
}

int64_t rg_gemm_tasks(const rg_gemm *gemm) {
  return gemm ? unwrap(gemm)->getNumTasks() : 0;
}

size_t rg_gemm_scratch(const rg_gemm *gemm) {
  return gemm ? unwrap(gemm)->getScratchBytes() : 0;
}

rg_status rg_gemm_run_task(const rg_gemm *gemm, void *const *buffers,
                           int64_t task, void *scratch) {
  if (!gemm || task < 0 || task >= unwrap(gemm)->getNumTasks())
    return RG_ERROR_ARGUMENT;
  return unwrap(gemm)->run(buffers, task, scratch) ? RG_OK : RG_ERROR_ABORTED;
}

rg_status rg_gemm_run(const rg_gemm *gemm, void *const *buffers) {
  if (!gemm)
    return RG_ERROR_ARGUMENT;
  return runTasks(rg_gemm_tasks(gemm), rg_gemm_scratch(gemm),
                  [&](int64_t task, void *scratch) {
                    return rg_gemm_run_task(gemm, buffers, task, scratch);
                  });
}

void rg_gemm_destroy(rg_gemm *gemm) { delete unwrap(gemm); }
