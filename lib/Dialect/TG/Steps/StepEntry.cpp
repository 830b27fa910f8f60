//===- StepEntry.cpp - The function that is the step ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Steps/StepEntry.h"

using namespace mlir;
using namespace regather::tg;

static bool isPublicDefinition(func::FuncOp func) {
  return !func.isExternal() && func.isPublic();
}

std::optional<StepParts> regather::tg::findStepParts(ModuleOp module) {
  StepParts parts;
  for (auto func : module.getOps<func::FuncOp>()) {
    if (!isPublicDefinition(func))
      continue;
    if (func.getName() == kForwardName)
      parts.forward = func;
    else if (func.getName() == kBackwardName)
      parts.backward = func;
    else
      return std::nullopt;
  }
  if (!parts.forward || !parts.backward)
    return std::nullopt;
  return parts;
}

FailureOr<func::FuncOp> regather::tg::findStep(ModuleOp module,
                                               StringRef advice) {
  func::FuncOp step;
  for (auto func : module.getOps<func::FuncOp>()) {
    if (!isPublicDefinition(func))
      continue;
    if (step) {
      InFlightDiagnostic diag =
          func.emitError() << "module has several public functions; " << advice;
      diag.attachNote(step.getLoc()) << "the first one is here";
      return diag;
    }
    step = func;
  }
  return step;
}
