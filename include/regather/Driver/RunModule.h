//===- RunModule.h - A run of a module --------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DRIVER_RUNMODULE_H
#define REGATHER_DRIVER_RUNMODULE_H

#include "regather/Driver/CompileStep.h"
#include "regather/Driver/CreateStepEngine.h"

namespace regather {

/// What is asked of a run of a module.
struct RunRequest {
  /// Those of `step` decide how many ranks there are.
  RunFlags flags;
  StepOptions step;
  /// Threads and cache of the compiler.
  CompileOptions code;
};

/// A step that is ready to run, as what runStep runs. It stays where it is,
/// since `subject` refers to `prepared`.
struct PreparedRun {
  explicit PreparedRun(PreparedStep prepared) : prepared(std::move(prepared)) {}
  PreparedRun(const PreparedRun &) = delete;

  PreparedStep prepared;
  RunSubject subject;
  /// Only of a step that may have too little room for the rows of experts: the
  /// module as it was given, and what it becomes with room for all, once that
  /// is needed.
  mlir::OwningOpRef<mlir::ModuleOp> original;
  std::optional<PreparedStep> roomy;
};

/// If this process is one rank of a job: lets the step have as many ranks as
/// the job has. All ranks of the job find the same failure.
Failure takeRanksOfJob(mlir::ModuleOp module, RunRequest &request);

/// Prepares the step of `module`, which it changes, for a run on this machine;
/// runStep compiles it. Null, with errors emitted, if it cannot be run so.
/// `module` and `progress` outlive what is returned.
std::unique_ptr<PreparedRun> prepareModuleRun(mlir::ModuleOp module,
                                              const RunRequest &request,
                                              ProgressListener &progress);

/// Does what `regather run` does with a module, which it changes, and prints
/// nothing: all of the above and runStep. Emits errors.
mlir::FailureOr<RunReport> runModule(mlir::ModuleOp module, RunRequest request,
                                     RunListener &listener,
                                     ProgressListener &progress);

} // namespace regather

#endif // REGATHER_DRIVER_RUNMODULE_H
