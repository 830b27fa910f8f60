//===- Run.cpp - regather run ---------------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "PrepareStep.h"
#include "Progress.h"
#include "RunReport.h"

#include "regather/Execution/CreateEngine.h"
#include "regather/Execution/StepInputs.h"
#include "regather/Execution/TextBatches.h"
#include "regather/Execution/Training.h"
#include "regather/Support/AtomicFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace regather;
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
static cl::opt<std::string>
    text("text",
         cl::desc("Train on the bytes of a file, a new batch each step"),
         cl::value_desc("FILE"), cl::sub(runCommand), cl::cat(getCategory()));
static cl::opt<std::string>
    textInputs("text-inputs",
               cl::desc("Inputs that --text feeds, if the step has other "
                        "integer inputs"),
               cl::value_desc("TOKENS,LABELS"), cl::sub(runCommand),
               cl::cat(getCategory()));
static cl::opt<std::string>
    mesh("mesh",
         cl::desc("Shard the parameters of a step without a mesh over this one "
                  "(default dp:N for --ranks N)"),
         cl::value_desc("AXIS:SIZE,..."), cl::sub(runCommand),
         cl::cat(getCategory()));
static cl::opt<std::string> replicateAxis(
    "replicate-axis", cl::desc("Axis of --mesh that holds copies of shards"),
    cl::value_desc("AXIS"), cl::sub(runCommand), cl::cat(getCategory()));
static cl::opt<std::string>
    layout("layout",
           cl::desc("How parameters that are sharded are stored: flat, those "
                    "of a unit in one buffer (default), or per-parameter"),
           cl::value_desc("LAYOUT"), cl::sub(runCommand),
           cl::cat(getCategory()));
static cl::opt<std::string> optimizer(
    "optimizer",
    cl::desc("Append an optimizer to a step that has gradients, such as "
             "'adamw betas=0.9,0.95'"),
    cl::value_desc("NAME OPTION=VALUE..."), cl::sub(runCommand),
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
static cl::opt<std::string>
    cacheDir("cache-dir",
             cl::desc("Folder that keeps compiled kernels, none if empty "
                      "(default $REGATHER_CACHE_DIR, or regather in the "
                      "user's cache folder)"),
             cl::value_desc("DIR"), cl::sub(runCommand),
             cl::cat(getCategory()));
static cl::opt<unsigned>
    compileThreads("compile-threads",
                   cl::desc("Threads that compile kernels (default one for "
                            "each core)"),
                   cl::value_desc("N"), cl::init(0), cl::sub(runCommand),
                   cl::cat(getCategory()));
static cl::opt<std::string>
    reportFile("report", cl::desc("Write what --json prints to a file"),
               cl::value_desc("FILE"), cl::sub(runCommand),
               cl::cat(getCategory()));
static cl::opt<bool> json("json", cl::desc("Print one JSON object on stdout"),
                          cl::sub(runCommand), cl::cat(getCategory()));
static cl::opt<bool> quiet("quiet", cl::desc("Print no progress"),
                           cl::sub(runCommand), cl::cat(getCategory()));

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
  if (text.empty() && textInputs.getNumOccurrences())
    return llvm::createStringError("--text-inputs needs --text");
  if (mesh.empty() && replicateAxis.getNumOccurrences())
    return llvm::createStringError("--replicate-axis needs --mesh");
  if (!(timeout > 0))
    return llvm::createStringError("--timeout must be positive");
  // Step lines and JSON go to standard output.
  if (outputs == "-" || reportFile == "-")
    return llvm::createStringError(
        llvm::Twine(outputs == "-" ? "--outputs" : "--report") +
        " needs the name of a file");
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
    if (Failure failure = parseRandomInputs(randomInputs, options))
      return llvm::createStringError(failure.getMessage());
  return llvm::Error::success();
}

/// Describes the step after the passes that the options ask for.
static llvm::FailureOr<AnalyzedStep> prepare(mlir::ModuleOp module) {
  RunRequest request;
  if (ranks.getNumOccurrences())
    request.ranks = ranks;
  request.mesh = mesh;
  request.replicateAxis = replicateAxis;
  request.layout = layout;
  request.optimizer = optimizer;
  if (failed(lowerForeignTypes(module)))
    return mlir::failure();
  llvm::FailureOr<AnalyzedStep> step =
      analyzeStep(module, entry, mesh.empty() ? request.ranks : std::nullopt);
  if (failed(step) || failed(prepareStep(module, *step, request)))
    return mlir::failure();
  return analyzeStep(module, entry, request.ranks);
}

/// The folder of compiled kernels; empty for none.
static std::string getCacheDirectory() {
  if (cacheDir.getNumOccurrences())
    return cacheDir;
  if (std::optional<std::string> directory =
          llvm::sys::Process::GetEnv("REGATHER_CACHE_DIR"))
    return *directory;
  llvm::SmallString<128> directory;
  if (!llvm::sys::path::cache_directory(directory))
    return "";
  llvm::sys::path::append(directory, "regather");
  return directory.str().str();
}

static std::unique_ptr<Engine> compile(const AnalyzedStep &step,
                                       Progress &progress) {
  EngineOptions options;
  options.ranks = step.signature.ranks;
  options.seed = seed;
  options.timeoutSeconds = timeout;
  options.compileThreads = compileThreads;
  options.cacheDirectory = getCacheDirectory();
  options.onKernelReady = [&](int64_t done, int64_t total) {
    progress.advance(done, total);
  };
  options.onCacheError = [](const std::string &message) {
    llvm::errs() << "regather: warning: " << message << '\n';
  };
  progress.begin("compiling");
  std::unique_ptr<Engine> engine = engineKind == EngineKind::Cpu
                                       ? createNativeEngine(step.entry, options)
                                       : createInterpreter(step.entry, options);
  progress.end();
  if (!engine)
    return nullptr;
  return engine;
}

/// Writes what --outputs and --report ask for.
static llvm::Error writeFiles(const RunReport &summary) {
  auto explain = [](const Failure &failure, const std::string &path) {
    return llvm::createStringError("cannot write '" + path +
                                   "': " + failure.getMessage());
  };
  if (!outputs.empty()) {
    auto tensors = collectOutputs(summary.step.signature, summary.training);
    if (!tensors)
      return llvm::createStringError(tensors.getMessage());
    if (Failure failure = writeSafetensors(outputs, *tensors))
      return explain(failure, outputs);
  }
  if (reportFile.empty())
    return llvm::Error::success();
  std::string report;
  llvm::raw_string_ostream stream(report);
  printJson(summary, stream);
  if (Failure failure = writeFileAtomically(reportFile, {report}))
    return explain(failure, reportFile);
  return llvm::Error::success();
}

int regather::runMain() {
  InputOptions inputOptions;
  if (llvm::Error error = checkOptions(inputOptions))
    return reportError(llvm::toString(std::move(error)));
  std::unique_ptr<InputFile> input = readModule(file);
  if (!input)
    return 1;
  Progress progress(quiet);
  progress.begin("preparing");
  llvm::FailureOr<AnalyzedStep> step = prepare(*input->module);
  progress.end();
  if (failed(step) || failed(verifyFitsMachine(*step)))
    return 1;
  std::optional<TextBatches> batches;
  if (!text.empty()) {
    auto opened = TextBatches::create(step->signature, text, textInputs);
    if (!opened)
      return reportError(opened.getMessage());
    batches = std::move(*opened);
    inputOptions.fed.insert(batches->getArguments().begin(),
                            batches->getArguments().end());
  }

  std::vector<std::string> warnings;
  auto arguments = makeInputs(step->signature, inputOptions, warnings);
  if (!arguments)
    return reportError(arguments.getMessage());
  for (const std::string &warning : warnings)
    llvm::errs() << "regather: warning: " << warning << '\n';

  std::unique_ptr<Engine> engine = compile(*step, progress);
  if (!engine)
    return 1;

  // Step lines are the result; with --json, and on a terminal, a bar shows how
  // far the run is.
  progress.begin("training", steps);
  auto report = [&](int64_t index, std::optional<double> loss, double seconds) {
    if (!json) {
      progress.clear();
      printStep(index, loss, seconds);
    }
    progress.advance(index + 1);
  };
  auto feed = [&](int64_t index, std::vector<RankValues> &values) {
    if (batches)
      batches->fill(firstStep - 1 + index, values);
  };
  auto training = train(*engine, step->signature, std::move(*arguments), steps,
                        report, feed);
  progress.end();
  if (!training) {
    // The engine has said why, unless there is something to add.
    if (!training.getMessage().empty())
      step->entry.emitError() << training.getMessage();
    return 1;
  }

  RunReport summary{file, *step, *engine, *training, std::nullopt};
  if (batches)
    summary.tokensPerStep = batches->getTokensPerStep();
  if (llvm::Error error = writeFiles(summary))
    return reportError(llvm::toString(std::move(error)));
  if (json)
    printJson(summary, llvm::outs());
  else
    printSummary(summary);
  return 0;
}
