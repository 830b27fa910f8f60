//===- CommandRequest.h - Commands by options as text -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DRIVER_COMMANDREQUEST_H
#define REGATHER_DRIVER_COMMANDREQUEST_H

#include "regather/Driver/CompileStep.h"
#include "regather/Driver/DescribeModules.h"
#include "regather/Pipelines/StepOptions.h"
#include "regather/Support/Result.h"

#include <initializer_list>

namespace regather {

enum class Command { Simulate, Report, Stats, Tree, Compile };

/// The command of a name such as "simulate".
Result<Command> parseCommand(llvm::StringRef name);

/// What is asked of a command. Each uses its part.
struct CommandRequest {
  explicit CommandRequest(Command command);

  Command command;
  StepOptions step;
  CompileOptions compile;
  /// Of simulate.
  bool takesKernels = false;
  std::string orderFile;
  /// Of tree: the modules to show, how many levels below them, and whether
  /// equal ones are folded.
  std::vector<std::string> patterns;
  unsigned depth = ModuleNames::kMaxDepth;
  bool folds = true;
};

/// An option of commands, as texts see it: the flag without its dashes.
struct CommandOption {
  llvm::StringLiteral name;
  /// What a value looks like; empty for one that is true or false.
  llvm::StringLiteral value;
  llvm::StringLiteral help;
  std::initializer_list<Command> commands;
  /// Null for one that setStepOption reads.
  Failure (*read)(CommandRequest &request, llvm::StringRef text) = nullptr;
};

/// The options of a command, by name.
std::vector<const CommandOption *> listOptions(Command command);

/// Reads the options into a request, those of passes over those that decide
/// about them. Fails for one that the command does not have, and says which it
/// has.
Result<CommandRequest> readRequest(
    Command command,
    llvm::ArrayRef<std::pair<llvm::StringRef, llvm::StringRef>> options);

} // namespace regather

#endif // REGATHER_DRIVER_COMMANDREQUEST_H
