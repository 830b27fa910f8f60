//===- regather.cpp - The driver ------------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "regather/Import/ImportFx.h"
#include "regather/InitAll.h"
#include "regather/Support/AtomicFile.h"
#include "regather/Support/NestingDepth.h"
#include "regather/Support/Signals.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace regather;

llvm::cl::OptionCategory &regather::getCategory() {
  static llvm::cl::OptionCategory category("regather options");
  return category;
}

static llvm::cl::opt<bool> quiet("quiet", llvm::cl::desc("Print no progress"),
                                 llvm::cl::sub(llvm::cl::SubCommand::getAll()),
                                 llvm::cl::cat(getCategory()));

bool regather::isQuiet() { return quiet; }

int regather::reportError(const llvm::Twine &message) {
  llvm::errs() << "regather: error: " << message << '\n';
  return 1;
}

Failure regather::rejectEmpty(
    llvm::ArrayRef<const llvm::cl::opt<std::string> *> options) {
  for (const llvm::cl::opt<std::string> *option : options)
    if (option->getNumOccurrences() && option->empty())
      return Failure((option->ArgStr.size() == 1 ? "-" : "--") +
                     option->ArgStr.str() + " needs the name of a file");
  return Failure();
}

bool regather::canWrite(
    llvm::ArrayRef<const llvm::cl::opt<std::string> *> options) {
  if (Failure failure = rejectEmpty(options)) {
    reportError(failure.getMessage());
    return false;
  }
  bool isGood = true;
  for (const llvm::cl::opt<std::string> *option : options) {
    if (option->empty())
      continue;
    if (Failure failure = checkWritable(*option)) {
      reportError("cannot write '" + *option + "': " + failure.getMessage());
      isGood = false;
    }
  }
  return isGood;
}

std::unique_ptr<InputFile> regather::readModule(llvm::StringRef path) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> buffer =
      mlir::openInputFile(path, &message);
  if (!buffer) {
    reportError(message);
    return nullptr;
  }
  bool isCapture = path.ends_with(".fx.json");
  if (!isCapture)
    if (Failure failure = checkNestingDepth(path.str(), buffer->getBuffer())) {
      llvm::errs() << failure.getMessage() << '\n';
      return nullptr;
    }
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  auto input = std::make_unique<InputFile>();
  input->context = std::make_unique<mlir::MLIRContext>(registry);
  input->context->printOpOnDiagnostic(false);
  input->sourceMgr.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  input->diagnostics = std::make_unique<SourceDiagnostics>(
      input->sourceMgr, input->context.get());
  mlir::MLIRContext *context = input->context.get();
  if (isCapture) {
    input->module = importFx(input->sourceMgr, context);
    if (input->module && failed(mlir::verify(*input->module)))
      return nullptr;
  } else {
    input->module =
        mlir::parseSourceFile<mlir::ModuleOp>(input->sourceMgr, context);
  }
  if (!input->module)
    return nullptr;
  return input;
}

static int runSubcommand() {
  if (runCommand)
    return runMain();
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
  // Pipelines are put together from the names of passes.
  registerAllPasses();
  for (llvm::cl::SubCommand *command :
       {&runCommand, &checkCallsCommand, &compileCommand, &manifestCommand,
        &reportCommand, &simulateCommand, &statsCommand, &treeCommand})
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
