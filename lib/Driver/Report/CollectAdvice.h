//===- CollectAdvice.h - What would help a step --------------- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DRIVER_REPORT_COLLECTADVICE_H
#define REGATHER_LIB_DRIVER_REPORT_COLLECTADVICE_H

#include "StepSimulation.h"

#include "regather/Driver/PrepareStep.h"

namespace regather {

/// A step, and what came of it.
struct AdvisedStep {
  /// As it was captured.
  mlir::ModuleOp original;
  /// All of them decided.
  StepOptions options;
  const CostModel &model;
  const StepSimulation &simulation;
  const report::StepReport &report;
  /// Of the batch; 0 if the step has none.
  int64_t rowsPerRank = 0;
};

/// Tries changes that apply to the step: prepares and simulates it again with
/// each, and keeps those that make it quicker on devices of its size, or
/// smaller where memory is short or nothing is lost. What fits a device comes
/// first, then what is quickest.
std::vector<report::Advice> collectAdvice(const AdvisedStep &step);

} // namespace regather

#endif // REGATHER_LIB_DRIVER_REPORT_COLLECTADVICE_H
