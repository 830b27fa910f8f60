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
#include "regather/Support/Signals.h"

#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>

using namespace regather;

int regather::printError(const std::string &message) {
  std::fprintf(stderr, "regather: error: %s\n", message.c_str());
  return 1;
}

int regather::finishOutput(int code) {
  // A line that failed before leaves no reason behind.
  errno = 0;
  if (std::fflush(stdout) == 0 && !std::ferror(stdout))
    return code;
  std::string reason = errno ? std::string(": ") + std::strerror(errno) : "";
  printError("cannot write to standard output" + reason);
  return code ? code : 1;
}

static void printWarning(const std::string &message) {
  std::fprintf(stderr, "regather: warning: %s\n", message.c_str());
}

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
      {"--trace", options.trace}};
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

static void printStep(const RunOptions &options, int64_t index,
                      std::optional<double> loss, double seconds) {
  int64_t first = options.inputs.firstStep;
  std::printf("step %" PRId64 "/%" PRId64, first + index,
              first + options.steps - 1);
  if (loss)
    std::printf("  loss %.9g", *loss);
  std::printf("  %.2f ms\n", seconds * 1e3);
  std::fflush(stdout);
}

/// Compares the plan of the memory with what was touched.
static Failure checkPlan(const Engine &engine) {
  auto arena = engine.getArena();
  if (!arena || !arena->touched)
    return Failure("--check-plan needs an engine that plans memory");
  if (*arena->touched == arena->planned)
    return Failure();
  return Failure("the memory plan of a rank has " +
                 std::to_string(arena->planned) +
                 " bytes, but the step "
                 "touches " +
                 std::to_string(*arena->touched));
}

/// Says where a run ended that was asked to end, and how to go on.
static int reportStop(int signal, int64_t last, const RunOptions &options,
                      bool isSilent) {
  std::string text = std::string("stopped by ") +
                     (signal == SIGINT ? "SIGINT" : "SIGTERM") +
                     " after step " + std::to_string(last);
  bool isSaved = !options.outputs.empty() || !options.outputsSharded.empty();
  text += isSaved ? "; its results are written, and --first-step=" +
                        std::to_string(last + 1) + " goes on"
                  : "; its results are lost: neither --outputs nor "
                    "--outputs-sharded was given";
  if (!isSilent)
    printWarning(text);
  return 128 + signal;
}

int regather::runStep(const RunOptions &options, const RunSubject &subject,
                      Progress &progress) {
  const StepSignature &step = subject.step;
  InputOptions inputs = options.inputs;
  inputs.onlyRank = subject.onlyRank;
  // Rank 0 speaks for all processes of a job.
  bool isSilent = subject.onlyRank.value_or(0) != 0;
  if (isSilent)
    progress.silence();
  std::vector<Failure> unwritable = checkOutputs(options, subject.onlyRank);
  for (const Failure &failure : unwritable)
    printError(failure.getMessage());
  if (!unwritable.empty())
    return 1;
  std::optional<TextBatches> batches;
  if (!options.text.empty()) {
    auto opened = TextBatches::create(step, options.text, options.textInputs);
    if (!opened)
      return printError(opened.getMessage());
    batches = std::move(*opened);
    inputs.fed.insert(batches->getArguments().begin(),
                      batches->getArguments().end());
  }
  std::vector<std::string> warnings;
  auto arguments = makeInputs(step, inputs, warnings);
  if (!arguments)
    return printError(arguments.getMessage());
  for (const std::string &warning : warnings)
    if (!isSilent)
      printWarning(warning);

  std::unique_ptr<Engine> engine = subject.createEngine();
  if (!engine)
    return 1;

  // Step lines are the result; with --json, and on a terminal, a bar shows how
  // far the run is.
  progress.begin("training", options.steps);
  auto report = [&](int64_t index, std::optional<double> loss, double seconds) {
    if (!options.json && !isSilent) {
      progress.clear();
      printStep(options, index, loss, seconds);
    }
    progress.advance(index + 1);
  };
  auto feed = [&](int64_t index, std::vector<RankValues> &values) {
    if (batches)
      batches->fill(options.inputs.firstStep - 1 + index, values);
  };
  StopSignals signals;
  Failure saveFailure;
  TrainingHooks hooks{report, feed, [&] { return signals.get() != 0; }};
  hooks.saveEvery = options.saveEvery;
  hooks.save = [&](int64_t index, const TrainingResult &now) {
    saveFailure = writeShards(options, *engine, step, now);
    if (!saveFailure)
      progress.note("saved step " +
                    std::to_string(options.inputs.firstStep + index) + " to '" +
                    options.outputsSharded + "'");
    return !saveFailure;
  };
  auto training =
      train(*engine, step, std::move(*arguments), options.steps, hooks);
  progress.end();
  if (saveFailure)
    return printError(saveFailure.getMessage());
  if (!training) {
    // The engine has said why, unless there is something to add.
    if (!training.getMessage().empty())
      subject.reportError(training.getMessage());
    return 1;
  }
  if (options.checkPlan)
    if (Failure failure = checkPlan(*engine))
      return printError(failure.getMessage());

  RunReport summary{options.file, step,      subject.collectives,
                    *engine,      *training, std::nullopt};
  if (batches)
    summary.tokensPerStep = batches->getTokensPerStep();
  if (Failure failure = writeOutputs(options, *engine, summary))
    return printError(failure.getMessage());
  if (!isSilent) {
    std::string text =
        options.json ? formatJson(summary) : formatSummary(summary);
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  auto done = static_cast<int64_t>(training->seconds.size());
  if (done == options.steps)
    return finishOutput(0);
  // Another rank of the job may have been asked.
  int signal = signals.get() ? signals.get() : SIGTERM;
  return finishOutput(reportStop(signal, options.inputs.firstStep + done - 1,
                                 options, isSilent));
}
