//===- Formulas.h - Those of torch.optim ---------------------- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_TRANSFORMS_FORMULAS_H
#define REGATHER_LIB_DIALECT_TG_TRANSFORMS_FORMULAS_H

#include "../FloatMath.h"
#include "../UpdateFormulas.h"

namespace regather::tg::update {

/// Adam, and with decoupled decay AdamW.
class AdamFormula : public UpdateFormula {
public:
  Names getStateNames(const UpdateRule &rule) const override;
  unsigned getNumScalars(const UpdateRule &rule) const override;
  Values getScalars(B &b, const UpdateRule &rule, mlir::Value learningRate,
                    mlir::Value step) const override;
  Values getElements(B &b, const UpdateRule &rule, mlir::Value parameter,
                     mlir::Value gradient, mlir::ValueRange states,
                     mlir::ValueRange scalars) const override;
};

/// Gradient descent, with or without momentum.
class SgdFormula : public UpdateFormula {
public:
  Names getStateNames(const UpdateRule &rule) const override;
  bool needsStep(const UpdateRule &rule) const override;
  unsigned getNumScalars(const UpdateRule &rule) const override;
  Values getScalars(B &b, const UpdateRule &rule, mlir::Value learningRate,
                    mlir::Value step) const override;
  Values getElements(B &b, const UpdateRule &rule, mlir::Value parameter,
                     mlir::Value gradient, mlir::ValueRange states,
                     mlir::ValueRange scalars) const override;
  bool keepsZeros(const UpdateRule &rule) const override;
};

/// Squares are summed, and never forgotten.
class AdagradFormula : public UpdateFormula {
public:
  Names getStateNames(const UpdateRule &rule) const override;
  bool needsStep(const UpdateRule &rule) const override;
  Values getScalars(B &b, const UpdateRule &rule, mlir::Value learningRate,
                    mlir::Value step) const override;
  Values getElements(B &b, const UpdateRule &rule, mlir::Value parameter,
                     mlir::Value gradient, mlir::ValueRange states,
                     mlir::ValueRange scalars) const override;
};

/// Averages of squares, with or without momentum.
class RmspropFormula : public UpdateFormula {
public:
  Names getStateNames(const UpdateRule &rule) const override;
  bool needsStep(const UpdateRule &rule) const override;
  Values getElements(B &b, const UpdateRule &rule, mlir::Value parameter,
                     mlir::Value gradient, mlir::ValueRange states,
                     mlir::ValueRange scalars) const override;
};

/// Adam with the largest of gradients in place of squares.
class AdamaxFormula : public UpdateFormula {
public:
  Names getStateNames(const UpdateRule &rule) const override;
  Values getScalars(B &b, const UpdateRule &rule, mlir::Value learningRate,
                    mlir::Value step) const override;
  Values getElements(B &b, const UpdateRule &rule, mlir::Value parameter,
                     mlir::Value gradient, mlir::ValueRange states,
                     mlir::ValueRange scalars) const override;
  bool keepsZeros(const UpdateRule &rule) const override;
};

/// Steps as large as those before.
class AdadeltaFormula : public UpdateFormula {
public:
  Names getStateNames(const UpdateRule &rule) const override;
  bool needsStep(const UpdateRule &rule) const override;
  Values getElements(B &b, const UpdateRule &rule, mlir::Value parameter,
                     mlir::Value gradient, mlir::ValueRange states,
                     mlir::ValueRange scalars) const override;
};

/// Adam that waits until its squares are enough.
class RAdamFormula : public UpdateFormula {
public:
  Names getStateNames(const UpdateRule &rule) const override;
  unsigned getNumScalars(const UpdateRule &rule) const override;
  Values getScalars(B &b, const UpdateRule &rule, mlir::Value learningRate,
                    mlir::Value step) const override;
  Values getElements(B &b, const UpdateRule &rule, mlir::Value parameter,
                     mlir::Value gradient, mlir::ValueRange states,
                     mlir::ValueRange scalars) const override;
};

} // namespace regather::tg::update

#endif // REGATHER_LIB_DIALECT_TG_TRANSFORMS_FORMULAS_H
