//===- StepEntry.cpp - The function that is the step ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Utils/StepEntry.h"

using namespace mlir;

FailureOr<func::FuncOp> regather::tg::findStep(ModuleOp module,
                                               StringRef advice) {
  func::FuncOp step;
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isExternal() || !func.isPublic())
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
