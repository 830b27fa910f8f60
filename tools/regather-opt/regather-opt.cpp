//===- regather-opt.cpp - Run passes on modules ---------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/InitAll.h"
#include "regather/Support/NestingDepth.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

/// Does what MlirOptMain does with files, and looks at the input first.
static llvm::LogicalResult optimize(const std::string &input,
                                    const std::string &output,
                                    mlir::DialectRegistry &registry) {
  auto fail = [](const std::string &message) {
    llvm::errs() << message << '\n';
    return mlir::failure();
  };
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> buffer =
      mlir::openInputFile(input, &message);
  if (!buffer)
    return fail(message);
  if (regather::Failure failure = regather::checkNestingDepth(
          buffer->getBufferIdentifier().str(), buffer->getBuffer()))
    return fail(failure.getMessage());
  std::unique_ptr<llvm::ToolOutputFile> file =
      mlir::openOutputFile(output, &message);
  if (!file)
    return fail(message);
  if (failed(mlir::MlirOptMain(file->os(), std::move(buffer), registry,
                               mlir::MlirOptMainConfig::createFromCLOptions())))
    return mlir::failure();
  file->keep();
  return mlir::success();
}

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllPasses();
  regather::registerAllDialects(registry);
  regather::registerAllPasses();
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "Regather optimizer driver\n", registry);
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  // These read nothing.
  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::asMainReturnCode(
        mlir::MlirOptMain(argc, argv, input, output, registry));
  llvm::InitLLVM init(argc, argv);
  return mlir::asMainReturnCode(optimize(input, output, registry));
}
