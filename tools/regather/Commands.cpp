//===- Commands.cpp - What subcommands share ------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "regather/Driver/ReadModule.h"
#include "regather/Execution/Training/RunFlags.h"
#include "regather/Support/AtomicFile.h"

using namespace regather;

llvm::cl::OptionCategory &regather::getCategory() {
  static llvm::cl::OptionCategory category("regather options");
  return category;
}

static llvm::cl::opt<bool> quiet("quiet",
                                 llvm::cl::desc(findRunFlag("quiet")->help),
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
