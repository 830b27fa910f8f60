//===- ProgramCheck.cpp - Tables that make sense --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramCheck.h"

#include <algorithm>
#include <optional>
#include <tuple>

using namespace regather::runtime;

/// Bytes of a dense tensor; nothing if no memory can hold it.
static std::optional<int64_t> computeBytes(int32_t dtype, int32_t rank,
                                           const int64_t *shape) {
  auto bytes = int64_t(rg_dtype_size(dtype));
  if (bytes == 0 || rank < 0)
    return std::nullopt;
  bool isEmpty = false;
  for (int32_t d = 0; d < rank; ++d) {
    if (shape[d] < 0)
      return std::nullopt;
    isEmpty |= shape[d] == 0;
  }
  // An empty one has no bytes, whatever its other dimensions are.
  for (int32_t d = 0; d < rank && !isEmpty; ++d)
    if (__builtin_mul_overflow(bytes, shape[d], &bytes))
      return std::nullopt;
  return isEmpty ? 0 : bytes;
}

int64_t rg_value_bytes(const rg_value *value) {
  return computeBytes(value->dtype, value->rank, value->shape).value_or(-1);
}

int32_t rg_slice_on_host(const rg_program *program, const rg_slice *slice) {
  bool isOnHost = slice->space == RG_SPACE_HOST ||
                  (slice->space == RG_SPACE_ARGUMENT &&
                   program->arguments[slice->index].on_host);
  return isOnHost ? 1 : 0;
}

int64_t rg_argument_bytes(const rg_program *program, int32_t host) {
  int64_t sum = 0;
  for (int64_t i = 0; i < program->argument_count; ++i) {
    if ((program->arguments[i].on_host != 0) != (host != 0))
      continue;
    int64_t bytes = rg_value_bytes(&program->arguments[i]);
    if (bytes < 0 || __builtin_add_overflow(sum, bytes, &sum))
      return -1;
  }
  return sum;
}

namespace {
class Checker {
public:
  Checker(const rg_program &program, KernelCode code)
      : program(program), code(code) {}

  std::string check();

private:
  bool checkTables();
  bool checkSlice(const rg_slice &slice, const std::string &where);
  bool checkInstruction(int64_t number);
  bool checkIndex(const rg_instruction &instruction, int64_t count,
                  const char *table, const std::string &where);
  bool checkSliceCount(const rg_instruction &instruction,
                       const std::string &where);
  bool checkBuffers(const rg_instruction &instruction,
                    const std::string &where);
  bool checkCollective(const rg_collective &collective, const rg_slice *slices,
                       const std::string &where);
  bool fail(const std::string &message) {
    problem = message;
    return false;
  }

  const rg_program &program;
  KernelCode code;
  std::string problem;
};
} // namespace

std::string Checker::check() {
  if (program.version != RG_PROGRAM_VERSION) {
    fail("the program has version " + std::to_string(program.version) +
         ", but this runtime runs version " +
         std::to_string(RG_PROGRAM_VERSION));
    return problem;
  }
  if (!checkTables())
    return problem;
  for (int64_t i = 0; i < program.result_count; ++i) {
    std::string where = "result " + std::to_string(i);
    if (!checkSlice(program.results[i].slice, where))
      return problem;
    bool liesOnHost = rg_slice_on_host(&program, &program.results[i].slice);
    if (liesOnHost != (program.results[i].on_host != 0)) {
      fail(where + (liesOnHost ? " lies on the host, and does not say so"
                               : " says that it lies on the host"));
      return problem;
    }
  }
  for (int64_t i = 0; i < program.instruction_count; ++i)
    if (!checkInstruction(i))
      return problem;
  return problem;
}

bool Checker::checkTables() {
  int64_t alignment = program.arena_alignment;
  if (program.arena_bytes < 0 || program.host_arena_bytes < 0 ||
      alignment < 1 || alignment > 4096 || (alignment & (alignment - 1)) != 0)
    return fail("the arena has " + std::to_string(program.arena_bytes) +
                " bytes, and " + std::to_string(program.host_arena_bytes) +
                " on the host, aligned to " + std::to_string(alignment));
  if (program.ranks < 0 || program.stream_count < 1 ||
      program.event_count < 0 || program.loop_count < 0)
    return fail("the program has a negative number of ranks, streams, events "
                "or loops");
  const std::pair<int64_t, const void *> tables[] = {
      {program.argument_count, program.arguments},
      {program.result_count, program.results},
      {program.constant_count, program.constants},
      {program.kernel_count, program.kernels},
      {program.gemm_count, program.gemms},
      {program.attention_count, program.attentions},
      {program.convolution_count, program.convolutions},
      {program.grouped_gemm_count, program.grouped_gemms},
      {program.axes_count, program.axes},
      {program.collective_count, program.collectives},
      {program.slice_count, program.slices},
      {program.instruction_count, program.instructions}};
  for (auto [count, table] : tables)
    if (count < 0 || (count > 0 && !table))
      return fail("a table of the program is missing");
  for (auto [count, values, what] :
       {std::tuple{program.argument_count, program.arguments, "argument "},
        std::tuple{program.result_count, program.results, "result "}})
    for (int64_t i = 0; i < count; ++i)
      if (!computeBytes(values[i].dtype, values[i].rank, values[i].shape))
        return fail(what + std::to_string(i) +
                    " has a shape that no memory can hold");
  for (int64_t i = 0; i < program.kernel_count; ++i) {
    const rg_kernel &kernel = program.kernels[i];
    bool hasCode = code == KernelCode::Device || kernel.function;
    if (!hasCode || kernel.rows < 0 || kernel.grain < 1 ||
        kernel.scratch_bytes < 0)
      return fail("kernel " + std::to_string(i) + " is malformed");
  }
  for (int64_t i = 0; i < program.collective_count; ++i)
    if (program.collectives[i].axes < 0 ||
        program.collectives[i].axes >= program.axes_count)
      return fail("transfer " + std::to_string(i) + " has no axes");
  return true;
}

bool Checker::checkSlice(const rg_slice &slice, const std::string &where) {
  int64_t bytes = -1;
  if (slice.space == RG_SPACE_ARENA)
    bytes = program.arena_bytes;
  else if (slice.space == RG_SPACE_HOST)
    bytes = program.host_arena_bytes;
  else if (slice.space == RG_SPACE_CONSTANT && slice.index >= 0 &&
           slice.index < program.constant_count)
    bytes = program.constants[slice.index].bytes;
  else if (slice.space == RG_SPACE_ARGUMENT && slice.index >= 0 &&
           slice.index < program.argument_count)
    bytes = rg_value_bytes(&program.arguments[slice.index]);
  else if (slice.space == RG_SPACE_RESULT && slice.index >= 0 &&
           slice.index < program.result_count) {
    if (code == KernelCode::Device)
      return fail(where + " lies in memory of the caller, which is not memory "
                          "of a device");
    bytes = rg_value_bytes(&program.results[slice.index]);
  }
  if (slice.bytes < 0 || slice.offset < 0 || slice.bytes > bytes ||
      slice.offset > bytes - slice.bytes)
    return fail(where + " lies outside of its buffer");
  return true;
}

bool Checker::checkIndex(const rg_instruction &instruction, int64_t count,
                         const char *table, const std::string &where) {
  if (instruction.index >= 0 && instruction.index < count)
    return true;
  return fail(where + ": there is no " + table + " " +
              std::to_string(instruction.index));
}

/// The buffers that a library call names are slices of the instruction.
bool Checker::checkBuffers(const rg_instruction &instruction,
                           const std::string &where) {
  int32_t last = 0;
  bool isNegative = false;
  auto add = [&](int32_t buffer) {
    last = std::max(last, buffer);
    isNegative |= buffer < 0;
  };
  if (instruction.opcode == RG_OP_GEMM) {
    const rg_gemm_desc &gemm = program.gemms[instruction.index];
    for (const rg_gemm_operand *operand : {&gemm.a, &gemm.b, &gemm.c})
      add(operand->buffer);
    for (int32_t i = 0; i < std::min(gemm.addend_count, RG_GEMM_MAX_ADDENDS);
         ++i)
      add(gemm.addends[i].buffer);
  } else if (instruction.opcode == RG_OP_CONVOLUTION) {
    const rg_convolution_desc &call = program.convolutions[instruction.index];
    // Which of them are there is checked when the call is prepared.
    for (const rg_convolution_operand *operand :
         {&call.x, &call.w, &call.y, &call.bias, &call.to_x, &call.to_w,
          &call.to_y, &call.to_bias})
      if (operand->buffer != -1)
        add(operand->buffer);
  } else if (instruction.opcode == RG_OP_GROUPED_GEMM) {
    const rg_grouped_gemm_desc &call = program.grouped_gemms[instruction.index];
    for (const rg_grouped_gemm_operand *operand :
         {&call.x, &call.w, &call.y, &call.to_x, &call.to_w, &call.to_y})
      if (operand->buffer != -1)
        add(operand->buffer);
    add(call.ends.buffer);
  } else {
    const rg_attention_desc &call = program.attentions[instruction.index];
    for (const rg_attention_operand *operand :
         {&call.q, &call.k, &call.v, &call.mask, &call.o, &call.grad_o,
          &call.grad_q, &call.grad_k, &call.grad_v, &call.grad_mask})
      add(operand->buffer);
    // Forward need not write logarithms.
    if (call.backward || call.l.buffer != -1)
      add(call.l.buffer);
  }
  if (!isNegative && last < instruction.slice_count)
    return true;
  return fail(where + " has " + std::to_string(instruction.slice_count) +
              " places, but uses buffer " + std::to_string(last));
}

bool Checker::checkSliceCount(const rg_instruction &instruction,
                              const std::string &where) {
  int64_t expected = 0;
  switch (instruction.opcode) {
  case RG_OP_LAUNCH:
    return true;
  case RG_OP_GEMM:
  case RG_OP_ATTENTION:
  case RG_OP_CONVOLUTION:
  case RG_OP_GROUPED_GEMM:
    return checkBuffers(instruction, where);
  case RG_OP_COLLECTIVE:
    expected =
        2 * program.collectives[instruction.index].collective.member_count;
    break;
  case RG_OP_LOOP:
    expected = 4;
    break;
  case RG_OP_COPY:
  case RG_OP_FILL:
    expected = 2;
    break;
  case RG_OP_AXIS_INDEX:
  case RG_OP_JUMP_IF_ZERO:
  case RG_OP_NEXT:
    expected = 1;
    break;
  default:
    break;
  }
  if (instruction.slice_count != expected)
    return fail(where + " has " + std::to_string(instruction.slice_count) +
                " places, expects " + std::to_string(expected));
  const rg_slice *slices = program.slices + instruction.first_slice;
  if (instruction.opcode == RG_OP_COPY && slices[0].bytes != slices[1].bytes)
    return fail(where + " copies " + std::to_string(slices[1].bytes) +
                " bytes to " + std::to_string(slices[0].bytes));
  if (instruction.opcode == RG_OP_FILL &&
      (slices[1].bytes == 0 || slices[0].bytes % slices[1].bytes != 0))
    return fail(where + " fills " + std::to_string(slices[0].bytes) +
                " bytes with elements of " + std::to_string(slices[1].bytes));
  if (instruction.opcode == RG_OP_AXIS_INDEX && slices[0].bytes != 8)
    return fail(where + " writes a position to " +
                std::to_string(slices[0].bytes) + " bytes");
  if (instruction.opcode == RG_OP_COLLECTIVE)
    return checkCollective(program.collectives[instruction.index].collective,
                           slices, where);
  return true;
}

bool Checker::checkCollective(const rg_collective &collective,
                              const rg_slice *slices,
                              const std::string &where) {
  for (int64_t i = 0; i < collective.member_count; ++i) {
    const rg_member &member = collective.members[i];
    if (slices[2 * i].bytes !=
            computeBytes(member.dtype, member.rank, member.input_shape) ||
        slices[2 * i + 1].bytes !=
            computeBytes(member.dtype, member.rank, member.output_shape))
      return fail(where + ": member " + std::to_string(i) +
                  " has places of another size than its shapes");
  }
  return true;
}

bool Checker::checkInstruction(int64_t number) {
  const rg_instruction &instruction = program.instructions[number];
  std::string where = "instruction " + std::to_string(number);
  if (instruction.stream < 0 || instruction.stream >= program.stream_count)
    return fail(where + ": there is no stream " +
                std::to_string(instruction.stream));
  if (instruction.slice_count < 0 || instruction.first_slice < 0 ||
      instruction.first_slice > program.slice_count - instruction.slice_count)
    return fail(where + " has places that are not in the table");
  if (!(instruction.flops >= 0) || instruction.bytes < 0)
    return fail(where + " has a negative cost");
  for (int64_t i = 0; i < instruction.slice_count; ++i) {
    const rg_slice &slice = program.slices[instruction.first_slice + i];
    std::string place = "place " + std::to_string(i) + " of " + where;
    if (!checkSlice(slice, place))
      return false;
    if (rg_slice_on_host(&program, &slice) && instruction.opcode != RG_OP_COPY)
      return fail(place + " lies on the host, which only copies touch");
  }
  switch (instruction.opcode) {
  case RG_OP_LAUNCH:
    if (!checkIndex(instruction, program.kernel_count, "kernel", where))
      return false;
    break;
  case RG_OP_GEMM:
    if (!checkIndex(instruction, program.gemm_count, "GEMM", where))
      return false;
    break;
  case RG_OP_ATTENTION:
    if (!checkIndex(instruction, program.attention_count, "attention", where))
      return false;
    break;
  case RG_OP_CONVOLUTION:
    if (!checkIndex(instruction, program.convolution_count, "convolution",
                    where))
      return false;
    if (code == KernelCode::Device)
      return fail(where + " is a convolution, which devices do not have");
    break;
  case RG_OP_GROUPED_GEMM:
    if (!checkIndex(instruction, program.grouped_gemm_count, "grouped GEMM",
                    where))
      return false;
    if (code == KernelCode::Device)
      return fail(where + " is a grouped GEMM, which devices do not have");
    break;
  case RG_OP_COLLECTIVE:
    if (!checkIndex(instruction, program.collective_count, "transfer", where))
      return false;
    break;
  case RG_OP_RECORD:
  case RG_OP_WAIT:
    if (!checkIndex(instruction, program.event_count, "event", where))
      return false;
    break;
  case RG_OP_AXIS_INDEX:
    if (!checkIndex(instruction, program.axes_count, "axes", where))
      return false;
    break;
  case RG_OP_COPY:
  case RG_OP_FILL:
  case RG_OP_SYNC:
    break;
  case RG_OP_LOOP:
  case RG_OP_NEXT:
    if (!checkIndex(instruction, program.loop_count, "loop", where))
      return false;
    [[fallthrough]];
  case RG_OP_JUMP:
  case RG_OP_JUMP_IF_ZERO:
    if (instruction.target < 0 ||
        instruction.target > program.instruction_count)
      return fail(where + " goes on at instruction " +
                  std::to_string(instruction.target) + ", which is none");
    break;
  default:
    return fail(where + " has the unknown opcode " +
                std::to_string(instruction.opcode));
  }
  return checkSliceCount(instruction, where);
}

std::string regather::runtime::checkProgram(const rg_program &program,
                                            KernelCode code) {
  return Checker(program, code).check();
}
