//===- AdadeltaFormula.cpp - Adadelta -------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   v = v * rho + (1 - rho) * g * g
//   d = sqrt(a + eps) / sqrt(v + eps) * g
//   a = a * rho + (1 - rho) * d * d
//   p = p - lr * d
//
//===----------------------------------------------------------------------===//

#include "Formulas.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::update;

UpdateFormula::Names
AdadeltaFormula::getStateNames(const UpdateRule &rule) const {
  return {"square_avg", "acc_delta"};
}

bool AdadeltaFormula::needsStep(const UpdateRule &rule) const { return false; }

UpdateFormula::Values AdadeltaFormula::getElements(B &b, const UpdateRule &rule,
                                                   Value parameter,
                                                   Value gradient,
                                                   ValueRange states,
                                                   ValueRange scalars) const {
  FloatBuilder f(b, parameter.getType());
  Value epsilon = f.constant(rule.epsilon);
  Value square = f.averageSquare(states[0], rule.smoothing, gradient);
  Value ratio =
      f.div(f.sqrt(f.add(states[1], epsilon)), f.sqrt(f.add(square, epsilon)));
  Value delta = f.mul(ratio, gradient);
  Value moved = f.averageSquare(states[1], rule.smoothing, delta);
  return {f.addScaled(parameter, scalars[0], delta), square, moved};
}
