//===- ImportFxTranslation.cpp - regather-translate --import-fx -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Import/ImportFx.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-translate/Translation.h"

using namespace mlir;

void regather::registerImportFxTranslation() {
  static TranslateToMLIRRegistration registration(
      "import-fx", "Read a captured training graph (NAME.fx.json)",
      [](llvm::SourceMgr &sourceMgr, MLIRContext *context)
          -> OwningOpRef<Operation *> { return importFx(sourceMgr, context); },
      [](DialectRegistry &registry) {
        registry.insert<func::FuncDialect, tg::TGDialect>();
      });
}
