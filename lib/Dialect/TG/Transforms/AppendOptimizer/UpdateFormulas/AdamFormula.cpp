//===- AdamFormula.cpp - Adam and AdamW -----------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   m = m + (1 - beta1) * (g - m)
//   v = v * beta2 + (1 - beta2) * g * g
//   n = amsgrad ? max(n, v) : v
//   p = p - lr / (1 - beta1^t) * m / (sqrt(n) / sqrt(1 - beta2^t) + eps)
//
//===----------------------------------------------------------------------===//

#include "Formulas.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::update;

UpdateFormula::Names AdamFormula::getStateNames(const UpdateRule &rule) const {
  if (rule.amsgrad)
    return {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};
  return {"exp_avg", "exp_avg_sq"};
}

unsigned AdamFormula::getNumScalars(const UpdateRule &rule) const { return 2; }

/// Minus the step size, and the root of the second bias correction.
UpdateFormula::Values AdamFormula::getScalars(B &b, const UpdateRule &rule,
                                              Value learningRate,
                                              Value step) const {
  FloatBuilder f(b, b.getF64Type());
  Value first = f.getBiasCorrection(rule.beta1, step);
  Value stepSize = f.neg(f.div(learningRate, first));
  return {stepSize, f.sqrt(f.getBiasCorrection(rule.beta2, step))};
}

UpdateFormula::Values AdamFormula::getElements(B &b, const UpdateRule &rule,
                                               Value parameter, Value gradient,
                                               ValueRange states,
                                               ValueRange scalars) const {
  FloatBuilder f(b, parameter.getType());
  Value average = f.lerp(states[0], gradient, 1 - rule.beta1);
  Value square = f.averageSquare(states[1], rule.beta2, gradient);
  Values newStates = {average, square};
  Value norm = square;
  if (rule.amsgrad)
    newStates.push_back(norm = f.max(states[2], square));
  Value root = f.div(f.sqrt(norm), scalars[1]);
  Value denominator = f.add(root, f.constant(rule.epsilon));
  Values results = {f.addDivided(parameter, scalars[0], average, denominator)};
  llvm::append_range(results, newStates);
  return results;
}
