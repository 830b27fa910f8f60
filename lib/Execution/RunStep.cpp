//===- RunStep.cpp - A run from its options to its report -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/RunStep.h"

#include "regather/Execution/RunTrace.h"
#include "regather/Execution/ShardFolder.h"
#include "regather/Execution/TextBatches.h"
#include "regather/Support/AtomicFile.h"

#include <cinttypes>
#include <cmath>
#include <cstdio>

using namespace regather;

int regather::printError(const std::string &message) {
  std::fprintf(stderr, "regather: error: %s\n", message.c_str());
  return 1;
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

static Failure writeFiles(const RunOptions &options, Engine &engine,
                          const RunReport &report) {
  auto explain = [](const Failure &failure, const std::string &path) {
    return Failure("cannot write '" + path + "': " + failure.getMessage());
  };
  if (!options.outputs.empty()) {
    auto tensors = collectOutputs(engine, report.step, report.training);
    if (!tensors)
      return tensors.getFailure();
    if (report.training.onlyRank.value_or(0) == 0)
      if (Failure failure = writeSafetensors(options.outputs, *tensors))
        return explain(failure, options.outputs);
  }
  auto waitForAll = [&]() -> Failure {
    auto parts = engine.gather(HostTensor::zeros(ElementType::I8, {0}));
    return parts ? Failure()
                 : Failure("cannot save the results: " + parts.getMessage());
  };
  if (!options.outputsSharded.empty())
    if (Failure failure = writeShardFolder(options.outputsSharded, report.step,
                                           report.training, waitForAll))
      return failure;
  // What is left is about the whole job.
  if (report.training.onlyRank.value_or(0) != 0)
    return Failure();
  if (!options.report.empty())
    if (Failure failure =
            writeFileAtomically(options.report, {formatJson(report)}))
      return explain(failure, options.report);
  if (!options.trace.empty())
    if (Failure failure = writeFileAtomically(
            options.trace, {formatTrace(report.engine.getSpans())}))
      return explain(failure, options.trace);
  return Failure();
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

int regather::runStep(const RunOptions &options, const RunSubject &subject,
                      Progress &progress) {
  const StepSignature &step = subject.step;
  InputOptions inputs = options.inputs;
  inputs.onlyRank = subject.onlyRank;
  // Rank 0 speaks for all processes of a job.
  bool isSilent = subject.onlyRank.value_or(0) != 0;
  if (isSilent)
    progress.silence();
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
  auto training =
      train(*engine, step, std::move(*arguments), options.steps, report, feed);
  progress.end();
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
  if (Failure failure = writeFiles(options, *engine, summary))
    return printError(failure.getMessage());
  if (isSilent)
    return 0;
  std::string text =
      options.json ? formatJson(summary) : formatSummary(summary);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}
