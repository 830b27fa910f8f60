//===- regather.cpp - The driver ------------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "regather/Driver/ReadModule.h"
#include "regather/InitAll.h"
#include "regather/Support/AtomicFile.h"
#include "regather/Support/Signals.h"

#include "llvm/Support/InitLLVM.h"

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

bool regather::writeFile(const std::string &path, llvm::StringRef text) {
  if (path.empty())
    return true;
  if (Failure failure = writeFileAtomically(path, {text})) {
    reportError("cannot write '" + path + "': " + failure.getMessage());
    return false;
  }
  return true;
}

std::unique_ptr<InputFile> regather::readInput(llvm::StringRef path) {
  auto input = std::make_unique<InputFile>();
  input->context = createContext();
  input->diagnostics = std::make_unique<SourceDiagnostics>(
      input->sourceMgr, input->context.get());
  input->module = readModule(path, input->sourceMgr, *input->context);
  return input->module ? std::move(input) : nullptr;
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
  // Passes that no step goes through are told from those that do not exist.
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
