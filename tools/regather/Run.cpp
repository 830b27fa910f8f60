//===- Run.cpp - regather run ---------------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepFlags.h"

#include "regather/Driver/CreateStepEngine.h"
#include "regather/Driver/StepStatistics.h"
#include "regather/Execution/Bundle/Bundle.h"
#include "regather/Execution/Training/RunStep.h"

using namespace regather;
namespace cl = llvm::cl;

cl::SubCommand regather::runCommand("run", "Run a step on all ranks");

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
static cl::opt<int64_t> steps("steps",
                              cl::desc("Number of steps; updates are fed back"),
                              cl::value_desc("N"), cl::init(1),
                              cl::sub(runCommand), cl::cat(getCategory()));
static cl::opt<std::string>
    inputs("inputs",
           cl::desc("Read arguments from a safetensors file of global tensors, "
                    "or from a folder that --outputs-sharded wrote"),
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
static cl::opt<std::string> outputs(
    "outputs", cl::desc("Write the results of the last step as global tensors"),
    cl::value_desc("FILE"), cl::sub(runCommand), cl::cat(getCategory()));
static cl::opt<std::string> outputsSharded(
    "outputs-sharded",
    cl::desc("Write the results of the last step to a folder, one file for "
             "each rank"),
    cl::value_desc("DIR"), cl::sub(runCommand), cl::cat(getCategory()));
static cl::opt<int64_t>
    saveEvery("save-every",
              cl::desc("Write that folder after each N steps, too"),
              cl::value_desc("N"), cl::init(0), cl::sub(runCommand),
              cl::cat(getCategory()));
static cl::opt<uint64_t>
    seed("seed",
         cl::desc("Order in which the interpreter completes collectives"),
         cl::value_desc("S"), cl::init(0), cl::sub(runCommand),
         cl::cat(getCategory()));
static cl::opt<std::string> communicatorText(
    "comm",
    cl::desc("How ranks of the cpu engine reach each other; with latency=50us "
             "or bandwidth=10GB/s collectives take as long as over a network; "
             "nccl makes the process, which runs a bundle for GPUs, one rank "
             "of a job of torchrun, mpirun or srun"),
    cl::value_desc("threads[,latency=SECONDS][,bandwidth=RATE] | "
                   "nccl[,reproducible]"),
    cl::init("threads"), cl::sub(runCommand), cl::cat(getCategory()));
static cl::opt<std::string>
    algorithms("algorithms",
               cl::desc("Which proposal of cuBLASLt a bundle for GPUs uses for "
                        "a product of matrices: the first (default), or the "
                        "fastest"),
               cl::value_desc("first|timed"), cl::sub(runCommand),
               cl::cat(getCategory()));
static cl::opt<int32_t>
    device("device",
           cl::desc("Number of the GPU that runs a bundle for GPUs (default "
                    "0)"),
           cl::value_desc("N"), cl::init(0), cl::sub(runCommand),
           cl::cat(getCategory()));
static cl::opt<double>
    timeout("timeout",
            cl::desc("Seconds a rank waits for others before it gives up "
                     "(default 600; on GPUs 300 in the first step, then 100)"),
            cl::value_desc("SECONDS"), cl::init(600), cl::sub(runCommand),
            cl::cat(getCategory()));
static cl::opt<int32_t>
    threads("threads",
            cl::desc("Threads on which each rank of the cpu engine computes "
                     "(default: those of the machine, divided by the ranks)"),
            cl::value_desc("N"), cl::init(0), cl::sub(runCommand),
            cl::cat(getCategory()));
static cl::opt<bool>
    checkPlan("check-plan",
              cl::desc("Check that the step touches as much memory as its "
                       "plan says, and report both"),
              cl::sub(runCommand), cl::cat(getCategory()));
static cl::opt<std::string>
    reportFile("report", cl::desc("Write what --json prints to a file"),
               cl::value_desc("FILE"), cl::sub(runCommand),
               cl::cat(getCategory()));
static cl::opt<std::string> traceFile(
    "trace", cl::desc("Write what ranks did in the last step, for Perfetto"),
    cl::value_desc("FILE"), cl::sub(runCommand), cl::cat(getCategory()));
static cl::opt<bool> json("json", cl::desc("Print one JSON object on stdout"),
                          cl::sub(runCommand), cl::cat(getCategory()));

/// What --comm says.
static CommunicatorOptions communicator;

static Failure readOptions(RunOptions &options, StepOptions &step) {
  if (Failure failure = rejectEmpty(
          {&inputs, &text, &outputs, &outputsSharded, &reportFile, &traceFile}))
    return failure;
  if (!(timeout > 0))
    return Failure("--timeout must be positive");
  if (checkPlan && engineKind == EngineKind::Interpreter)
    return Failure("--check-plan needs the cpu engine");
  if (!traceFile.empty() && engineKind == EngineKind::Interpreter)
    return Failure("--trace needs the cpu engine");
  if (communicatorText.getNumOccurrences() &&
      engineKind == EngineKind::Interpreter)
    return Failure("--comm needs the cpu engine");
  if (Failure failure = parseCommunicator(communicatorText, communicator))
    return failure;
  if (communicator.isNccl && !isBundle(file))
    return Failure("--comm=nccl needs a bundle for GPUs");
  options.file = file;
  options.steps = steps;
  options.text = text;
  options.textInputs = textInputs;
  options.outputs = outputs;
  options.outputsSharded = outputsSharded;
  options.saveEvery = saveEvery;
  if (saveEvery.getNumOccurrences() && saveEvery == 0)
    return Failure("--save-every must be at least 1, got 0");
  options.report = reportFile;
  options.trace = traceFile;
  options.json = json;
  options.checkPlan = checkPlan;
  options.inputs.file = inputs;
  if (rngSeed.getNumOccurrences())
    options.inputs.rngSeed = rngSeed;
  options.inputs.firstStep = firstStep;
  if (learningRate.getNumOccurrences())
    options.inputs.learningRate = learningRate;
  if (randomInputs.getNumOccurrences())
    if (Failure failure = parseRandomInputs(randomInputs, options.inputs))
      return failure;
  if (Failure failure = checkRunOptions(options))
    return failure;
  Result<StepOptions> flags = readStepFlags();
  if (!flags)
    return flags.getFailure();
  step = std::move(*flags);
  return Failure();
}

static EngineOptions getEngineOptions() {
  EngineOptions options;
  options.seed = seed;
  options.timeoutSeconds = timeout;
  options.threads = threads;
  options.communicator = communicator;
  options.watchArena = checkPlan;
  options.recordSpans = !traceFile.empty();
  options.compileThreads = getCompileThreads();
  options.cacheDirectory = getCacheDirectory();
  return options;
}

static int runModule(const RunOptions &options, const StepOptions &step,
                     ShownProgress &progress) {
  std::unique_ptr<InputFile> input = readInput(file);
  if (!input)
    return 1;
  progress.begin("preparing");
  llvm::FailureOr<PreparedStep> prepared =
      prepareRun(*input->module, step, engineKind);
  progress.end();
  if (failed(prepared))
    return 1;
  RunSubject subject{prepared->step.signature,
                     summarizeCollectives(*input->module),
                     [&] {
                       return createStepEngine(*prepared, engineKind,
                                               getEngineOptions(), progress);
                     },
                     [&](const std::string &message) {
                       prepared->step.entry.emitError() << message;
                     }};
  return runStep(options, subject, progress.progress);
}

/// Runs a bundle, for which no flag says any more what the step is.
static int runBundle(const RunOptions &options, Progress &progress) {
  if (engineKind == EngineKind::Interpreter)
    return reportError("the interpreter runs modules, not bundles");
  if (Failure failure = rejectStepFlags())
    return reportError(failure.getMessage());
  BundleOptions bundle;
  bundle.setRanks(getRequestedRanks().value_or(0));
  if (timeout.getNumOccurrences())
    bundle.setTimeout(timeout);
  bundle.executor.timeout_seconds = timeout;
  if (checkPlan)
    bundle.watchArena();
  bundle.executor.threads = threads;
  bundle.setCommunicator(communicator);
  bundle.executor.record_spans = !traceFile.empty();
  bundle.gpu.device = device;
  if (algorithms.getNumOccurrences())
    if (Failure failure = bundle.setAlgorithms(algorithms))
      return reportError(failure.getMessage());
  return regather::runBundle(options, bundle, progress);
}

int regather::runMain() {
  RunOptions options;
  StepOptions step;
  if (Failure failure = readOptions(options, step))
    return reportError(failure.getMessage());
  ShownProgress progress;
  return isBundle(file) ? ::runBundle(options, progress.progress)
                        : runModule(options, step, progress);
}
