//===- RoutineUses.h - Where a program uses its routines --------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_ROUTINEUSES_H
#define REGATHER_LIB_RUNTIME_GPU_ROUTINEUSES_H

#include "regather/Runtime/GpuProgram.h"

#include <vector>

namespace regather::runtime {

/// All uses of one routine.
struct RoutineUse {
  /// What the slices of its buffers are aligned to in all instructions with it,
  /// in bytes.
  std::vector<int64_t> alignments;
  /// Of the first instruction; may be null.
  const char *description = nullptr;
};

/// Those of all routines of an opcode, by number: RG_OP_GEMM or
/// RG_OP_ATTENTION.
std::vector<RoutineUse> readRoutineUses(const rg_program &program,
                                        int32_t opcode);

/// True if a routine has kernels of its own.
inline bool hasKernels(const rg_gpu_kernel *kernels, size_t number) {
  return kernels && kernels[number].launch_count > 0;
}

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_ROUTINEUSES_H
