//===- Run.cpp - regather run ---------------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandFlags.h"

#include "regather/Driver/RunModule.h"
#include "regather/Execution/Bundle/PrintBundleRun.h"
#include "regather/Execution/Training/RunJob.h"

using namespace regather;
namespace cl = llvm::cl;

cl::SubCommand regather::runCommand("run", "Run a step on all ranks");

static cl::opt<std::string> runFile(cl::Positional, cl::desc("FILE"),
                                    cl::Required, cl::sub(runCommand),
                                    cl::cat(getCategory()));

namespace {
/// A flag of the table, with what the command line says.
struct GivenFlag {
  const RunFlag &flag;
  /// One of them.
  std::unique_ptr<cl::opt<bool>> isSet;
  std::unique_ptr<cl::opt<std::string>> value;

  Failure read(RunFlags &flags) const {
    if (isSet)
      return *isSet ? flag.read(flags, "") : Failure();
    return value->getNumOccurrences() ? flag.read(flags, *value) : Failure();
  }
};
} // namespace

/// Declares the flags of the table.
static std::vector<GivenFlag> declareFlags() {
  std::vector<GivenFlag> flags;
  for (const RunFlag &flag : getRunFlags()) {
    if (flag.tools == RunFlagTools::BothButDeclared)
      continue;
    GivenFlag &given = flags.emplace_back(GivenFlag{flag, nullptr, nullptr});
    if (flag.isSwitch())
      given.isSet = std::make_unique<cl::opt<bool>>(
          llvm::StringRef(flag.name), cl::desc(flag.help), cl::sub(runCommand),
          cl::cat(getCategory()));
    else
      given.value = std::make_unique<cl::opt<std::string>>(
          llvm::StringRef(flag.name), cl::desc(flag.help),
          cl::value_desc(flag.value), cl::sub(runCommand),
          flag.isOptional ? cl::ValueOptional : cl::ValueRequired,
          cl::cat(getCategory()));
  }
  return flags;
}

static const std::vector<GivenFlag> givenFlags = declareFlags();

static Result<RunFlags> readRunFlags(const CommandRequest &request) {
  RunFlags flags;
  flags.options.file = runFile;
  for (const GivenFlag &given : givenFlags)
    if (Failure failure = given.read(flags))
      return failure;
  flags.ranks = request.step.ranks;
  flags.quiet = isQuiet();
  flags.options.profile.cacheFolder = request.compile.cacheDirectory;
  if (Failure failure = checkRunFlags(flags))
    return failure;
  if (flags.communicator &&
      flags.communicator->kind == CommunicatorKind::Nccl && !isBundle(runFile))
    return Failure("--comm=nccl needs a bundle for GPUs");
  return flags;
}

static int runModuleFile(RunRequest request) {
  std::unique_ptr<InputFile> input = readInput(runFile);
  if (!input)
    return 1;
  const MpiJob *job = request.flags.job.get();
  if (Failure failure = takeRanksOfJob(*input->module, request))
    return printJobError(job, failure);
  ShownProgress progress;
  if (job && job->getRank() != 0)
    progress.progress.silence();
  std::unique_ptr<PreparedRun> run =
      prepareModuleRun(*input->module, request, progress);
  if (!run)
    return 1;
  if (run->prepared.memory)
    progress.progress.note(formatChoice(*run->prepared.memory));
  return finishJob(
      job, printRun(request.flags.options, run->subject, progress.progress));
}

static int runBundle(const RunFlags &flags) {
  if (flags.engine == EngineKind::Interpreter)
    return reportError("the interpreter runs modules, not bundles");
  if (Failure failure = rejectStepFlags())
    return reportError(failure.getMessage());
  Progress progress(flags.quiet);
  return printBundleRun(flags.options, makeBundleOptions(flags), progress);
}

int regather::runMain() {
  Result<CommandRequest> request = readCommandFlags(Command::Run);
  if (!request)
    return reportError(request.getMessage());
  Result<RunFlags> flags = readRunFlags(*request);
  if (!flags)
    return reportError(flags.getMessage());
  if (Failure failure = openJob(*flags))
    return printJobError(flags->job.get(), failure);
  return isBundle(runFile) ? runBundle(*flags)
                           : runModuleFile({*flags, std::move(request->step),
                                            std::move(request->compile)});
}
