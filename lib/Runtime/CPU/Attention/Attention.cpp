//===- Attention.cpp - Attention of the runtime ---------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "CPU/Scratch.h"
#include "Numeric/Elements.h"

#include <cmath>
#include <initializer_list>

using namespace regather::runtime;

static Attention *unwrap(rg_attention *attention) {
  return reinterpret_cast<Attention *>(attention);
}
static const Attention *unwrap(const rg_attention *attention) {
  return reinterpret_cast<const Attention *>(attention);
}

static bool isFloat(const rg_attention_operand &operand) {
  return operand.buffer >= 0 && isRoutineFloat(operand.dtype);
}

static bool isValid(const rg_attention_desc &desc) {
  for (int64_t size : {desc.batch, desc.heads, desc.rows, desc.columns,
                       desc.width, desc.value_width})
    if (size < 0)
      return false;
  if (desc.groups < 1 || desc.heads % desc.groups != 0 || !isFloat(desc.q) ||
      !isFloat(desc.k) || !isFloat(desc.v) || !isFloat(desc.o))
    return false;
  if (!(desc.softcap >= 0) || !std::isfinite(desc.softcap))
    return false;
  bool isLogical = desc.mask.dtype == RG_I1 && desc.mask.buffer >= 0;
  if (desc.masked && !isFloat(desc.mask) && !isLogical)
    return false;
  // Who needs no logarithms has no buffer for them.
  if (desc.l.dtype != RG_F32 || (desc.backward && desc.l.buffer < 0))
    return false;
  if (desc.mask_gradient &&
      (!desc.backward || !desc.masked || isLogical ||
       desc.grad_mask.dtype != RG_F32 || desc.grad_mask.buffer < 0))
    return false;
  return !desc.backward || (isFloat(desc.grad_o) && isFloat(desc.grad_q) &&
                            isFloat(desc.grad_k) && isFloat(desc.grad_v));
}

rg_status rg_attention_create(const rg_attention_desc *desc,
                              rg_attention **attention) {
  if (!desc || !attention || !isValid(*desc))
    return RG_ERROR_ARGUMENT;
  std::unique_ptr<Attention> created = desc->backward
                                           ? createAttentionBackward(*desc)
                                           : createAttentionForward(*desc);
  *attention = reinterpret_cast<rg_attention *>(created.release());
  return RG_OK;
}

int64_t rg_attention_tasks(const rg_attention *attention) {
  return attention ? unwrap(attention)->getNumTasks() : 0;
}

size_t rg_attention_scratch(const rg_attention *attention) {
  return attention ? unwrap(attention)->getScratchBytes() : 0;
}

rg_status rg_attention_run_task(const rg_attention *attention,
                                void *const *buffers, int64_t task,
                                void *scratch) {
  if (!attention || task < 0 || task >= unwrap(attention)->getNumTasks())
    return RG_ERROR_ARGUMENT;
  unwrap(attention)->run(buffers, task, scratch);
  return RG_OK;
}

rg_status rg_attention_run(const rg_attention *attention,
                           void *const *buffers) {
  if (!attention)
    return RG_ERROR_ARGUMENT;
  return runTasks(
      rg_attention_tasks(attention), rg_attention_scratch(attention),
      [&](int64_t task, void *scratch) {
        return rg_attention_run_task(attention, buffers, task, scratch);
      });
}

void rg_attention_destroy(rg_attention *attention) { delete unwrap(attention); }
