//===- AdamaxFormula.cpp - Adamax -----------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   m = m + (1 - beta1) * (g - m)
//   u = max(u * beta2, |g| + eps)
//   p = p - lr / (1 - beta1^t) * m / u
//
//===----------------------------------------------------------------------===//

#include "Formulas.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::update;

UpdateFormula::Names
AdamaxFormula::getStateNames(const UpdateRule &rule) const {
  return {"exp_avg", "exp_inf"};
}

/// Minus the step size.
UpdateFormula::Values AdamaxFormula::getScalars(B &b, const UpdateRule &rule,
                                                Value learningRate,
                                                Value step) const {
  FloatBuilder f(b, b.getF64Type());
  return {f.neg(f.div(learningRate, f.getBiasCorrection(rule.beta1, step)))};
}

UpdateFormula::Values AdamaxFormula::getElements(B &b, const UpdateRule &rule,
                                                 Value parameter,
                                                 Value gradient,
                                                 ValueRange states,
                                                 ValueRange scalars) const {
  FloatBuilder f(b, parameter.getType());
  Value average = f.lerp(states[0], gradient, 1 - rule.beta1);
  Value kept = f.mul(states[1], f.constant(rule.beta2));
  Value size = f.add(f.abs(gradient), f.constant(rule.epsilon));
  Value norm = f.max(kept, size);
  return {f.addDivided(parameter, scalars[0], average, norm), average, norm};
}

// The norm of a gradient of zero is eps.
bool AdamaxFormula::keepsZeros(const UpdateRule &rule) const { return false; }
