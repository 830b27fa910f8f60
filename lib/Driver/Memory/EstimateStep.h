//===- EstimateStep.h - What many equal layers take -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DRIVER_MEMORY_ESTIMATESTEP_H
#define REGATHER_LIB_DRIVER_MEMORY_ESTIMATESTEP_H

#include "MeasureStep.h"

#include "regather/Dialect/TG/Steps/EqualLayers.h"

namespace regather {

/// Two copies of a step with few of its equal layers. What each further layer
/// takes is the difference between them, by which the whole step is estimated:
/// time and bytes grow evenly with equal layers, but for what a schedule or a
/// packing makes of a boundary.
class ShortSteps {
public:
  /// Nothing if the step has too few equal layers to gain from it, or if it is
  /// not one function.
  static std::optional<ShortSteps> create(mlir::ModuleOp module);

  /// The copies, the one with fewer layers first. What depends on equal layers,
  /// but not on how many they are, is the same in both.
  mlir::ModuleOp getFew() const { return *few.module; }
  mlir::ModuleOp getMore() const { return *more.module; }
  /// Of the copy with more, and of the step.
  int64_t countLayers() const;
  int64_t countAllLayers() const;
  /// How many times the layers of both copies the step has.
  double getGain() const;
  /// What the step has, if the copies have `atFew` and `atMore`.
  double extend(double atFew, double atMore) const;
  /// By how much more the step has of what no layer lacks.
  double getFactor() const;

private:
  ShortSteps(tg::FoldedModule few, tg::FoldedModule more)
      : few(std::move(few)), more(std::move(more)) {}

  tg::FoldedModule few, more;
};

/// Estimates a step with different decisions about memory. Several threads may
/// do so at the same time.
class StepEstimator {
public:
  /// Both outlive it.
  StepEstimator(const ShortSteps &steps, const CostModel &model);

  /// What StepMeasurer would give, about; it does not say what is largest.
  /// Bytes that options allow are scaled to the copies. The first call is for
  /// the step with nothing decided that has bytes: what it has beside equal
  /// layers is what others are taken to have there.
  mlir::FailureOr<MeasuredStep> measure(const StepOptions &options);

private:
  MeasuredStep extend(const MeasuredStep &few, const MeasuredStep &more) const;
  /// From one copy: by the layers, behind what `fixed` has beside them.
  MeasuredStep scale(const MeasuredStep &more, const MeasuredStep &fixed) const;
  StepOptions shrink(const StepOptions &options) const;

  const ShortSteps &steps;
  StepMeasurer few, more;
  std::mutex mutex;
  /// The step that was measured first: as the copies are, and what it has
  /// beside equal layers.
  struct Base {
    MeasuredStep few, more, all, fixed;
  };
  std::optional<Base> base;
};

} // namespace regather

#endif // REGATHER_LIB_DRIVER_MEMORY_ESTIMATESTEP_H
