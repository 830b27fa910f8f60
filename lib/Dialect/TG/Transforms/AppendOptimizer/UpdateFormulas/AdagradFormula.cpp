//===- AdagradFormula.cpp - Adagrad ---------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   s = s + g * g
//   p = p - lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps)
//
//===----------------------------------------------------------------------===//

#include "Formulas.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::update;

UpdateFormula::Names
AdagradFormula::getStateNames(const UpdateRule &rule) const {
  return {"sum"};
}

bool AdagradFormula::needsStep(const UpdateRule &rule) const {
  return rule.learningRateDecay != 0;
}

/// Minus the learning rate that is left.
UpdateFormula::Values AdagradFormula::getScalars(B &b, const UpdateRule &rule,
                                                 Value learningRate,
                                                 Value step) const {
  FloatBuilder f(b, b.getF64Type());
  if (rule.learningRateDecay == 0)
    return {f.neg(learningRate)};
  Value one = f.constant(1);
  Value decay = f.mul(f.sub(step, one), f.constant(rule.learningRateDecay));
  return {f.neg(f.div(learningRate, f.add(one, decay)))};
}

UpdateFormula::Values AdagradFormula::getElements(B &b, const UpdateRule &rule,
                                                  Value parameter,
                                                  Value gradient,
                                                  ValueRange states,
                                                  ValueRange scalars) const {
  FloatBuilder f(b, parameter.getType());
  Value sum = f.addScaled(states[0], gradient, gradient);
  Value denominator = f.add(f.sqrt(sum), f.constant(rule.epsilon));
  return {f.addDivided(parameter, scalars[0], gradient, denominator), sum};
}
