//===- SliceAccess.cpp - Reads and writes of instructions -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SliceAccess.h"

#include <algorithm>

using namespace regather::runtime;

/// A GEMM writes where it adds to, too, if an addend lies there.
static SliceAccess getAccess(const rg_gemm_desc &gemm, int32_t i) {
  SliceAccess access;
  access.isWritten = gemm.c.buffer == i;
  access.isRead = gemm.a.buffer == i || gemm.b.buffer == i;
  for (int32_t k = 0; k < std::min(gemm.addend_count, RG_GEMM_MAX_ADDENDS); ++k)
    access.isRead |= gemm.addends[k].buffer == i;
  return access;
}

static SliceAccess getAccess(const rg_attention_desc &call, int32_t i) {
  bool isResult = call.backward
                      ? i == call.grad_q.buffer || i == call.grad_k.buffer ||
                            i == call.grad_v.buffer
                      : i == call.o.buffer || i == call.l.buffer;
  return {!isResult, isResult};
}

SliceAccess regather::runtime::getSliceAccess(const rg_gpu_program &gpu,
                                              const rg_instruction &instruction,
                                              int32_t i) {
  switch (instruction.opcode) {
  case RG_OP_LAUNCH: {
    bool isArgument = i < gpu.kernels[instruction.index].argument_count;
    return {isArgument, !isArgument};
  }
  case RG_OP_GEMM:
    return getAccess(gpu.program->gemms[instruction.index], i);
  case RG_OP_ATTENTION:
    return getAccess(gpu.program->attentions[instruction.index], i);
  case RG_OP_COLLECTIVE:
    return {i % 2 == 0, i % 2 == 1};
  case RG_OP_JUMP_IF_ZERO:
    return {true, false};
  default:
    // The target comes first.
    return {i > 0, i == 0};
  }
}
