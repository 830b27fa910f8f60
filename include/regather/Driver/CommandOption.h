//===- CommandOption.h - Options of commands --------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table of what can be asked of commands. `regather` makes its flags of it,
// the C API and Python their options.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DRIVER_COMMANDOPTION_H
#define REGATHER_DRIVER_COMMANDOPTION_H

#include "regather/Support/Result.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <vector>

namespace regather {

struct CommandRequest;

/// What is done with a step.
enum class Command {
  Run,
  /// A run on memory of the caller.
  Execute,
  Compile,
  Report,
  Simulate,
  /// A search over meshes.
  Plan,
  Stats,
  Tree,
  /// Of this machine, without a step.
  Calibrate
};

/// An option of some commands. As a flag it has two dashes before its name.
struct CommandOption {
  llvm::StringLiteral name;
  /// What a value looks like; empty for one that is true or false.
  llvm::StringLiteral value;
  /// Names other options without dashes.
  llvm::StringLiteral help;
  llvm::ArrayRef<Command> commands;
  /// Reads a value into a request; messages begin with `origin`, the name as
  /// the user knows it.
  Failure (*read)(const CommandOption &option, CommandRequest &request,
                  llvm::StringRef text, llvm::StringRef origin);
  /// It may be given several times.
  bool isRepeated = false;

  bool isSwitch() const { return value.empty(); }
  bool isOf(Command command) const;
};

/// All options. Those of passes are the last, so that they go over those of
/// steps.
llvm::ArrayRef<CommandOption> getCommandOptions();

/// The options of a command, in the order of the table.
std::vector<const CommandOption *> listOptions(Command command);

} // namespace regather

#endif // REGATHER_DRIVER_COMMANDOPTION_H
