//===- SgdFormula.cpp - Gradient descent ----------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   b = momentum * b + (1 - dampening) * g     (the first b is g)
//   p = p - lr * (nesterov ? g + momentum * b : b)
//
//===----------------------------------------------------------------------===//

#include "Formulas.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::update;

/// Without momentum nothing is dampened.
static bool isDampened(const UpdateRule &rule) {
  return rule.momentum != 0 && rule.dampening != 0;
}

UpdateFormula::Names SgdFormula::getStateNames(const UpdateRule &rule) const {
  if (rule.momentum != 0)
    return {"momentum_buffer"};
  return {};
}

bool SgdFormula::needsStep(const UpdateRule &rule) const {
  return isDampened(rule);
}

unsigned SgdFormula::getNumScalars(const UpdateRule &rule) const {
  return isDampened(rule) ? 2 : 1;
}

/// Minus the learning rate, and, with dampening, the weight of a gradient in
/// the momentum buffer.
UpdateFormula::Values SgdFormula::getScalars(B &b, const UpdateRule &rule,
                                             Value learningRate,
                                             Value step) const {
  FloatBuilder f(b, b.getF64Type());
  Values scalars = {f.neg(learningRate)};
  if (isDampened(rule)) {
    Value one = f.constant(1);
    Value isFirst = f.compare(arith::CmpFPredicate::OEQ, step, one);
    scalars.push_back(f.select(isFirst, one, f.constant(1 - rule.dampening)));
  }
  return scalars;
}

UpdateFormula::Values SgdFormula::getElements(B &b, const UpdateRule &rule,
                                              Value parameter, Value gradient,
                                              ValueRange states,
                                              ValueRange scalars) const {
  FloatBuilder f(b, parameter.getType());
  if (rule.momentum == 0)
    return {f.addScaled(parameter, scalars[0], gradient)};
  Value momentum = f.constant(rule.momentum);
  Value fresh = isDampened(rule) ? f.mul(scalars[1], gradient) : gradient;
  Value buffer = f.add(f.mul(states[0], momentum), fresh);
  Value direction =
      rule.nesterov ? f.addScaled(gradient, momentum, buffer) : buffer;
  return {f.addScaled(parameter, scalars[0], direction), buffer};
}

bool SgdFormula::keepsZeros(const UpdateRule &rule) const { return true; }
