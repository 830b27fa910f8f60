//===- ProgramWalker.h - Walks the instructions of a program ----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks on CPUs and on GPUs walk the same programs; what an instruction does is
// a backend's business, which instruction follows is not:
//
//   compute(instruction)            a kernel, a GEMM or attention
//   startCollective(instruction)
//   record(instruction), wait(instruction), sync()      events of streams
//   copy(instruction), fill(instruction)
//   writeInteger(slice, value, stream), readInteger(slice)
//
// All return failures, and readInteger a Result<int64_t>. A backend is a
// parameter and no virtual class: on a CPU an instruction may take 100 ns, and
// a backend's functions are inlined into the walk.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_PROGRAM_PROGRAMWALKER_H
#define REGATHER_LIB_RUNTIME_PROGRAM_PROGRAMWALKER_H

#include "RankGroups.h"

#include "regather/Support/Result.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace regather::runtime {

/// The most slices that an instruction of the program has.
inline size_t getMostSlices(const rg_program &program) {
  int32_t most = 0;
  for (int64_t i = 0; i < program.instruction_count; ++i)
    most = std::max(most, program.instructions[i].slice_count);
  return size_t(most);
}

/// Fills `bytes` bytes with an element of `elementBytes` in a logarithmic
/// number of copies. `copy(target, source, length)` copies within what is
/// filled, by offsets, and from the element where the source is negative.
template <typename Copy>
Failure fillByDoubling(int64_t bytes, int64_t elementBytes, Copy copy) {
  int64_t length = std::min(elementBytes, bytes);
  for (int64_t done = 0; done < bytes; done += length) {
    if (done)
      length = std::min(done, bytes - done);
    if (Failure failure = copy(done, done ? 0 : -1, length))
      return failure;
  }
  return Failure();
}

/// The walk of one rank through a program that has been checked.
template <typename Backend> class ProgramWalker {
public:
  ProgramWalker(const rg_program &program, int32_t rank, Backend &backend)
      : program(program), rank(rank), backend(backend),
        loops(size_t(program.loop_count)) {}

  /// Goes to the first instruction.
  void begin() {
    next = 0;
    current = -1;
  }
  bool isAtEnd() const { return next >= program.instruction_count; }

  /// Runs the next instruction.
  Failure advance() {
    current = next++;
    return run(program.instructions[current]);
  }

  /// The instruction that runs next; and the one that has run last, -1 if none.
  int64_t getNext() const { return next; }
  int64_t getCurrent() const { return current; }
  /// Leaves out the instructions before `target`.
  void skipTo(int64_t target) { next = target; }
  /// Forgets which instruction has run last.
  void finish() { current = -1; }

private:
  struct Loop {
    int64_t value, upper, step;
  };

  Failure run(const rg_instruction &instruction) {
    switch (instruction.opcode) {
    case RG_OP_LAUNCH:
    case RG_OP_GEMM:
    case RG_OP_ATTENTION:
    case RG_OP_CONVOLUTION:
    case RG_OP_GROUPED_GEMM:
      return backend.compute(instruction);
    case RG_OP_COLLECTIVE:
      return backend.startCollective(instruction);
    case RG_OP_RECORD:
      return backend.record(instruction);
    case RG_OP_WAIT:
      return backend.wait(instruction);
    case RG_OP_COPY:
      return backend.copy(instruction);
    case RG_OP_FILL:
      return backend.fill(instruction);
    case RG_OP_AXIS_INDEX:
      return backend.writeInteger(
          getSlice(instruction, 0),
          getPosition(program.axes[instruction.index], rank),
          instruction.stream);
    case RG_OP_SYNC:
      return backend.sync();
    case RG_OP_JUMP_IF_ZERO:
      return jumpIfZero(instruction);
    case RG_OP_LOOP:
      return beginLoop(instruction);
    case RG_OP_NEXT:
      return continueLoop(instruction);
    default:
      next = instruction.target;
      return Failure();
    }
  }

  Failure jumpIfZero(const rg_instruction &instruction) {
    Result<int64_t> value = backend.readInteger(getSlice(instruction, 0));
    if (!value)
      return value.getFailure();
    if (*value == 0)
      next = instruction.target;
    return Failure();
  }

  Failure beginLoop(const rg_instruction &instruction) {
    Loop &loop = loops[size_t(instruction.index)];
    int64_t *const fields[] = {&loop.value, &loop.upper, &loop.step};
    for (int32_t i = 0; i < 3; ++i) {
      Result<int64_t> value = backend.readInteger(getSlice(instruction, i + 1));
      if (!value)
        return value.getFailure();
      *fields[i] = *value;
    }
    if (loop.value < loop.upper && loop.step > 0)
      return backend.writeInteger(getSlice(instruction, 0), loop.value, 0);
    next = instruction.target;
    return Failure();
  }

  Failure continueLoop(const rg_instruction &instruction) {
    Loop &loop = loops[size_t(instruction.index)];
    if (__builtin_add_overflow(loop.value, loop.step, &loop.value) ||
        loop.value >= loop.upper)
      return Failure();
    next = instruction.target;
    return backend.writeInteger(getSlice(instruction, 0), loop.value, 0);
  }

  const rg_slice &getSlice(const rg_instruction &instruction, int32_t i) const {
    return program.slices[instruction.first_slice + i];
  }

  const rg_program &program;
  const int32_t rank;
  Backend &backend;
  int64_t next = 0;
  int64_t current = -1;
  std::vector<Loop> loops;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_PROGRAM_PROGRAMWALKER_H
