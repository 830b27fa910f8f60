//===- regather.cpp - The driver ------------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandFlags.h"

#include "regather/Support/Signals.h"

#include "llvm/Support/InitLLVM.h"

using namespace regather;

static int runSubcommand() {
  if (runCommand)
    return runMain();
  if (calibrateCommand)
    return calibrateMain();
  if (checkCallsCommand)
    return checkCallsMain();
  if (compileCommand)
    return compileMain();
  if (manifestCommand)
    return manifestMain();
  if (reportCommand)
    return reportMain();
  if (simulateCommand)
    return simulateMain();
  if (planCommand)
    return planMain();
  if (statsCommand)
    return statsMain();
  if (treeCommand)
    return treeMain();
  llvm::cl::PrintHelpMessage();
  return 1;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  ignoreFileSizeSignal();
  declareCommandFlags();
  for (llvm::cl::SubCommand *command :
       {&runCommand, &calibrateCommand, &checkCallsCommand, &compileCommand,
        &manifestCommand, &planCommand, &reportCommand, &simulateCommand,
        &statsCommand, &treeCommand})
    llvm::cl::HideUnrelatedOptions(getCategory(), *command);
  llvm::cl::HideUnrelatedOptions(getCategory());
  llvm::cl::ParseCommandLineOptions(
      argc, argv, "Regather: the MLIR compiler for sharded training\n");
  int code = runSubcommand();
  llvm::raw_fd_ostream &os = llvm::outs();
  os.flush();
  if (!os.has_error())
    return code;
  reportError("cannot write to standard output: " + os.error().message());
  os.clear_error();
  return code ? code : 1;
}
