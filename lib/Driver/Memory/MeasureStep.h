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
#include "regather/Driver/PrepareStep.h"
#include "regather/Report/StepReport.h"

#include <map>
#include <mutex>

namespace regather {

/// Seconds in which a rank computes nothing, by the stream that it waits for.
using ExposedSeconds = std::vector<std::pair<std::string, double>>;

/// The longest first.
void sortExposed(ExposedSeconds &exposed);

struct MeasuredStep {
  MemoryChoice choice;
  /// No order of the operations takes less time.
  double boundSeconds = 0;
  /// What lives on from forward to backward.
  int64_t savedBytes = 0;
  /// Of the states of the optimizer on one rank, wherever they lie.
  int64_t stateBytes = 0;
  /// The largest tensors at the peak of the arena.
  std::vector<report::LiveBuffer> largest;
  /// The captured batch became that of each rank.
  bool hasOwnBatches = false;
  /// Of the rank that is done last.
  double computeSeconds = 0;
  /// The longest first.
  ExposedSeconds exposed;
  /// Model FLOPs utilization; 0 if the peak is not known.
  double utilization = 0;
};

/// Measures a step with different decisions about memory. What they have in
/// common, the step as it is cut over its mesh, is made once. Several threads
/// may measure at the same time.
class StepMeasurer {
public:
  /// Both outlive it.
  StepMeasurer(mlir::ModuleOp module, const CostModel &model)
      : module(module), model(model) {}

  /// Prepares the step as `options` say, plans its arena and simulates it.
  /// Remarks and warnings are not heard. Options differ from those of other
  /// calls in decisions about memory alone, and ask for no limit.
  mlir::FailureOr<MeasuredStep> measure(const StepOptions &options);

private:
  /// Null if it cannot be; then an error has been emitted.
  const ShardedStep *getSharded(const StepOptions &options);

  mlir::ModuleOp module;
  const CostModel &model;
  std::mutex mutex;
  /// By what is said about chains over rows.
  std::map<std::string, ShardedStep> sharded;
};

/// The same for a step that is measured once.
mlir::FailureOr<MeasuredStep> measureStep(mlir::ModuleOp module,
                                          const StepOptions &options,
                                          const CostModel &model);

} // namespace regather

#endif // REGATHER_LIB_DRIVER_MEMORY_MEASURESTEP_H
