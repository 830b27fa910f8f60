//===- UpdateFormulas.h - Arithmetic of optimizers ------------ -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What torch.optim computes without `foreach`, `fused` and `capturable`, in the
// same order, so that an f32 parameter differs from PyTorch's by rounding. What
// all optimizers do alike, clipping, climbing and decay, has been done to the
// gradient, or the parameter, before.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_TRANSFORMS_UPDATEFORMULAS_H
#define REGATHER_LIB_DIALECT_TG_TRANSFORMS_UPDATEFORMULAS_H

#include "UpdateRule.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace regather::tg {

/// The arithmetic of one optimizer. Element values are of the update type of
/// the parameter; what is computed once a step is f64.
class UpdateFormula {
public:
  using B = mlir::ImplicitLocOpBuilder;
  using Values = llvm::SmallVector<mlir::Value>;
  using Names = llvm::SmallVector<llvm::StringRef, 3>;

  virtual ~UpdateFormula();

  /// What is kept from step to step, as torch.optim names it. All is zero
  /// before the first step.
  virtual Names getStateNames(const UpdateRule &rule) const = 0;

  /// True if the update depends on the number of the step, which begins at one.
  virtual bool needsStep(const UpdateRule &rule) const { return true; }

  virtual unsigned getNumScalars(const UpdateRule &rule) const { return 1; }

  /// What does not depend on the element; unless said otherwise, minus the
  /// learning rate. `step` is null unless it is needed.
  virtual Values getScalars(B &b, const UpdateRule &rule,
                            mlir::Value learningRate, mlir::Value step) const;

  /// The new parameter and its new states.
  virtual Values getElements(B &b, const UpdateRule &rule,
                             mlir::Value parameter, mlir::Value gradient,
                             mlir::ValueRange states,
                             mlir::ValueRange scalars) const = 0;

  /// True if zeros become zeros where parameter, gradient and states are zero.
  virtual bool keepsZeros(const UpdateRule &rule) const;
};

const UpdateFormula &getFormula(OptimizerKind kind);

/// As `--optimizer` calls it.
llvm::StringRef getName(OptimizerKind kind);

} // namespace regather::tg

#endif // REGATHER_LIB_DIALECT_TG_TRANSFORMS_UPDATEFORMULAS_H
