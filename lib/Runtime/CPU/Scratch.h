//===- Scratch.h - Scratch memory of tasks ----------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_CPU_SCRATCH_H
#define REGATHER_LIB_RUNTIME_CPU_SCRATCH_H

#include "regather/Runtime/Runtime.h"

#include <cstdlib>
#include <memory>

namespace regather::runtime {

/// Runs tasks one after the other, with scratch memory of so many bytes, until
/// one fails.
template <typename F>
rg_status runTasks(int64_t count, size_t scratchBytes, F runTask) {
  constexpr size_t line = 64;
  size_t bytes = (scratchBytes + line - 1) / line * line;
  std::unique_ptr<void, decltype(&free)> scratch(
      bytes ? aligned_alloc(line, bytes) : nullptr, &free);
  if (bytes && !scratch)
    return RG_ERROR_ABORTED;
  rg_status status = RG_OK;
  for (int64_t task = 0; task < count && status == RG_OK; ++task)
    status = runTask(task, scratch.get());
  return status;
}

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_CPU_SCRATCH_H
