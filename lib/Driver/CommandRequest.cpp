//===- CommandRequest.cpp - What is asked of a command --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/CommandRequest.h"

#include "regather/Support/LLVM/MakeFailure.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace regather;
using llvm::StringRef;

static constexpr std::pair<llvm::StringLiteral, Command> kCommands[] = {
    {"simulate", Command::Simulate},  {"plan", Command::Plan},
    {"report", Command::Report},      {"stats", Command::Stats},
    {"tree", Command::Tree},          {"compile", Command::Compile},
    {"calibrate", Command::Calibrate}};

Result<Command> regather::parseCommand(StringRef name) {
  for (auto &[known, command] : kCommands)
    if (known == name)
      return command;
  auto getName = [](const auto &known) { return known.first.str(); };
  return makeFailure("unknown command '{0}'; commands are {1}", name,
                     llvm::join(llvm::map_range(kCommands, getName), ", "));
}

CommandRequest::CommandRequest(Command command) : command(command) {
  // Only a run has data that could be of another size.
  if (command != Command::Run && command != Command::Execute)
    step.batch = tg::BatchMode::Auto;
  step.asCaptured = command == Command::Tree;
  compile.cacheDirectory = getDefaultCacheDirectory();
}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

static Failure checkName(StringRef name,
                         llvm::ArrayRef<const CommandOption *> known) {
  auto getName = [](const CommandOption *option) { return option->name.str(); };
  if (llvm::is_contained(llvm::map_range(known, getName), name))
    return Failure();
  return makeFailure("unknown option '{0}'; options are {1}", name,
                     known.empty()
                         ? "none"
                         : llvm::join(llvm::map_range(known, getName), ", "));
}

using GivenOptions = llvm::ArrayRef<std::pair<StringRef, StringRef>>;

static Failure checkTogether(const CommandRequest &request,
                             GivenOptions options, StringRef dashes) {
  const StepOptions &step = request.step;
  if (step.shard.mesh.empty() && !step.shard.replicateAxis.empty())
    return makeFailure("{0}replicate-axis needs {0}mesh", dashes);
  if (request.command != Command::Plan && step.shard.mesh.empty() &&
      !step.model.shard.empty())
    return makeFailure("{0}shard needs {0}mesh", dashes);
  // Processors run what graphs hold, too, if a plan or a pass asks for them.
  bool asksForGraphs = llvm::any_of(
      options, [](auto &option) { return option.first == "cuda-graph"; });
  if (asksForGraphs && step.program.graphs.mode != exec::GraphMode::None &&
      !request.compile.isForGpus())
    return makeFailure("{0}cuda-graph needs a {0}target such as nvptx:sm_90a",
                       dashes);
  return Failure();
}

Result<CommandRequest>
regather::readRequest(Command command,
                      llvm::ArrayRef<std::pair<StringRef, StringRef>> options,
                      StringRef dashes) {
  std::vector<const CommandOption *> known = listOptions(command);
  for (auto &[name, text] : options)
    if (Failure failure = checkName(name, known))
      return failure;
  CommandRequest request(command);
  for (const CommandOption *option : known) {
    std::string origin = (dashes + option->name).str();
    bool isGiven = false;
    for (auto &[name, text] : options) {
      if (option->name != name)
        continue;
      if (isGiven && !option->isRepeated)
        return makeFailure("{0} is given more than once", origin);
      isGiven = true;
      if (Failure failure = option->read(*option, request, text, origin))
        return failure;
    }
  }
  if (Failure failure = checkTogether(request, options, dashes))
    return failure;
  return request;
}

//===----------------------------------------------------------------------===//
// Requests of the commands
//===----------------------------------------------------------------------===//

ModulesRequest regather::takeModulesRequest(CommandRequest request,
                                            std::string file) {
  ModulesRequest modules;
  modules.file = std::move(file);
  // Nothing is scheduled, so that only estimates need it.
  modules.cluster = std::move(request.step.cluster);
  request.step.cluster.clear();
  modules.step = std::move(request.step);
  modules.patterns = std::move(request.patterns);
  return modules;
}

SimulateRequest regather::takeSimulateRequest(CommandRequest request,
                                              std::string file) {
  SimulateRequest simulate;
  simulate.file = std::move(file);
  simulate.step = std::move(request.step);
  simulate.takesKernels = request.takesKernels;
  simulate.orderFile = std::move(request.orderFile);
  return simulate;
}

PlanRequest regather::takePlanRequest(CommandRequest request,
                                      std::string file) {
  PlanRequest plan;
  plan.file = std::move(file);
  plan.step = std::move(request.step);
  plan.count = request.count;
  plan.explained = std::move(request.patterns);
  return plan;
}

CompileRequest regather::takeCompileRequest(CommandRequest request,
                                            std::string file) {
  CompileRequest compile;
  compile.file = std::move(file);
  compile.step = std::move(request.step);
  compile.code = std::move(request.compile);
  // CPUs say themselves what they have.
  compile.step.fitsDevice = compile.code.isForGpus();
  compile.step.expandsAttention = compile.code.isForGpus();
  return compile;
}

CalibrationRequest regather::takeCalibrationRequest(CommandRequest request) {
  CalibrationRequest taken = std::move(request.calibration);
  taken.cacheDirectory = std::move(request.compile.cacheDirectory);
  return taken;
}
