//===- RunStep.cpp - A run from its options to its report -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Training/RunStep.h"

#include "RunOutputs.h"

#include "regather/Execution/Training/TextBatches.h"

#include <cmath>

using namespace regather;

Failure regather::checkRunOptions(const RunOptions &options) {
  if (options.steps < 1)
    return Failure("--steps must be at least 1, got " +
                   std::to_string(options.steps));
  if (options.text.empty() && !options.textInputs.empty())
    return Failure("--text-inputs needs --text");
  if (options.saveEvery < 0)
    return Failure("--save-every must be at least 1, got " +
                   std::to_string(options.saveEvery));
  if (options.saveEvery > 0 && options.outputsSharded.empty())
    return Failure("--save-every needs --outputs-sharded");
  // Step lines and JSON go to standard output.
  const std::pair<const char *, const std::string &> files[] = {
      {"--outputs", options.outputs},
      {"--report", options.report},
      {"--trace", options.trace},
      {"--profile", options.profile.page}};
  for (const auto &[flag, path] : files)
    if (path == "-")
      return Failure(std::string(flag) + " needs the name of a file");
  // Step numbers stay below 2^62, so that counting cannot overflow.
  constexpr int64_t kLargest = int64_t(1) << 62;
  if (options.inputs.firstStep < 1 || options.inputs.firstStep > kLargest)
    return Failure("--first-step must be between 1 and 2^62, got " +
                   std::to_string(options.inputs.firstStep));
  if (!std::isfinite(options.inputs.learningRate.value_or(0)))
    return Failure("--learning-rate must be finite");
  return Failure();
}

/// Compares the plan of the memory with what was touched.
static Failure checkPlan(const Engine &engine) {
  auto arena = engine.getArena();
  if (!arena || !arena->touched)
    return Failure("--check-plan needs an engine that plans memory");
  if (*arena->touched != arena->planned)
    return Failure("the memory plan of a rank has " +
                   std::to_string(arena->planned) +
                   " bytes, but the step "
                   "touches " +
                   std::to_string(*arena->touched));
  if (arena->touchedOnHost && *arena->touchedOnHost != arena->plannedOnHost)
    return Failure("the memory plan of a rank has " +
                   std::to_string(arena->plannedOnHost) +
                   " bytes on the host, but the step touches " +
                   std::to_string(*arena->touchedOnHost));
  return Failure();
}

/// Opens the text that the step trains on, if there is one.
static Result<std::optional<TextBatches>> openText(const RunOptions &options,
                                                   const StepSignature &step) {
  if (options.text.empty())
    return std::optional<TextBatches>();
  auto opened = TextBatches::create(step, options.text, options.textInputs);
  if (!opened)
    return opened.getFailure();
  return std::optional<TextBatches>(std::move(*opened));
}

/// Runs the steps and tells the listener of each.
static Result<TrainingResult>
trainStep(const RunOptions &options, const RunSubject &subject, Engine &engine,
          std::vector<RankValues> arguments,
          const std::optional<TextBatches> &batches, ProfileCollector &profile,
          RunListener &listener) {
  Failure saveFailure;
  TrainingHooks hooks;
  hooks.callback = [&](int64_t index, std::optional<double> loss,
                       double seconds) {
    listener.finishStep(index, loss, seconds);
    // Rank 0 of a job, or of this process, stands for all.
    if (options.profile.isAsked && engine.getOnlyRank().value_or(0) == 0)
      profile.addStep(engine.getSpans().front(), seconds);
  };
  hooks.feed = [&](int64_t index, std::vector<RankValues> &values) {
    if (batches)
      batches->fill(options.inputs.firstStep - 1 + index, values);
  };
  hooks.shouldStop = [&] { return listener.shouldStop(); };
  hooks.saveEvery = options.saveEvery;
  hooks.save = [&](int64_t index, const TrainingResult &now) {
    saveFailure = writeShards(options, engine, subject.step, now);
    if (!saveFailure)
      listener.saveStep(index);
    return !saveFailure;
  };
  hooks.createRoomy = subject.createRoomy;
  listener.begin();
  auto training =
      train(engine, subject.step, std::move(arguments), options.steps, hooks);
  listener.end();
  if (saveFailure)
    return saveFailure;
  if (training || training.getMessage().empty())
    return training;
  // It is about the step, so whoever knows where that is has to say it.
  subject.reportError(training.getMessage());
  return Failure(std::string());
}

/// The profile of rank 0; nothing on another one.
static std::optional<StepProfile>
finishProfile(const RunOptions &options, const Engine &engine,
              const ProfileCollector &collector,
              std::vector<std::string> &warnings) {
  if (collector.isEmpty())
    return std::nullopt;
  StepProfile profile = collector.finish();
  profile.threads = engine.getThreads();
  std::string warning;
  profile.machine =
      getMachineRates(options.profile.cacheFolder, profile.threads, warning);
  if (!warning.empty())
    warnings.push_back(warning);
  return profile;
}

Result<RunReport> regather::runStep(const RunOptions &options,
                                    const RunSubject &subject,
                                    RunListener &listener) {
  if (auto failures = checkOutputs(options, subject.onlyRank);
      !failures.empty())
    return failures.front();
  InputOptions inputs = options.inputs;
  inputs.onlyRank = subject.onlyRank;
  auto batches = openText(options, subject.step);
  if (!batches)
    return batches.getFailure();
  if (*batches)
    inputs.fed.insert((*batches)->getArguments().begin(),
                      (*batches)->getArguments().end());
  std::vector<std::string> warnings;
  auto arguments = makeInputs(subject.step, inputs, warnings);
  if (!arguments)
    return arguments.getFailure();
  for (const std::string &warning : warnings)
    listener.warn(warning);

  auto engine = subject.createEngine();
  if (!engine)
    return engine.getFailure();
  ProfileCollector collector;
  auto training = trainStep(options, subject, **engine, std::move(*arguments),
                            *batches, collector, listener);
  if (!training)
    return training.getFailure();
  if (options.checkPlan)
    if (Failure failure = checkPlan(**engine))
      return failure;

  RunReport report = makeRunReport(subject.step, **engine, *training);
  report.file = options.file;
  report.collectives = subject.collectives;
  size_t numWarnings = warnings.size();
  report.profile = finishProfile(options, **engine, collector, warnings);
  if (training->numRepeated)
    warnings.push_back(
        std::to_string(training->numRepeated) + " of " +
        std::to_string(training->seconds.size()) +
        " steps had too little room for the rows of experts, and were run "
        "again with room for all");
  for (size_t i = numWarnings; i < warnings.size(); ++i)
    listener.warn(warnings[i]);
  report.warnings = std::move(warnings);
  report.isStopped =
      static_cast<int64_t>(training->seconds.size()) < options.steps;
  if (*batches)
    report.tokensPerStep = (*batches)->getTokensPerStep();
  if (Failure failure =
          writeOutputs(options, **engine, subject.step, *training, report))
    return failure;
  return report;
}
