//===- StepRun.cpp - Results of a step on an engine -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepRun.h"

#include "regather/Conversion/Passes.h"
#include "regather/Driver/CompileStep.h"
#include "regather/Execution/Bundle/Bundle.h"
#include "regather/Execution/Training/StepInputs.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <cstring>
#include <unistd.h>

using namespace mlir;
using namespace regather;
using namespace regather::fuzz;

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static Result<std::vector<RankValues>> drawInputs(const StepSignature &step,
                                                  const RunSettings &settings) {
  InputOptions options;
  options.randomSeed = settings.inputs;
  options.integers = settings.isExact;
  options.rngSeed = static_cast<int64_t>(settings.inputs % 1000);
  if (llvm::any_of(step.arguments, [](const StepValue &value) {
        return value.role == Role::LearningRate;
      }))
    options.learningRate = kLearningRate;
  std::vector<std::string> warnings;
  return makeInputs(step, options, warnings);
}

/// Puts the results together, by name.
static std::string collect(const StepSignature &step,
                           const std::vector<RankValues> &ranks, StepRun &run) {
  for (auto [i, value] : llvm::enumerate(step.results)) {
    std::vector<HostTensor> parts;
    for (const RankValues &results : ranks)
      parts.push_back(results[i]);
    Result<HostTensor> whole = unshardTensor(parts, value, step);
    if (!whole)
      return "result \"" + value.name + "\": " + whole.getMessage();
    bool isNamed = value.role.has_value();
    if (value.members.empty()) {
      run.results[value.name] = {std::move(*whole), isNamed};
      continue;
    }
    std::vector<HostTensor> members = splitMembers(value, *whole);
    for (auto [member, tensor] :
         llvm::zip_equal(value.getFileValues(), members))
      run.results[member.name] = {tensor, isNamed};
  }
  return "";
}

/// Runs twice: what the first run leaves behind changes nothing.
static StepRun runTwice(Engine &engine, const StepSignature &step,
                        const RunSettings &settings) {
  StepRun runs[2];
  for (StepRun &run : runs) {
    Result<std::vector<RankValues>> inputs = drawInputs(step, settings);
    if (!inputs) {
      run.failure = "no inputs: " + inputs.getMessage();
      return run;
    }
    std::vector<RankValues> results;
    if (!engine.run(*inputs, results)) {
      run.failure = "the step fails";
      return run;
    }
    run.failure = collect(step, results, run);
    if (!run.failure.empty())
      return run;
  }
  if (std::string difference = compareRuns(runs[0], runs[1], 0);
      !difference.empty())
    runs[1].failure = "the second run differs: " + difference;
  runs[1].arena = engine.getArena();
  for (const StepValue &argument : step.arguments)
    if (argument.role == Role::Parameter)
      llvm::append_range(runs[1].parameters, argument.getFileValues());
  return std::move(runs[1]);
}

StepRun regather::fuzz::runStep(ModuleOp original,
                                const RunSettings &settings) {
  OwningOpRef<ModuleOp> module = original.clone();
  StepRun run;
  bool interprets = settings.engine == EngineKind::Interpreter;
  if (interprets && hasNodes(*module)) {
    PassManager pm(module->getContext());
    pm.addPass(createConvertTGNodesToLinalgPass());
    if (failed(pm.run(*module))) {
      run.failure = "nodes cannot be lowered";
      return run;
    }
  }
  FailureOr<AnalyzedStep> step = analyzeStep(*module, "", std::nullopt);
  if (failed(step)) {
    run.failure = "the step cannot be run";
    return run;
  }
  PreparedStep prepared{std::move(*step), settings.options, {}};
  EngineOptions options;
  options.seed = settings.order;
  options.timeoutSeconds = 300;
  options.threads = settings.order % 4 == 0 ? 2 : 1;
  options.compileThreads = 1;
  options.watchArena = !interprets;
  options.cacheDirectory = settings.cacheDirectory;
  options.optimizesKernels = settings.optimizes;
  if (settings.order % 3 == 0)
    options.communicator.latencySeconds = 1e-4;
  ProgressListener progress;
  std::unique_ptr<Engine> engine =
      createStepEngine(prepared, settings.engine, options, progress);
  if (!engine) {
    run.failure = "no engine takes the step";
    return run;
  }
  return runTwice(*engine, prepared.step.signature, settings);
}

StepRun regather::fuzz::runBundle(ModuleOp original,
                                  const RunSettings &settings) {
  StepRun run;
  OwningOpRef<ModuleOp> module = original.clone();
  StepOptions options = settings.options;
  options.asCaptured = true;
  ProgressListener progress;
  FailureOr<PreparedStep> prepared = prepareWholeStep(*module, options);
  CompileOptions compile;
  compile.threads = 1;
  compile.cacheDirectory = settings.cacheDirectory;
  compile.optimizesKernels = settings.optimizes;
  FailureOr<BundleContents> contents = failure();
  if (succeeded(prepared))
    contents = compileBundle(*prepared, /*roomy=*/nullptr, compile, progress);
  if (failed(contents)) {
    run.failure = "the step cannot be compiled";
    return run;
  }
  SmallString<128> path;
  int fd = -1;
  if (llvm::sys::fs::createTemporaryFile("fuzz", "rgb", fd, path)) {
    run.failure = "no temporary file";
    return run;
  }
  ::close(fd);
  llvm::FileRemover remover(path);
  auto fail = [&](const std::string &message) {
    run.failure = "bundle: " + message;
    return run;
  };
  std::string file = path.str().str();
  StringRef object = contents->object->getBuffer();
  if (Failure failure =
          writeBundle(file, std::string_view(object), contents->manifest))
    return fail(failure.getMessage());
  Result<RunSubject> subject =
      describeBundle(file, BundleOptions(), [](const std::string &) {});
  if (!subject)
    return fail(subject.getMessage());
  Result<std::unique_ptr<Engine>> engine = subject->createEngine();
  if (!engine)
    return fail(engine.getMessage());
  return runTwice(**engine, subject->step, settings);
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

static double getLargest(const HostTensor &tensor) {
  double largest = 0;
  for (int64_t i = 0; i != tensor.getNumElements(); ++i)
    if (double value = std::abs(tensor.getAsDouble(i)); value > largest)
      largest = value;
  return largest;
}

static bool isEqual(const HostTensor &a, const HostTensor &b, int64_t i,
                    double slack) {
  int64_t size = getElementSize(a.getType());
  if (std::memcmp(a.getData() + i * size, b.getData() + i * size, size) == 0)
    return true;
  if (!isFloat(a.getType()))
    return false;
  double x = a.getAsDouble(i), y = b.getAsDouble(i);
  if (std::isnan(x) || std::isnan(y))
    return std::isnan(x) && std::isnan(y);
  return slack > 0 && std::abs(x - y) <= slack;
}

static std::string compareTensors(StringRef name, const HostTensor &a,
                                  const HostTensor &b, double tolerance) {
  if (a.getType() != b.getType() || a.getShape() != b.getShape())
    return llvm::formatv("result \"{0}\" has another type", name);
  // A number that narrow parts of about one sum up to may be small itself.
  double least = a.getRank() == 0 && tolerance > 0.01 ? 1 : 1e-3;
  double slack = tolerance * std::max(getLargest(a), least);
  for (int64_t i = 0; i != a.getNumElements(); ++i)
    if (!isEqual(a, b, i, slack))
      return llvm::formatv("element {0} of result \"{1}\" is {2} against {3}",
                           i, name, b.getAsDouble(i), a.getAsDouble(i));
  return "";
}

std::string regather::fuzz::compareRuns(const StepRun &expected,
                                        const StepRun &actual,
                                        double tolerance) {
  for (const auto &[name, result] : expected.results) {
    auto it = actual.results.find(name);
    // Results without a role may have come to have another number, and what
    // appends an optimizer may drop gradients.
    if (it == actual.results.end()) {
      if (!result.isNamed || StringRef(name).starts_with("grad."))
        continue;
      return "result \"" + name + "\" is missing";
    }
    if (std::string difference =
            compareTensors(name, result.tensor, it->second.tensor, tolerance);
        !difference.empty())
      return difference;
  }
  return "";
}

bool regather::fuzz::isSmall(const StepRun &run) {
  return llvm::all_of(run.results, [](const auto &entry) {
    return getLargest(entry.second.tensor) < 1 << 15;
  });
}
