//===- MeasureStep.h - Bytes and seconds of a step --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DRIVER_MEMORY_MEASURESTEP_H
#define REGATHER_LIB_DRIVER_MEMORY_MEASURESTEP_H

#include "regather/Analysis/Cost/CostModel.h"
#include "regather/Driver/MemoryPlan.h"
#include "regather/Report/StepReport.h"

namespace regather {

struct MeasuredStep {
  MemoryChoice choice;
  /// No order of the operations takes less time.
  double boundSeconds = 0;
  /// What lives on from forward to backward.
  int64_t savedBytes = 0;
  /// The largest tensors at the peak of the arena.
  std::vector<report::LiveBuffer> largest;
  /// The captured batch became that of each rank.
  bool hasOwnBatches = false;
  /// Of the rank that is done last.
  double computeSeconds = 0;
  /// Seconds in which it computes nothing, by stream, the longest first.
  std::vector<std::pair<std::string, double>> exposed;
  /// Model FLOPs utilization; 0 if the peak is not known.
  double utilization = 0;
};

/// Prepares a copy of the module as `options` say, plans its arena and
/// simulates it. Remarks and warnings are not heard.
mlir::FailureOr<MeasuredStep> measureStep(mlir::ModuleOp module,
                                          const StepOptions &options,
                                          const CostModel &model);

} // namespace regather

#endif // REGATHER_LIB_DRIVER_MEMORY_MEASURESTEP_H
