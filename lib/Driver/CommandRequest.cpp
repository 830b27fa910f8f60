//===- CommandRequest.cpp - Commands by options as text -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/CommandRequest.h"

#include "regather/Pipelines/StepOptionText.h"
#include "regather/Support/LLVM/MakeFailure.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace regather;
using llvm::StringRef;

static constexpr std::pair<llvm::StringLiteral, Command> kCommands[] = {
    {"simulate", Command::Simulate},
    {"report", Command::Report},
    {"stats", Command::Stats},
    {"tree", Command::Tree},
    {"compile", Command::Compile}};

Result<Command> regather::parseCommand(StringRef name) {
  for (auto &[known, command] : kCommands)
    if (known == name)
      return command;
  return makeFailure("unknown command '{0}'; commands are simulate, report, "
                     "stats, tree, compile",
                     name);
}

CommandRequest::CommandRequest(Command command) : command(command) {
  step.batch = tg::BatchMode::Auto;
  step.asCaptured = command == Command::Tree;
  compile.cacheDirectory = getDefaultCacheDirectory();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static Failure readFlag(bool &value, StringRef text, StringRef name) {
  if (!text.empty() && text != "true" && text != "false")
    return makeFailure("{0} expects true or false, got '{1}'", name, text);
  value = text != "false";
  return Failure();
}

template <typename T>
static Failure readNumber(T &value, StringRef text, StringRef name, int64_t low,
                          int64_t high) {
  int64_t number;
  if (text.getAsInteger(10, number) || number < low || number > high)
    return makeFailure("{0} must be between {1} and {2}, got '{3}'", name, low,
                       high, text);
  value = number;
  return Failure();
}

static Failure readTarget(CommandRequest &request, StringRef text) {
  auto architectures = parseTarget(text);
  if (!architectures)
    return architectures.getFailure();
  request.compile.architectures = std::move(*architectures);
  return Failure();
}

static Failure readRanks(CommandRequest &request, StringRef text) {
  // A rank of a program that runs on this machine is one thread at least.
  bool isCompiled = request.command == Command::Compile;
  return readNumber(request.step.ranks.emplace(), text, "ranks", 1,
                    isCompiled ? 4096 : 1 << 20);
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

// Options of passes are the last, so that they go over those of steps.
static const CommandOption kOptions[] = {
    {"ranks",
     "N",
     "Number of ranks; the mesh decides by default",
     {Command::Simulate, Command::Report, Command::Compile},
     readRanks},
    {"entry",
     "NAME",
     "Function to take, if the module has several public ones",
     {Command::Simulate, Command::Report, Command::Compile},
     [](CommandRequest &request, StringRef text) {
       request.step.entry = text.str();
       return Failure();
     }},
    {"mesh",
     "AXIS:SIZE,...",
     "Shard the parameters of a step without a mesh over this one",
     {Command::Simulate, Command::Report, Command::Tree, Command::Compile}},
    {"replicate-axis",
     "AXIS",
     "Axis of the mesh that holds copies of shards",
     {Command::Simulate, Command::Report, Command::Tree, Command::Compile}},
    {"cluster",
     "NAME|FILE",
     "Where ranks are simulated, and what schedules and buckets are made for",
     {Command::Simulate, Command::Report, Command::Tree, Command::Compile},
     [](CommandRequest &request, StringRef text) {
       request.step.cluster = text.str();
       return Failure();
     }},
    {"batch",
     "BATCH",
     "Whose batch a step without a mesh has: global, that of all ranks; "
     "per-rank, that of one; or auto (default), which is global if the ranks "
     "divide it",
     {Command::Simulate, Command::Report, Command::Tree, Command::Compile}},
    {"layout",
     "LAYOUT",
     "How parameters that are sharded are stored: flat (default), or "
     "per-parameter",
     {Command::Simulate, Command::Report, Command::Compile}},
    {"policy",
     "POLICY OPTION=VALUE...",
     "What backward computes again: none, full, selective, or options of "
     "tg-apply-policy",
     {Command::Simulate, Command::Report, Command::Compile}},
    {"reshard",
     "MODE OPTION=VALUE...",
     "Gathered parameters to release after forward: always, never, default, "
     "none, or options of tg-reshard-after-forward",
     {Command::Simulate, Command::Report, Command::Compile}},
    {"recompute",
     "MODE OPTION=VALUE...",
     "What backward computes again besides what the policy says: none, or a "
     "mode of tg-partition and its options",
     {Command::Simulate, Command::Report, Command::Compile}},
    {"optimizer",
     "NAME OPTION=VALUE...",
     "Append an optimizer to a step that has gradients, such as 'adamw "
     "betas=0.9,0.95'",
     {Command::Simulate, Command::Report, Command::Compile}},
    {"bucket",
     "PLAN",
     "Collectives that start as one: none, auto, a plan such as "
     "'[embedding],[layers.*] each', or options of tg-bucket-collectives",
     {Command::Simulate, Command::Report, Command::Compile}},
    {"schedule",
     "MODE OPTION=VALUE...",
     "Order of the step: none, manual, auto, or options of tg-schedule",
     {Command::Simulate, Command::Report, Command::Compile}},
    {"cuda-graph",
     "MODE OPTION=VALUE...",
     "What a GPU is told at once: none (default), unit, modules=PATTERNS, "
     "full, or options of exec-form-graphs",
     {Command::Compile}},
    {"kernels",
     "",
     "Simulate kernels instead of single operations",
     {Command::Simulate},
     [](CommandRequest &request, StringRef text) {
       return readFlag(request.takesKernels, text, "kernels");
     }},
    {"overlap-groups",
     "",
     "Let collectives be in flight together whose groups share more than one "
     "device",
     {Command::Simulate},
     [](CommandRequest &request, StringRef text) {
       return readFlag(request.step.overlapsGroups, text, "overlap-groups");
     }},
    {"order",
     "FILE",
     "Operations of the step in another order: their names",
     {Command::Simulate},
     [](CommandRequest &request, StringRef text) {
       request.orderFile = text.str();
       return Failure();
     }},
    {"module",
     "PATTERN",
     "Show the modules that a pattern matches, such as layers.*",
     {Command::Tree},
     [](CommandRequest &request, StringRef text) {
       request.patterns.push_back(text.str());
       return Failure();
     }},
    {"depth",
     "N",
     "Levels to show below the model, or below each module that is named",
     {Command::Tree},
     [](CommandRequest &request, StringRef text) {
       return readNumber(request.depth, text, "depth", 0,
                         ModuleNames::kMaxDepth);
     }},
    {"no-fold",
     "",
     "Show each of several equal modules",
     {Command::Tree},
     [](CommandRequest &request, StringRef text) {
       bool isGiven = false;
       Failure failure = readFlag(isGiven, text, "no-fold");
       request.folds = !isGiven;
       return failure;
     }},
    {"target",
     "TARGET",
     "What the code is to run on: cpu (default), or nvptx:ARCH,...",
     {Command::Compile},
     readTarget},
    {"cache-dir",
     "DIR",
     "Folder that keeps compiled kernels, none if empty",
     {Command::Compile},
     [](CommandRequest &request, StringRef text) {
       request.compile.cacheDirectory = text.str();
       return Failure();
     }},
    {"compile-threads",
     "N",
     "Threads that compile kernels; 0, the default, for one on each core",
     {Command::Compile},
     [](CommandRequest &request, StringRef text) {
       return readNumber(request.compile.threads, text, "compile-threads", 0,
                         1024);
     }},
    {"libdevice",
     "FILE",
     "Path of NVIDIA's libdevice, if it is not to be searched for",
     {Command::Compile},
     [](CommandRequest &request, StringRef text) {
       request.compile.libdevice = text.str();
       return Failure();
     }},
    {"linker",
     "FILE",
     "Path of lld, if it is not to be searched for",
     {Command::Compile},
     [](CommandRequest &request, StringRef text) {
       request.compile.linker = text.str();
       return Failure();
     }},
    {"plan",
     "as-captured|FILE",
     "as-captured, or a JSON file with options of passes",
     {Command::Simulate, Command::Report, Command::Compile},
     [](CommandRequest &request, StringRef text) {
       return readPlan(request.step, text.str(), ("plan=" + text).str());
     }},
    {"pass-option",
     "PASS:OPTION=VALUE",
     "Option of a pass, such as tg-form-kernels:max-ops=32; over those of plan",
     {Command::Simulate, Command::Report, Command::Compile},
     [](CommandRequest &request, StringRef text) {
       return setPassOptions(request.step, text, "pass-option");
     }},
};

std::vector<const CommandOption *> regather::listOptions(Command command) {
  std::vector<const CommandOption *> options;
  for (const CommandOption &option : kOptions)
    if (llvm::is_contained(option.commands, command))
      options.push_back(&option);
  return options;
}

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

static Failure readOption(const CommandOption &option, CommandRequest &request,
                          StringRef text) {
  if (option.read)
    return option.read(request, text);
  return setStepOption(request.step, option.name, text, option.name);
}

static Failure checkTogether(const CommandRequest &request) {
  const StepOptions &step = request.step;
  if (step.shard.mesh.empty() && !step.shard.replicateAxis.empty())
    return Failure("replicate-axis needs mesh");
  if (step.program.graphs.mode != exec::GraphMode::None &&
      !request.compile.isForGpus())
    return Failure("cuda-graph needs a target such as nvptx:sm_90a");
  return Failure();
}

Result<CommandRequest>
regather::readRequest(Command command,
                      llvm::ArrayRef<std::pair<StringRef, StringRef>> options) {
  std::vector<const CommandOption *> known = listOptions(command);
  for (auto &[name, text] : options)
    if (llvm::none_of(known, [&, name = name](const CommandOption *option) {
          return option->name == name;
        }))
      return makeFailure(
          "unknown option '{0}'; options are {1}", name,
          known.empty()
              ? "none"
              : llvm::join(llvm::map_range(known,
                                           [](const CommandOption *o) {
                                             return o->name.str();
                                           }),
                           ", "));
  CommandRequest request(command);
  for (const CommandOption *option : known)
    for (auto &[name, text] : options)
      if (option->name == name)
        if (Failure failure = readOption(*option, request, text))
          return failure;
  if (Failure failure = checkTogether(request))
    return failure;
  return request;
}
