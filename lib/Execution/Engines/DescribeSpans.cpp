//===- DescribeSpans.cpp - What instructions were, for people -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DescribeSpans.h"

using namespace regather;

static bool isNarrow(int32_t dtype) {
  return dtype == RG_BF16 || dtype == RG_F16;
}

/// What computes an instruction, and on what.
static void describeWork(const rg_program &program,
                         const rg_instruction &instruction, RunSpan &span) {
  auto set = [&](RunWork work, int32_t dtype) {
    span.work = work;
    span.isNarrow = isNarrow(dtype);
  };
  switch (instruction.opcode) {
  case RG_OP_LAUNCH:
    return set(RunWork::Kernel, RG_F32);
  case RG_OP_GEMM:
    return set(RunWork::Gemm, program.gemms[instruction.index].a.dtype);
  case RG_OP_ATTENTION:
    return set(RunWork::Attention,
               program.attentions[instruction.index].q.dtype);
  case RG_OP_CONVOLUTION: {
    const rg_convolution_desc &desc = program.convolutions[instruction.index];
    const rg_convolution_operand &read = desc.x.buffer >= 0 ? desc.x : desc.y;
    return set(RunWork::Convolution, read.dtype);
  }
  case RG_OP_COPY:
  case RG_OP_FILL:
    return set(RunWork::Copy, RG_F32);
  default:
    return;
  }
}

/// Descriptions say what an instruction is, and then where it comes from.
static RunSpan describeSpan(const rg_program &program, const rg_span &span) {
  const rg_instruction &instruction = program.instructions[span.instruction];
  RunSpan described;
  switch (instruction.opcode) {
  case RG_OP_COLLECTIVE:
    described.kind = RunSpan::Kind::Communication;
    break;
  case RG_OP_WAIT:
  case RG_OP_SYNC:
    described.kind = RunSpan::Kind::Wait;
    break;
  default:
    break;
  }
  std::string text = instruction.description ? instruction.description : "";
  size_t at = std::min(text.find(" at "), text.size());
  described.name = text.substr(0, at);
  described.place = at < text.size() ? text.substr(at + 4) : "";
  described.stream = instruction.stream;
  describeWork(program, instruction, described);
  described.flops = instruction.flops;
  described.bytes = instruction.bytes;
  described.begin = span.begin;
  described.end = span.end;
  return described;
}

std::vector<RunSpan> regather::describeSpans(const rg_program &program,
                                             const rg_span *spans,
                                             int64_t count) {
  std::vector<RunSpan> described;
  for (int64_t i = 0; i < count; ++i)
    described.push_back(describeSpan(program, spans[i]));
  return described;
}
