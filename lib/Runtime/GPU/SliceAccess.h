//===- SliceAccess.h - Reads and writes of instructions ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_SLICEACCESS_H
#define REGATHER_LIB_RUNTIME_GPU_SLICEACCESS_H

#include "regather/Runtime/GpuProgram.h"

namespace regather::runtime {

/// What an instruction does with one of its slices.
struct SliceAccess {
  bool isRead = false;
  bool isWritten = false;
};

/// What the instruction does with its slice `i`. The tables have been checked.
SliceAccess getSliceAccess(const rg_gpu_program &program,
                           const rg_instruction &instruction, int32_t i);

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_SLICEACCESS_H
