//===- PhaseInference.h - Phases from what needs an operation ---*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The phase of an operation follows from who needs its results: the loss,
// gradients alone, or updates alone.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_STEPS_PHASEINFERENCE_H
#define REGATHER_DIALECT_TG_STEPS_PHASEINFERENCE_H

#include "regather/Dialect/TG/Steps/StepGraph.h"

namespace regather::tg {

struct InferredPhases {
  /// By operation of the graph: its own phase, or the one that follows. A wait
  /// has that of its collective.
  std::vector<Phase> phases;
  /// A parameter that the step updates, although nothing tells what of the
  /// update is backward and what optimizer: neither is a gradient of it
  /// returned, nor is one marked.
  std::optional<unsigned> undecidedUpdate;
};

/// Infers the phases of the operations of a step. Forward is what the loss
/// needs, and other results, updates of buffers included, that depend on no
/// gradient; and what is read by operations that are marked as forward.
/// Backward is what gradients need besides, optimizer what updates of
/// parameters and optimizer states need besides. What nobody needs comes with
/// what it reads. Linear.
InferredPhases inferPhases(mlir::FunctionOpInterface func,
                           const StepGraph &graph);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_STEPS_PHASEINFERENCE_H
