//===- regather-test-opt.cpp - Run passes of the tests --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestPasses.h"

#include "regather/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  regather::registerAllDialects(registry);
  regather::registerAllPasses();
  regather::test::registerTestPrintRecomputationProblemPass();
  regather::test::registerTestSplitNodesPass();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "Regather optimizer driver for tests\n", registry));
}
