//===- CommandRequest.h - What is asked of a command ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DRIVER_COMMANDREQUEST_H
#define REGATHER_DRIVER_COMMANDREQUEST_H

#include "regather/Driver/CalibrateMachine.h"
#include "regather/Driver/CommandOption.h"
#include "regather/Driver/CompileStep.h"
#include "regather/Driver/DescribeModules.h"
#include "regather/Driver/PlanMeshes.h"
#include "regather/Driver/SimulateStep.h"
#include "regather/Pipelines/StepOptions.h"

namespace regather {

/// The command of a name such as "simulate", of those whose options the C API
/// lists.
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
  /// equal ones are folded. Of plan: the parameters to explain.
  std::vector<std::string> patterns;
  unsigned depth = ModuleNames::kMaxDepth;
  bool folds = true;
  /// Of plan: how many to keep.
  unsigned count = 10;
  /// Of calibrate.
  CalibrationRequest calibration;
};

/// Reads texts, each with the name of its option, into a request, those of
/// passes over those that decide about them. Messages name options with
/// `dashes` before them. Fails for an option that the command does not have,
/// and says which it has.
Result<CommandRequest>
readRequest(Command command,
            llvm::ArrayRef<std::pair<llvm::StringRef, llvm::StringRef>> options,
            llvm::StringRef dashes = "");

// What the commands take, of a step that messages and pages call `file`.
ModulesRequest takeModulesRequest(CommandRequest request, std::string file);
SimulateRequest takeSimulateRequest(CommandRequest request, std::string file);
CalibrationRequest takeCalibrationRequest(CommandRequest request);
CompileRequest takeCompileRequest(CommandRequest request, std::string file);
PlanRequest takePlanRequest(CommandRequest request, std::string file);

} // namespace regather

#endif // REGATHER_DRIVER_COMMANDREQUEST_H
