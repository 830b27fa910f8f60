//===- ProgramExecutor.h - Run a program on one rank ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_EXECUTION_NATIVE_PROGRAMEXECUTOR_H
#define REGATHER_LIB_EXECUTION_NATIVE_PROGRAMEXECUTOR_H

#include "Program.h"

#include "regather/Execution/CreateEngine.h"
#include "regather/Runtime/Runtime.h"

namespace regather::native {

/// Why a rank stopped early.
struct RankFailure {
  mlir::Operation *op = nullptr;
  rg_status status = RG_OK;
};

/// Runs `program` as rank `rank` of `world`, from the thread of that rank.
/// Returns the operation that failed, if one did; the text is in the world.
/// `peakBytes` becomes the most that the tensors of the rank took at once.
RankFailure execute(const Program &program, const KernelSet &kernels,
                    rg_world *world, int64_t rank, const RankValues &arguments,
                    RankValues &results, int64_t &peakBytes);

} // namespace regather::native

#endif // REGATHER_LIB_EXECUTION_NATIVE_PROGRAMEXECUTOR_H
