//===- UpdateRule.h - How one parameter is updated ------------ -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DIALECT_TG_TRANSFORMS_UPDATERULE_H
#define REGATHER_LIB_DIALECT_TG_TRANSFORMS_UPDATERULE_H

#include "regather/Dialect/TG/Transforms/Passes.h"

namespace regather::tg {

/// The settings of an update, called as those of torch.optim. Fields that an
/// optimizer does not know are not read.
struct UpdateRule {
  OptimizerKind kind = OptimizerKind::AdamW;
  double learningRateScale = 1;
  double weightDecay = 0;
  /// The decay shrinks the parameter; else it is part of the gradient.
  bool isDecoupled = false;
  /// Climbs instead.
  bool maximize = false;
  /// Added to a denominator; optimizers without one have 0.
  double epsilon = 0;

  // Adam and what follows it.
  double beta1 = 0.9;
  double beta2 = 0.999;
  bool amsgrad = false;
  // SGD and RMSprop.
  double momentum = 0;
  // SGD.
  double dampening = 0;
  bool nesterov = false;
  /// RMSprop (`alpha`) and Adadelta (`rho`): weight of the old average.
  double smoothing = 0;
  bool centered = false;
  // Adagrad.
  double learningRateDecay = 0;
};

} // namespace regather::tg

#endif // REGATHER_LIB_DIALECT_TG_TRANSFORMS_UPDATERULE_H
