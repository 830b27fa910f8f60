//===- RAdamFormula.cpp - RAdam -------------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   m = m + (1 - beta1) * (g - m)
//   v = v * beta2 + (1 - beta2) * g * g
//   rho = limit - 2 * t * beta2^t / (1 - beta2^t), limit = 2 / (1 - beta2) - 1
//   r = sqrt((rho - 4) * (rho - 2) * limit / ((limit - 4) * (limit - 2) * rho))
//   p = p - lr / (1 - beta1^t) * m
//             * (rho > 5 ? r * sqrt(1 - beta2^t) / (sqrt(v) + eps) : 1)
//
//===----------------------------------------------------------------------===//

#include "Formulas.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::update;

UpdateFormula::Names RAdamFormula::getStateNames(const UpdateRule &rule) const {
  return {"exp_avg", "exp_avg_sq"};
}

unsigned RAdamFormula::getNumScalars(const UpdateRule &rule) const { return 2; }

/// Minus the step size, and what to divide by the root of the squares; zero if
/// nothing is to be divided.
UpdateFormula::Values RAdamFormula::getScalars(B &b, const UpdateRule &rule,
                                               Value learningRate,
                                               Value step) const {
  FloatBuilder f(b, b.getF64Type());
  Value stepSize =
      f.neg(f.div(learningRate, f.getBiasCorrection(rule.beta1, step)));
  double limit = 2 / (1 - rule.beta2) - 1;
  Value correction = f.getBiasCorrection(rule.beta2, step);
  Value power = f.pow(f.constant(rule.beta2), step);
  Value lost = f.div(f.mul(f.mul(f.constant(2), step), power), correction);
  Value rho = f.sub(f.constant(limit), lost);
  Value above =
      f.mul(f.mul(f.sub(rho, f.constant(4)), f.sub(rho, f.constant(2))),
            f.constant(limit));
  Value below = f.mul(f.constant((limit - 4) * (limit - 2)), rho);
  Value rectified = f.mul(f.sqrt(f.div(above, below)), f.sqrt(correction));
  Value isLarge = f.compare(arith::CmpFPredicate::OGT, rho, f.constant(5));
  return {stepSize, f.select(isLarge, rectified, f.constant(0))};
}

UpdateFormula::Values RAdamFormula::getElements(B &b, const UpdateRule &rule,
                                                Value parameter, Value gradient,
                                                ValueRange states,
                                                ValueRange scalars) const {
  FloatBuilder f(b, parameter.getType());
  Value average = f.lerp(states[0], gradient, 1 - rule.beta1);
  Value square = f.averageSquare(states[1], rule.beta2, gradient);
  Value root = f.add(f.sqrt(square), f.constant(rule.epsilon));
  Value isDivided =
      f.compare(arith::CmpFPredicate::OGT, scalars[1], f.constant(0));
  Value factor = f.select(isDivided, f.div(scalars[1], root), f.constant(1));
  Value direction = f.mul(average, factor);
  return {f.addScaled(parameter, scalars[0], direction), average, square};
}
