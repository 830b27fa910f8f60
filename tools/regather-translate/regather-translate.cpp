//===- regather-translate.cpp - Import and export modules -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Import/ImportFx.h"

#include "mlir/InitAllTranslations.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"

int main(int argc, char **argv) {
  mlir::registerAllTranslations();
  regather::registerImportFxTranslation();
  return mlir::failed(
      mlir::mlirTranslateMain(argc, argv, "Regather translation driver"));
}
