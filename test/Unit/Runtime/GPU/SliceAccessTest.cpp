//===- SliceAccessTest.cpp - Reads and writes of instructions -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPU/SliceAccess.h"

#include "GpuTestProgram.h"

using namespace regather::runtime;
using namespace regather::test;

/// What the last instruction does with its slices: r, w or both.
static std::vector<std::string> getAccesses(GpuTestProgram &test) {
  rg_gpu_program gpu = test.get();
  const rg_instruction &last =
      gpu.program->instructions[gpu.program->instruction_count - 1];
  std::vector<std::string> accesses;
  for (int32_t i = 0; i < last.slice_count; ++i) {
    SliceAccess access = getSliceAccess(gpu, last, i);
    accesses.push_back(std::string(access.isRead ? "r" : "") +
                       (access.isWritten ? "w" : ""));
  }
  return accesses;
}

using Accesses = std::vector<std::string>;

TEST(SliceAccess, KernelsReadArgumentsAndWriteResults) {
  GpuTestProgram test;
  int32_t kernel = test.addKernel({"add"}, /*arguments=*/2, 1);
  test.add(RG_OP_LAUNCH, kernel, {arena(0), arena(2), arena(4)});
  EXPECT_EQ(getAccesses(test), (Accesses{"r", "r", "w"}));
}

TEST(SliceAccess, CollectivesAlternate) {
  GpuTestProgram test;
  int32_t entry =
      test.addCollective(RG_ALL_REDUCE, test.addAxes({1}, {1}), 1, 1);
  test.add(RG_OP_COLLECTIVE, entry, {arena(0), arena(1)}, 1);
  EXPECT_EQ(getAccesses(test), (Accesses{"r", "w"}));
}

TEST(SliceAccess, TargetsComeFirst) {
  GpuTestProgram test;
  test.add(RG_OP_COPY, 0, {arena(0), arena(1)});
  EXPECT_EQ(getAccesses(test), (Accesses{"w", "r"}));
  test.add(RG_OP_LOOP, 0, {arena(0), arena(1), arena(2), arena(3)});
  EXPECT_EQ(getAccesses(test), (Accesses{"w", "r", "r", "r"}));
}

TEST(SliceAccess, ConditionsAreRead) {
  GpuTestProgram test;
  test.add(RG_OP_JUMP_IF_ZERO, 0, {arena(0)});
  EXPECT_EQ(getAccesses(test), Accesses{"r"});
}
