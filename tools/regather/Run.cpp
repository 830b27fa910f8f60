//===- Run.cpp - regather run ---------------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Progress.h"

#include "regather/Execution/Engine.h"
#include "regather/Execution/StepInputs.h"
#include "regather/Execution/Training.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace regather;
using mlir::func::FuncOp;
namespace cl = llvm::cl;

cl::SubCommand regather::runCommand("run", "Run a step on all ranks");

namespace {
enum class EngineKind { Cpu, Interpreter };
} // namespace

static cl::opt<std::string> file(cl::Positional, cl::desc("FILE"), cl::Required,
                                 cl::sub(runCommand), cl::cat(getCategory()));
static cl::opt<EngineKind>
    engineKind("engine", cl::desc("What runs the step"),
               cl::values(clEnumValN(EngineKind::Cpu, "cpu",
                                     "compiled code on threads (default)"),
                          clEnumValN(EngineKind::Interpreter, "interpreter",
                                     "the slow reference")),
               cl::init(EngineKind::Cpu), cl::sub(runCommand),
               cl::cat(getCategory()));
static cl::opt<int64_t>
    ranks("ranks", cl::desc("Number of ranks; the mesh decides by default"),
          cl::value_desc("N"), cl::sub(runCommand), cl::cat(getCategory()));
static cl::opt<int64_t> steps("steps",
                              cl::desc("Number of steps; updates are fed back"),
                              cl::value_desc("N"), cl::init(1),
                              cl::sub(runCommand), cl::cat(getCategory()));
static cl::opt<std::string> entry("entry",
                                  cl::desc("Function to run, if the module has "
                                           "several public ones"),
                                  cl::value_desc("NAME"), cl::sub(runCommand),
                                  cl::cat(getCategory()));
static cl::opt<std::string>
    inputs("inputs",
           cl::desc("Read arguments from a safetensors file of "
                    "global tensors"),
           cl::value_desc("FILE"), cl::sub(runCommand), cl::cat(getCategory()));
static cl::opt<std::string>
    randomInputs("random-inputs",
                 cl::desc("Draw the arguments that no file holds; "
                          "\",integers\" draws small integers"),
                 cl::value_desc("SEED[,integers]"), cl::sub(runCommand),
                 cl::cat(getCategory()));
static cl::opt<int64_t>
    rngSeed("rng-seed",
            cl::desc("Seed of the random numbers that the step draws, over "
                     "that of the file (default 0)"),
            cl::value_desc("N"), cl::sub(runCommand), cl::cat(getCategory()));
static cl::opt<double> learningRate(
    "learning-rate", cl::desc("Value of the argument of role learning_rate"),
    cl::value_desc("VALUE"), cl::sub(runCommand), cl::cat(getCategory()));
static cl::opt<int64_t>
    firstStep("first-step",
              cl::desc("Number of the first step, to go on with a run"),
              cl::value_desc("N"), cl::init(1), cl::sub(runCommand),
              cl::cat(getCategory()));
static cl::opt<std::string> outputs(
    "outputs", cl::desc("Write the results of the last step as global tensors"),
    cl::value_desc("FILE"), cl::sub(runCommand), cl::cat(getCategory()));
static cl::opt<uint64_t>
    seed("seed",
         cl::desc("Order in which the interpreter completes collectives"),
         cl::value_desc("S"), cl::init(0), cl::sub(runCommand),
         cl::cat(getCategory()));
static cl::opt<double>
    timeout("timeout",
            cl::desc("Seconds a rank of the cpu engine waits for "
                     "others before it gives up (default 600)"),
            cl::value_desc("SECONDS"), cl::init(600), cl::sub(runCommand),
            cl::cat(getCategory()));
static cl::opt<bool> json("json", cl::desc("Print one JSON object on stdout"),
                          cl::sub(runCommand), cl::cat(getCategory()));
static cl::opt<bool> quiet("quiet", cl::desc("Print no progress"),
                           cl::sub(runCommand), cl::cat(getCategory()));

/// The middle of the step times, so that a slow first step does not show.
static double getMedian(std::vector<double> values) {
  if (values.empty())
    return 0;
  auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// JSON has no NaN and no infinity.
static llvm::json::Value toJson(double value) {
  if (!std::isfinite(value))
    return nullptr;
  return value;
}

static void printJson(const StepSignature &step, const Engine &engine,
                      const TrainingResult &training) {
  llvm::json::Array losses;
  for (double loss : training.losses)
    losses.push_back(toJson(loss));
  llvm::json::Object object{
      {"file", file.getValue()},
      {"entry", FuncOp(step.entry).getName()},
      {"engine", engine.getName()},
      {"ranks", step.ranks},
      {"steps", static_cast<int64_t>(training.seconds.size())},
      {"losses", std::move(losses)},
      {"seconds_per_step", getMedian(training.seconds)}};
  llvm::outs() << llvm::json::Value(std::move(object)) << '\n';
}

static void printStep(int64_t index, std::optional<double> loss,
                      double seconds) {
  llvm::outs() << "step " << firstStep + index << '/' << firstStep + steps - 1;
  if (loss)
    llvm::outs() << llvm::format("  loss %.9g", *loss);
  llvm::outs() << llvm::format("  %.2f ms\n", seconds * 1e3);
  llvm::outs().flush();
}

/// Checks the options that do not depend on the module.
static llvm::Error checkOptions(InputOptions &options) {
  if (steps < 1)
    return llvm::createStringError("--steps must be at least 1, got " +
                                   llvm::Twine(steps));
  if (ranks.getNumOccurrences() && (ranks < 1 || ranks > 4096))
    return llvm::createStringError("--ranks must be between 1 and 4096, got " +
                                   llvm::Twine(ranks));
  if (!(timeout > 0))
    return llvm::createStringError("--timeout must be positive");
  // Step lines and JSON go to standard output.
  if (outputs == "-")
    return llvm::createStringError("--outputs needs the name of a file");
  // Step numbers stay below 2^62, so that counting cannot overflow.
  constexpr int64_t kLargest = int64_t(1) << 62;
  if (firstStep < 1 || firstStep > kLargest)
    return llvm::createStringError(
        "--first-step must be between 1 and 2^62, got " +
        llvm::Twine(firstStep));
  if (!std::isfinite(learningRate))
    return llvm::createStringError("--learning-rate must be finite");
  options.file = inputs;
  if (rngSeed.getNumOccurrences())
    options.rngSeed = rngSeed;
  options.firstStep = firstStep;
  if (learningRate.getNumOccurrences())
    options.learningRate = learningRate;
  if (randomInputs.getNumOccurrences())
    return parseRandomInputs(randomInputs, options);
  return llvm::Error::success();
}

int regather::runMain() {
  InputOptions inputOptions;
  if (llvm::Error error = checkOptions(inputOptions))
    return reportError(llvm::toString(std::move(error)));
  std::unique_ptr<InputFile> input = readModule(file);
  if (!input)
    return 1;
  std::optional<int64_t> askedRanks;
  if (ranks.getNumOccurrences())
    askedRanks = ranks;
  llvm::FailureOr<StepSignature> step =
      analyzeStep(*input->module, entry, askedRanks);
  if (failed(step) || failed(verifyFitsMachine(*step)))
    return 1;

  std::vector<std::string> warnings;
  auto arguments = makeInputs(*step, inputOptions, warnings);
  if (!arguments)
    return reportError(llvm::toString(arguments.takeError()));
  for (const std::string &warning : warnings)
    llvm::errs() << "regather: warning: " << warning << '\n';

  Progress progress(quiet);
  EngineOptions engineOptions;
  engineOptions.ranks = step->ranks;
  engineOptions.seed = seed;
  engineOptions.timeoutSeconds = timeout;
  progress.begin(engineKind == EngineKind::Cpu ? "compiling" : "preparing");
  std::unique_ptr<Engine> engine =
      engineKind == EngineKind::Cpu
          ? createNativeEngine(step->entry, engineOptions)
          : createInterpreter(step->entry, engineOptions);
  progress.end();
  if (!engine)
    return 1;

  // Step lines are the result; with --json, and on a terminal, a bar shows how
  // far the run is.
  progress.begin("training", steps);
  auto training =
      train(*engine, *step, std::move(*arguments), steps,
            [&](int64_t index, std::optional<double> loss, double seconds) {
              if (!json) {
                progress.clear();
                printStep(index, loss, seconds);
              }
              progress.advance(index + 1);
            });
  progress.end();
  if (failed(training))
    return 1;

  if (!outputs.empty()) {
    auto tensors = collectOutputs(*step, *training);
    if (!tensors)
      return reportError(llvm::toString(tensors.takeError()));
    if (llvm::Error error = writeSafetensors(outputs, *tensors))
      return reportError("cannot write '" + outputs +
                         "': " + llvm::toString(std::move(error)));
  }
  if (json)
    printJson(*step, *engine, *training);
  return 0;
}
