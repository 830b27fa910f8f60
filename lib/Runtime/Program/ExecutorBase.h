//===- ExecutorBase.h - What executors share --------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How executors keep what failed, and how the C interface gets at them: a
// handle such as rg_executor is the address of an object of C++.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_PROGRAM_EXECUTORBASE_H
#define REGATHER_LIB_RUNTIME_PROGRAM_EXECUTORBASE_H

#include "Numeric/RoundUp.h"

#include "regather/Runtime/Executor.h"
#include "regather/Support/Result.h"

#include <algorithm>
#include <string>

namespace regather::runtime {

class ExecutorBase {
public:
  /// The first message that was kept; empty if there is none.
  const char *getError() const { return error.c_str(); }
  /// Where the step stopped.
  rg_failure getFailure() const { return failure; }

protected:
  /// `otherwise` is the status of failures without a code.
  explicit ExecutorBase(rg_status otherwise) : otherwise(otherwise) {}

  /// Keeps the message of the first failure. Returns the status of this one.
  rg_status keep(const Failure &reason) {
    if (!reason)
      return RG_OK;
    if (error.empty())
      error = reason.getMessage();
    return reason.getCode() ? rg_status(reason.getCode()) : otherwise;
  }
  bool hasFailed() const { return !error.empty(); }

  rg_failure failure = {RG_OK, 0, -1};

private:
  rg_status otherwise;
  std::string error;
};

/// Bytes of the arena, of which those before `end` were written to, in units of
/// its alignment.
inline int64_t getTouchedArena(const rg_program &program, int64_t end) {
  return std::min(roundUp(end, program.arena_alignment), program.arena_bytes);
}

/// The object of a handle.
template <typename ExecutorT, typename HandleT>
ExecutorT *unwrapAs(HandleT *handle) {
  return reinterpret_cast<ExecutorT *>(handle);
}
template <typename ExecutorT, typename HandleT>
const ExecutorT *unwrapAs(const HandleT *handle) {
  return reinterpret_cast<const ExecutorT *>(handle);
}

/// Creates an executor behind a handle, which is there if creation fails, too,
/// and says why; it is null if there is not even a program.
template <typename ExecutorT, typename ProgramT, typename OptionsT,
          typename HandleT>
rg_status createExecutor(const ProgramT *program, const OptionsT *options,
                         HandleT **handle) {
  if (!handle)
    return RG_ERROR_ARGUMENT;
  *handle = nullptr;
  if (!program || !options)
    return RG_ERROR_ARGUMENT;
  auto *created = new ExecutorT(*program);
  *handle = reinterpret_cast<HandleT *>(created);
  return created->create(*options);
}

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_PROGRAM_EXECUTORBASE_H
