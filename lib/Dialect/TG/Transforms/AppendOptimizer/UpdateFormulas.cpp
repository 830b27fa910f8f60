//===- UpdateFormulas.cpp - Arithmetic of optimizers ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UpdateFormulas/Formulas.h"

#include "llvm/Support/ErrorHandling.h"

#include <limits>

using namespace regather::tg;
using namespace regather::tg::update;

UpdateFormula::~UpdateFormula() = default;

UpdateFormula::Values UpdateFormula::getScalars(B &b, const UpdateRule &rule,
                                                mlir::Value learningRate,
                                                mlir::Value step) const {
  return {FloatBuilder(b, b.getF64Type()).neg(learningRate)};
}

bool UpdateFormula::keepsZeros(const UpdateRule &rule) const {
  // What is less than any normal number may be read as zero, and 0 / 0 is none.
  return rule.epsilon >= std::numeric_limits<float>::min();
}

const UpdateFormula &regather::tg::getFormula(OptimizerKind kind) {
  static const AdamFormula adam;
  static const SgdFormula sgd;
  static const AdagradFormula adagrad;
  static const RmspropFormula rmsprop;
  static const AdamaxFormula adamax;
  static const AdadeltaFormula adadelta;
  static const RAdamFormula radam;
  switch (kind) {
  case OptimizerKind::AdamW:
  case OptimizerKind::Adam:
    return adam;
  case OptimizerKind::SGD:
    return sgd;
  case OptimizerKind::Adagrad:
    return adagrad;
  case OptimizerKind::RMSprop:
    return rmsprop;
  case OptimizerKind::Adamax:
    return adamax;
  case OptimizerKind::Adadelta:
    return adadelta;
  case OptimizerKind::RAdam:
    return radam;
  }
  llvm_unreachable("all optimizers have a formula");
}

llvm::StringRef regather::tg::getName(OptimizerKind kind) {
  switch (kind) {
  case OptimizerKind::AdamW:
    return "adamw";
  case OptimizerKind::Adam:
    return "adam";
  case OptimizerKind::SGD:
    return "sgd";
  case OptimizerKind::Adagrad:
    return "adagrad";
  case OptimizerKind::RMSprop:
    return "rmsprop";
  case OptimizerKind::Adamax:
    return "adamax";
  case OptimizerKind::Adadelta:
    return "adadelta";
  case OptimizerKind::RAdam:
    return "radam";
  }
  llvm_unreachable("all optimizers have a name");
}
