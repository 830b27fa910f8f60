//===- CreateStepEngine.h - What runs a prepared step -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DRIVER_CREATESTEPENGINE_H
#define REGATHER_DRIVER_CREATESTEPENGINE_H

#include "regather/Driver/PrepareStep.h"
#include "regather/Driver/ProgressListener.h"
#include "regather/Execution/Training/RunFlags.h"
#include "regather/StepAnalysis/CreateEngine.h"

namespace regather {

/// Prepares the step of `module`, which it changes, for a run on this machine,
/// and checks that it fits. Emits errors.
mlir::FailureOr<PreparedStep> prepareRun(mlir::ModuleOp module,
                                         StepOptions options, EngineKind kind);

/// The engine of a step that has been prepared for it; of two engines if the
/// step is partitioned. The number of ranks, and how the step is lowered,
/// follow from the step. Null, with errors emitted, if something cannot be
/// lowered.
std::unique_ptr<Engine> createStepEngine(const PreparedStep &prepared,
                                         EngineKind kind, EngineOptions options,
                                         ProgressListener &progress);

/// A step that has been prepared, as what runStep runs. `prepared` and
/// `progress` outlive it.
RunSubject describeRun(const PreparedStep &prepared, EngineKind kind,
                       EngineOptions options, ProgressListener &progress);

} // namespace regather

#endif // REGATHER_DRIVER_CREATESTEPENGINE_H
