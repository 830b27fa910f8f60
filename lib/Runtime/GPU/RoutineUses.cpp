//===- RoutineUses.cpp - Where a program uses its routines ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoutineUses.h"

using namespace regather::runtime;

/// Arenas, arguments and constants begin at multiples of it.
static constexpr int64_t kMaxAlignment = 256;

std::vector<RoutineUse>
regather::runtime::readRoutineUses(const rg_program &program, int32_t opcode) {
  std::vector<RoutineUse> uses(static_cast<size_t>(
      opcode == RG_OP_GEMM ? program.gemm_count : program.attention_count));
  for (int64_t i = 0; i < program.instruction_count; ++i) {
    const rg_instruction &instruction = program.instructions[i];
    if (instruction.opcode != opcode)
      continue;
    RoutineUse &use = uses[static_cast<size_t>(instruction.index)];
    if (!use.description)
      use.description = instruction.description;
    auto count = static_cast<size_t>(instruction.slice_count);
    if (use.alignments.size() < count)
      use.alignments.resize(count, kMaxAlignment);
    for (size_t p = 0; p < count; ++p) {
      int64_t offset =
          program.slices[instruction.first_slice + int64_t(p)].offset |
          use.alignments[p];
      use.alignments[p] = offset & -offset;
    }
  }
  return uses;
}
