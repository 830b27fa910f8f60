//===- RunModule.cpp - A run of a module ----------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/RunModule.h"

using namespace mlir;
using namespace regather;

/// The number of ranks of the module's mesh, before it is prepared; nothing if
/// it has none.
static std::optional<int64_t> findMeshRanks(ModuleOp module) {
  // All meshes of a module have the same number, which prepareStep checks.
  for (auto mesh : module.getOps<tg::MeshOp>())
    return mesh.getNumRanks();
  return std::nullopt;
}

static EngineOptions getEngineOptions(const RunFlags &flags,
                                      const CompileOptions &code) {
  EngineOptions options;
  options.seed = flags.seed;
  options.timeoutSeconds = flags.timeout.value_or(RunFlags::kDefaultTimeout);
  options.threads = flags.threads;
  options.communicator = flags.communicator.value_or(CommunicatorOptions());
  if (flags.job)
    options.transport = flags.job->getTransport();
  options.watchArena = flags.options.checkPlan;
  options.recordSpans = flags.options.needsSpans();
  options.compileThreads = code.threads;
  options.cacheDirectory = code.cacheDirectory;
  return options;
}

Failure regather::takeRanksOfJob(ModuleOp module, RunRequest &request) {
  const MpiJob *job = request.flags.job.get();
  if (!job)
    return Failure();
  int64_t ranks = findMeshRanks(module).value_or(job->getNumRanks());
  request.step.ranks = ranks;
  return job->checkRanks(ranks, "the mesh of the step has");
}

/// Prepares and compiles the step so that no rows are sent.
static Result<RoomyStep> createRoomy(PreparedRun &run,
                                     const RunRequest &request,
                                     const EngineOptions &options,
                                     ProgressListener &progress) {
  FailureOr<PreparedStep> prepared = prepareRun(
      *run.original, request.step.withRoomForAll(), request.flags.engine);
  if (failed(prepared))
    return Failure(std::string());
  run.roomy.emplace(std::move(*prepared));
  std::unique_ptr<Engine> engine =
      createStepEngine(*run.roomy, request.flags.engine, options, progress);
  if (!engine)
    return Failure(std::string());
  return RoomyStep{run.roomy->step.signature, std::move(engine)};
}

std::unique_ptr<PreparedRun>
regather::prepareModuleRun(ModuleOp module, const RunRequest &request,
                           ProgressListener &progress) {
  const RunFlags &flags = request.flags;
  OwningOpRef<ModuleOp> original;
  if (request.step.dispatch.isWanted())
    original = module.clone();
  progress.begin("preparing");
  FailureOr<PreparedStep> prepared =
      prepareRun(module, request.step, flags.engine);
  progress.end();
  if (failed(prepared))
    return nullptr;
  auto run = std::make_unique<PreparedRun>(std::move(*prepared));
  EngineOptions options = getEngineOptions(flags, request.code);
  run->subject = describeRun(run->prepared, flags.engine, options, progress);
  if (original && run->prepared.step.signature.overflow) {
    run->original = std::move(original);
    run->subject.createRoomy = [run = run.get(), request, options, &progress] {
      return createRoomy(*run, request, options, progress);
    };
  }
  if (flags.job)
    run->subject.onlyRank = flags.job->getRank();
  return run;
}

FailureOr<RunReport> regather::runModule(ModuleOp module, RunRequest request,
                                         RunListener &listener,
                                         ProgressListener &progress) {
  Location loc = UnknownLoc::get(module.getContext());
  if (Failure why = takeRanksOfJob(module, request)) {
    emitError(loc) << why.getMessage();
    return failure();
  }
  std::unique_ptr<PreparedRun> run =
      prepareModuleRun(module, request, progress);
  if (!run)
    return failure();
  Result<RunReport> report =
      runStep(request.flags.options, run->subject, listener);
  if (report)
    return std::move(*report);
  // An empty message has been told already.
  if (!report.getMessage().empty())
    emitError(loc) << report.getMessage();
  return failure();
}
