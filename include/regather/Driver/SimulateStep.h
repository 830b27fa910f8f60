//===- SimulateStep.h - Predict the timeline of a step ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DRIVER_SIMULATESTEP_H
#define REGATHER_DRIVER_SIMULATESTEP_H

#include "regather/Analysis/Cost/CostModel.h"
#include "regather/Driver/SimulationSummary.h"

namespace regather {

struct SimulateRequest {
  /// For messages and pages.
  std::string file;
  StepOptions step;
  /// Kernels are simulated instead of single operations; always so within a
  /// limit of memory.
  bool takesKernels = false;
  /// A file with the operations in another order; empty for that of the step.
  /// No schedule is chosen then, and it is an error to ask for one.
  std::string orderFile;
};

/// A step, its order, and what comes of it on a cluster. Stays where it is:
/// the summary refers to the rest.
struct Prediction {
  explicit Prediction(CostModel model) : model(std::move(model)) {}
  Prediction(const Prediction &) = delete;
  Prediction &operator=(const Prediction &) = delete;

  CostModel model;
  SimulatedStep step;
  std::vector<uint32_t> order;
  SimulationResult result;
  std::optional<SimulationSummary> summary;

  /// What each class of ranks does when.
  std::vector<Timeline> makeTimelines() const;
};

/// Prepares the step of `module`, which it changes, and simulates it on the
/// cluster that the request names, or would choose. Null, with errors emitted,
/// if that cannot be done.
std::unique_ptr<Prediction> predictStep(mlir::ModuleOp module,
                                        const SimulateRequest &request);

/// What each class of ranks does when, for Perfetto.
std::string formatTrace(const Prediction &prediction);

/// A page with the numbers and a picture of the timeline, as HTML.
std::string formatPage(const Prediction &prediction);

} // namespace regather

#endif // REGATHER_DRIVER_SIMULATESTEP_H
