//===- StepExecutable.h - A step on memory of its caller --------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_NATIVEENGINE_STEPEXECUTABLE_H
#define REGATHER_NATIVEENGINE_STEPEXECUTABLE_H

#include "regather/Program/LoadStep.h"
#include "regather/Runtime/Executor.h"
#include "regather/StepAnalysis/CreateEngine.h"
#include "regather/Support/Result.h"

#include <mutex>
#include <optional>

namespace regather {

/// One rank of a step, compiled for the CPU of this machine, that reads and
/// writes the memory of its caller. No argument and no result is copied, but
/// for results that lie in what others hold, too: arguments, constants, other
/// results.
class StepExecutable {
public:
  /// Compiles `entry`. With a transport this is one rank of a job, of which all
  /// ranks have to call. Emits errors.
  static mlir::FailureOr<std::unique_ptr<StepExecutable>>
  create(mlir::func::FuncOp entry, const EngineOptions &options,
         const rg_transport *transport = nullptr);

  ~StepExecutable();

  const rg_program &getProgram() const { return program; }
  /// Of memory outside of arguments and results.
  int64_t getBytes() const { return rg_executor_bytes(executor); }
  /// The argument in whose memory a result lies, which needs no memory of its
  /// own.
  std::optional<int64_t> getArgumentOf(int64_t result) const;

  /// Runs the step: `arguments[i]` and `results[i]` are aligned to the size of
  /// an element. Threads that call at once take turns. A failure of the step
  /// itself says where it stopped; no step can be run then.
  Failure run(void *const *arguments, void *const *results);

private:
  explicit StepExecutable(CompiledStep step);

  CompiledStep step;
  const rg_program &program;
  /// Holds the code of the kernels.
  std::unique_ptr<llvm::orc::LLJIT> jit;
  rg_executor *executor = nullptr;
  std::mutex running;
};

} // namespace regather

#endif // REGATHER_NATIVEENGINE_STEPEXECUTABLE_H
