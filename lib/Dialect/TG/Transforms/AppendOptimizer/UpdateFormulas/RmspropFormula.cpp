//===- RmspropFormula.cpp - RMSprop ---------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   v = v * alpha + (1 - alpha) * g * g
//   a = a + (1 - alpha) * (g - a)              (if centered)
//   d = sqrt(centered ? v - a * a : v) + eps
//   b = b * momentum + g / d                   (with momentum)
//   p = p - lr * (momentum ? b : g / d)
//
//===----------------------------------------------------------------------===//

#include "Formulas.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::update;

UpdateFormula::Names
RmspropFormula::getStateNames(const UpdateRule &rule) const {
  Names names = {"square_avg"};
  if (rule.momentum != 0)
    names.push_back("momentum_buffer");
  if (rule.centered)
    names.push_back("grad_avg");
  return names;
}

bool RmspropFormula::needsStep(const UpdateRule &rule) const { return false; }

UpdateFormula::Values RmspropFormula::getElements(B &b, const UpdateRule &rule,
                                                  Value parameter,
                                                  Value gradient,
                                                  ValueRange states,
                                                  ValueRange scalars) const {
  FloatBuilder f(b, parameter.getType());
  Value square = f.averageSquare(states[0], rule.smoothing, gradient);
  Value average, variance = square;
  if (rule.centered) {
    average = f.lerp(states.back(), gradient, 1 - rule.smoothing);
    variance = f.sub(square, f.mul(average, average));
  }
  Value denominator = f.add(f.sqrt(variance), f.constant(rule.epsilon));
  Values results;
  if (rule.momentum != 0) {
    Value kept = f.mul(states[1], f.constant(rule.momentum));
    Value buffer = f.add(kept, f.div(gradient, denominator));
    results = {f.addScaled(parameter, scalars[0], buffer), square, buffer};
  } else {
    results = {f.addDivided(parameter, scalars[0], gradient, denominator),
               square};
  }
  if (average)
    results.push_back(average);
  return results;
}
