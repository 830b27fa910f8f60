//===- LibraryCalls.cpp - Routines that a program calls -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibraryCalls.h"

#include <algorithm>

using namespace regather::runtime;
using regather::Failure;

LibraryCalls::~LibraryCalls() {
  for (rg_gemm *gemm : gemms)
    rg_gemm_destroy(gemm);
  for (rg_attention *attention : attentions)
    rg_attention_destroy(attention);
  for (rg_convolution *convolution : convolutions)
    rg_convolution_destroy(convolution);
  for (rg_grouped_gemm *gemm : groupedGemms)
    rg_grouped_gemm_destroy(gemm);
}

Failure LibraryCalls::create(const rg_program &program) {
  auto fail = [](rg_status status, const char *what, int64_t number) {
    return Failure(what + (' ' + std::to_string(number)) +
                       " of the program is malformed",
                   status);
  };
  auto addScratch = [&](size_t bytes) {
    scratchBytes = std::max(scratchBytes, int64_t(bytes));
  };
  for (int64_t i = 0; i < program.gemm_count; ++i) {
    rg_gemm *gemm = nullptr;
    if (rg_status status = rg_gemm_create(&program.gemms[i], &gemm))
      return fail(status, "GEMM", i);
    gemms.push_back(gemm);
    addScratch(rg_gemm_scratch(gemm));
  }
  for (int64_t i = 0; i < program.attention_count; ++i) {
    rg_attention *attention = nullptr;
    if (rg_status status =
            rg_attention_create(&program.attentions[i], &attention))
      return fail(status, "attention", i);
    attentions.push_back(attention);
    addScratch(rg_attention_scratch(attention));
  }
  for (int64_t i = 0; i < program.convolution_count; ++i) {
    rg_convolution *convolution = nullptr;
    if (rg_status status =
            rg_convolution_create(&program.convolutions[i], &convolution))
      return fail(status, "convolution", i);
    convolutions.push_back(convolution);
    addScratch(rg_convolution_scratch(convolution));
  }
  for (int64_t i = 0; i < program.grouped_gemm_count; ++i) {
    rg_grouped_gemm *gemm = nullptr;
    if (rg_status status =
            rg_grouped_gemm_create(&program.grouped_gemms[i], &gemm))
      return fail(status, "grouped GEMM", i);
    groupedGemms.push_back(gemm);
    addScratch(rg_grouped_gemm_scratch(gemm));
  }
  return Failure();
}

int64_t LibraryCalls::getNumTasks(const rg_instruction &instruction) const {
  auto index = size_t(instruction.index);
  switch (instruction.opcode) {
  case RG_OP_GEMM:
    return rg_gemm_tasks(gemms[index]);
  case RG_OP_ATTENTION:
    return rg_attention_tasks(attentions[index]);
  case RG_OP_GROUPED_GEMM:
    return rg_grouped_gemm_tasks(groupedGemms[index]);
  default:
    return rg_convolution_tasks(convolutions[index]);
  }
}

rg_status LibraryCalls::runTask(const rg_instruction &instruction,
                                void *const *buffers, int64_t task,
                                void *scratch) const {
  auto index = size_t(instruction.index);
  switch (instruction.opcode) {
  case RG_OP_GEMM:
    return rg_gemm_run_task(gemms[index], buffers, task, scratch);
  case RG_OP_ATTENTION:
    return rg_attention_run_task(attentions[index], buffers, task, scratch);
  case RG_OP_GROUPED_GEMM:
    return rg_grouped_gemm_run_task(groupedGemms[index], buffers, task,
                                    scratch);
  default:
    return rg_convolution_run_task(convolutions[index], buffers, task, scratch);
  }
}
