//===- CommandFlags.cpp - Flags of commands -------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandFlags.h"

#include <deque>

using namespace regather;
using llvm::StringRef;
namespace cl = llvm::cl;

static cl::SubCommand *getSubCommand(Command command) {
  switch (command) {
  case Command::Run:
    return &runCommand;
  case Command::Execute:
    return nullptr;
  case Command::Compile:
    return &compileCommand;
  case Command::Report:
    return &reportCommand;
  case Command::Simulate:
    return &simulateCommand;
  case Command::Plan:
    return &planCommand;
  case Command::Stats:
    return &statsCommand;
  case Command::Tree:
    return &treeCommand;
  case Command::Calibrate:
    return &calibrateCommand;
  }
  llvm_unreachable("unknown command");
}

namespace {
/// The commands of an option, as a modifier of its flag.
struct InCommands {
  void apply(cl::Option &flag) const {
    for (Command command : option.commands)
      if (cl::SubCommand *subCommand = getSubCommand(command))
        flag.addSubCommand(*subCommand);
  }

  const CommandOption &option;
};

/// A flag, and what the command line says of it.
class CommandFlag {
public:
  explicit CommandFlag(const CommandOption &option) : option(option) {
    InCommands commands{option};
    if (option.isSwitch())
      isSet = std::make_unique<cl::opt<bool>>(StringRef(option.name),
                                              cl::desc(option.help), commands,
                                              cl::cat(getCategory()));
    else
      values = std::make_unique<cl::list<std::string>>(
          StringRef(option.name), cl::desc(option.help),
          cl::value_desc(option.value), commands, cl::cat(getCategory()),
          option.isRepeated ? cl::ZeroOrMore : cl::Optional);
  }

  void addTexts(std::vector<std::pair<StringRef, StringRef>> &texts) const {
    if (isSet && isSet->getNumOccurrences())
      texts.emplace_back(option.name, *isSet ? "true" : "false");
    else if (values)
      for (const std::string &value : *values)
        texts.emplace_back(option.name, value);
  }

  bool isGiven() const {
    return isSet ? isSet->getNumOccurrences() : values->getNumOccurrences();
  }

  const CommandOption &option;

private:
  /// One of them.
  std::unique_ptr<cl::opt<bool>> isSet;
  std::unique_ptr<cl::list<std::string>> values;
};
} // namespace

static std::deque<CommandFlag> &getFlags() {
  static std::deque<CommandFlag> flags;
  return flags;
}

void regather::declareCommandFlags() {
  for (const CommandOption &option : getCommandOptions())
    getFlags().emplace_back(option);
}

Result<CommandRequest> regather::readCommandFlags(Command command) {
  std::vector<std::pair<StringRef, StringRef>> texts;
  for (const CommandFlag &flag : getFlags())
    flag.addTexts(texts);
  return readRequest(command, texts, "--");
}

Failure regather::rejectStepFlags() {
  // A bundle may leave the number of ranks open, but nothing else.
  for (const CommandFlag &flag : getFlags())
    if (flag.isGiven() && flag.option.isOf(Command::Run) &&
        flag.option.name != "ranks")
      return Failure("--" + flag.option.name.str() +
                     " has no effect on a bundle, which is compiled already");
  return Failure();
}
