//===- TablesReader.cpp - Tables of programs ------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reader.h"

#include "Program/ProgramCheck.h"

#include <cstring>
#include <vector>

using namespace regather::fuzz;
using namespace regather::runtime;

namespace {
/// Tables whose pointers are valid, with any numbers in them. Numbers that the
/// lengths of further lists follow from are as those are, or negative.
class Tables {
public:
  explicit Tables(std::string_view bytes) : bytes(bytes) { build(); }

  rg_program program = {};

private:
  static constexpr size_t kMostDims = 4, kMostMembers = 3, kMostEntries = 8;

  void build();
  /// The numbers that are most likely to be wrong, and small ones.
  int64_t getNumber();
  int32_t getSmall() { return int32_t(getNumber()); }
  /// From -1 up.
  int32_t getCount(size_t most) {
    return int32_t(uint64_t(getNumber()) % (most + 2)) - 1;
  }
  const int64_t *getShape() {
    std::vector<int64_t> &shape = shapes.emplace_back();
    // Whoever keeps a pointer to it keeps the memory, not the vector.
    for (size_t i = 0; i != kMostDims; ++i)
      shape.push_back(getNumber());
    return shape.data();
  }
  rg_slice getSlice() {
    return {getSmall(), getSmall(), getNumber(), getNumber()};
  }
  rg_value getValue();
  rg_collective_entry getCollective();
  rg_instruction getInstruction();
  /// Fills a table by calls of `make`.
  template <typename T, typename Make>
  void fill(std::vector<T> &table, const T *&entries, int64_t &count,
            Make make) {
    size_t size = uint64_t(getNumber()) % kMostEntries;
    for (size_t i = 0; i != size; ++i)
      table.push_back(make());
    entries = table.data();
    count = int64_t(size);
  }

  std::string_view bytes;
  std::vector<std::vector<int64_t>> shapes;
  std::vector<std::vector<rg_member>> members;
  std::vector<rg_value> arguments, results;
  std::vector<rg_constant> constants;
  std::vector<rg_kernel> kernels;
  std::vector<rg_axes> axes;
  std::vector<rg_collective_entry> collectives;
  std::vector<rg_slice> slices;
  std::vector<rg_instruction> instructions;
};
} // namespace

int64_t Tables::getNumber() {
  if (bytes.empty())
    return 0;
  auto byte = uint8_t(bytes.front());
  bytes.remove_prefix(1);
  constexpr int64_t kSpecial[] = {
      -1,        -2,        INT32_MAX,        INT32_MIN,
      INT64_MAX, INT64_MIN, int64_t(1) << 32, int64_t(1) << 62,
      4096,      1000};
  constexpr uint8_t kFirstSpecial = 224;
  if (byte < kFirstSpecial)
    return byte;
  if (size_t(byte - kFirstSpecial) < std::size(kSpecial))
    return kSpecial[byte - kFirstSpecial];
  int64_t number = 0;
  size_t size = std::min(bytes.size(), sizeof(number));
  std::memcpy(&number, bytes.data(), size);
  bytes.remove_prefix(size);
  return number;
}

rg_value Tables::getValue() {
  rg_value value = {};
  value.dtype = getSmall();
  value.rank = getCount(kMostDims);
  value.shape = getShape();
  value.on_host = getSmall() & 1;
  value.slice = getSlice();
  return value;
}

rg_collective_entry Tables::getCollective() {
  rg_collective_entry entry = {};
  std::vector<rg_member> &list = members.emplace_back();
  for (size_t i = 0; i != kMostMembers; ++i) {
    rg_member member = {};
    member.dtype = getSmall();
    member.rank = getCount(kMostDims);
    member.input_shape = getShape();
    member.output_shape = getShape();
    list.push_back(member);
  }
  entry.collective.members = list.data();
  entry.collective.member_count = getCount(kMostMembers);
  entry.axes = getSmall();
  return entry;
}

rg_instruction Tables::getInstruction() {
  rg_instruction instruction = {};
  instruction.opcode = getSmall();
  instruction.stream = getSmall();
  instruction.index = getSmall();
  instruction.slice_count = getSmall();
  instruction.first_slice = getNumber();
  instruction.target = getNumber();
  instruction.flops = double(getNumber());
  instruction.bytes = getNumber();
  return instruction;
}

static int32_t runNothing(void *const *, int64_t, int64_t, void *) { return 0; }

void Tables::build() {
  program.version = RG_PROGRAM_VERSION;
  program.ranks = getSmall();
  program.arena_bytes = getNumber();
  program.host_arena_bytes = getNumber();
  program.arena_alignment = getNumber();
  program.stream_count = getSmall();
  program.event_count = getSmall();
  program.loop_count = getSmall();
  fill(arguments, program.arguments, program.argument_count,
       [&] { return getValue(); });
  fill(results, program.results, program.result_count,
       [&] { return getValue(); });
  fill(constants, program.constants, program.constant_count,
       [&] { return rg_constant{nullptr, getNumber()}; });
  fill(kernels, program.kernels, program.kernel_count, [&] {
    return rg_kernel{nullptr, getNumber() ? runNothing : nullptr, getNumber(),
                     getNumber(), getNumber()};
  });
  fill(axes, program.axes, program.axes_count, [] { return rg_axes{}; });
  fill(collectives, program.collectives, program.collective_count,
       [&] { return getCollective(); });
  fill(slices, program.slices, program.slice_count, [&] { return getSlice(); });
  fill(instructions, program.instructions, program.instruction_count,
       [&] { return getInstruction(); });
}

// Exact, where the checker computes in 64 bits.
using Wide = __int128;

static Wide getBytes(const rg_value &value) {
  Wide bytes = rg_dtype_size(value.dtype);
  // What is beyond 64 bits is far from a slice already.
  constexpr Wide kFar = Wide(1) << 64;
  for (int32_t d = 0; d < value.rank && bytes < kFar && bytes > -kFar; ++d)
    bytes *= value.shape[d];
  return bytes;
}

/// What a slice lies in.
static Wide getBufferBytes(const rg_program &program, const rg_slice &slice) {
  switch (slice.space) {
  case RG_SPACE_ARENA:
    return program.arena_bytes;
  case RG_SPACE_HOST:
    return program.host_arena_bytes;
  case RG_SPACE_CONSTANT:
    return slice.index < 0 || slice.index >= program.constant_count
               ? Wide(-1)
               : program.constants[slice.index].bytes;
  case RG_SPACE_ARGUMENT:
    return slice.index < 0 || slice.index >= program.argument_count
               ? Wide(-1)
               : getBytes(program.arguments[slice.index]);
  case RG_SPACE_RESULT:
    return slice.index < 0 || slice.index >= program.result_count
               ? Wide(-1)
               : getBytes(program.results[slice.index]);
  default:
    return -1;
  }
}

static void checkSlice(const rg_program &program, const rg_slice &slice) {
  if (slice.offset < 0 || slice.bytes < 0 ||
      Wide(slice.offset) + slice.bytes > getBufferBytes(program, slice))
    reportFind("a slice outside of its buffer was accepted");
}

/// What the check promises of tables that it accepts, computed slowly.
static std::string readTablesBytes(std::string_view bytes) {
  Tables tables(bytes);
  const rg_program &program = tables.program;
  for (KernelCode code : {KernelCode::Device, KernelCode::Host}) {
    std::string why = checkProgram(program, code);
    if (!why.empty() && code == KernelCode::Host)
      return why;
    if (!why.empty())
      continue;
    for (int64_t i = 0; i != program.result_count; ++i)
      checkSlice(program, program.results[i].slice);
    for (int64_t i = 0; i != program.instruction_count; ++i) {
      const rg_instruction &instruction = program.instructions[i];
      if (instruction.first_slice < 0 || instruction.slice_count < 0 ||
          Wide(instruction.first_slice) + instruction.slice_count >
              program.slice_count)
        reportFind("an instruction has slices that are not in the table");
      for (int32_t k = 0; k != instruction.slice_count; ++k)
        checkSlice(program, program.slices[instruction.first_slice + k]);
    }
  }
  return std::string();
}

const Reader regather::fuzz::tablesReader = {"tables", readTablesBytes};
