//===- CheckStep.cpp - Check a step against the interpreter ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckStep.h"

#include "CheckFigures.h"
#include "CheckOptimizer.h"
#include "StepRun.h"

#include "regather/Dialect/TG/Transforms/Passes.h"
#include "regather/Pipelines/StepOptionText.h"
#include "regather/Program/CompileStep.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"

#include <limits>

using namespace mlir;
using namespace regather;
using namespace regather::fuzz;

/// How much results of bf16 and f16 may differ where sums round, relative to
/// the largest element.
static constexpr double kNarrowTolerance = 0.2;

namespace {
/// Keeps errors from the screen.
class Errors {
public:
  explicit Errors(MLIRContext &context)
      : handler(&context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
              first.empty())
            first = diagnostic.str();
          return success();
        }) {}

  /// The first error since the last call; empty for none.
  std::string take() { return std::exchange(first, std::string()); }

private:
  std::string first;
  ScopedDiagnosticHandler handler;
};

class Checker {
public:
  Checker(const CheckPlan &plan, MLIRContext &context)
      : plan(plan), context(context), errors(context) {}

  CheckOutcome check(StringRef text);

private:
  bool fail(const Twine &kind, const Twine &message) {
    outcome.kind = kind.str();
    outcome.message = message.str();
    return false;
  }
  OwningOpRef<ModuleOp> parse(StringRef text) {
    return parseSourceString<ModuleOp>(text, &context);
  }
  std::string print(ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream(text) << module;
    return text;
  }
  LogicalResult run(ModuleOp module, const PassCall &call);
  LogicalResult verifyStep(ModuleOp module);

  /// False when the outcome is decided.
  bool runPass(const PassCall &call);
  bool repeatPass(const PassCall &call, StringRef before, StringRef after);
  bool prepareByDriver();
  bool runPipeline();
  bool compare(const StepRun &expected, const StepRun &actual, double tolerance,
               const Twine &what);
  /// `original`, which `calls` have sharded, against the step that is not.
  bool compareSharded(ModuleOp single, ArrayRef<PassCall> calls);
  /// Goes on from a step that `call`, a pass of the pipeline, has sharded out
  /// of `before`.
  bool goOnSharded(ModuleOp before, const PassCall &call);
  bool hasChanged() const;
  bool compareEngines();
  bool compareBundle(const RunSettings &settings, const StepRun &native);
  bool compareCached(RunSettings settings, const StepRun &native);
  bool checkUpdates(const StepRun &run, const RunSettings &settings);
  bool checkProgram(const StepOptions &options);
  RunSettings getSettings() const;
  StepOptions getProgramOptions() const;
  double getTolerance(const StepRun &run) const;

  const CheckPlan &plan;
  MLIRContext &context;
  Errors errors;
  OwningOpRef<ModuleOp> original, module;
  CheckOutcome outcome;
  bool isNarrow = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

LogicalResult Checker::run(ModuleOp module, const PassCall &call) {
  PassManager pm(&context, ModuleOp::getOperationName(),
                 PassManager::Nesting::Implicit);
  pm.enableVerifier(false);
  std::string messages;
  llvm::raw_string_ostream os(messages);
  if (failed(parsePassPipeline(call.str(), pm, os))) {
    emitError(UnknownLoc::get(&context)) << messages;
    return failure();
  }
  return pm.run(module);
}

LogicalResult Checker::verifyStep(ModuleOp module) {
  PassManager pm(&context);
  pm.addPass(tg::createVerifyStepPass());
  return failure(failed(verify(module)) || failed(pm.run(module)));
}

bool Checker::repeatPass(const PassCall &call, StringRef before,
                         StringRef after) {
  OwningOpRef<ModuleOp> again = parse(before);
  if (!again)
    return fail("round trip before " + call.pass, errors.take());
  if (failed(run(*again, call)) || print(*again) != after)
    return fail("not repeatable " + call.pass,
                "of what is printed and parsed, the pass makes another step");
  return true;
}

bool Checker::runPass(const PassCall &call) {
  std::string before = print(*module);
  OwningOpRef<ModuleOp> copy = module->clone();
  LogicalResult result = run(*copy, call);
  std::string error = errors.take();
  if (failed(result)) {
    outcome.passes.push_back({call, "refused", error});
    if (error.empty())
      return fail("silent failure " + call.pass, "the pass says no reason");
    return true;
  }
  if (!error.empty())
    return fail("error without failure " + call.pass, error);
  if (failed(verifyStep(*copy)))
    return fail("verify " + call.pass, errors.take());
  std::string after = print(*copy);
  outcome.passes.push_back(
      {call, before == after ? "unchanged" : "changed", ""});
  if (plan.repeats && !repeatPass(call, before, after))
    return false;
  if (std::string wrong = checkFigures(*module, *copy, call); !wrong.empty())
    return fail("figures " + call.pass, wrong);
  module = std::move(copy);
  return true;
}

/// True for the passes that make a step of one rank one of several, or of one
/// batch one of several parts, which sum in another order.
static bool isSharding(const PassCall &call) {
  return call.pass == "tg-shard-parameters" || call.pass == "tg-shard-step" ||
         call.pass == "tg-cut-batch";
}

bool Checker::runPipeline() {
  for (const PassCall &call : plan.pipeline) {
    OwningOpRef<ModuleOp> before;
    if (isSharding(call))
      before = module->clone();
    if (!runPass(call) ||
        (before && outcome.passes.back().result == "changed" &&
         !goOnSharded(*before, call)))
      return false;
  }
  return true;
}

bool Checker::prepareByDriver() {
  StepOptions options;
  for (const PassCall &call : plan.pipeline)
    // Passes that the driver does not know are left out, and sharding, which is
    // preparation.
    if (isSharding(call))
      continue;
    else if (Failure ignored = setPassOptions(options, call.pass, call.options,
                                              "--pass-option"))
      continue;
  OwningOpRef<ModuleOp> copy = module->clone();
  FailureOr<PreparedStep> prepared = prepareStep(*copy, options);
  std::string error = errors.take();
  if (failed(prepared)) {
    outcome.passes.push_back({{"default-plan", ""}, "refused", error});
    return !error.empty() ||
           fail("silent failure default-plan", "no reason is given");
  }
  if (failed(verifyStep(*copy)))
    return fail("verify default-plan", errors.take());
  outcome.passes.push_back({{"default-plan", ""}, "changed", ""});
  module = std::move(copy);
  return true;
}

//===----------------------------------------------------------------------===//
// Engines
//===----------------------------------------------------------------------===//

StepOptions Checker::getProgramOptions() const {
  StepOptions options;
  for (const PassCall &call : plan.program) {
    // What has no such option leaves it as it is.
    Failure ignored =
        setPassOptions(options, call.pass, call.options, "--pass-option");
    (void)ignored;
  }
  options.namedPasses.clear();
  return options;
}

RunSettings Checker::getSettings() const {
  RunSettings settings;
  settings.inputs = plan.inputs;
  settings.order = plan.order;
  settings.isExact = plan.isExact;
  settings.optimizes = plan.optimizes;
  settings.options = getProgramOptions();
  return settings;
}

double Checker::getTolerance(const StepRun &run) const {
  if (plan.isExact && isSmall(run))
    return 0;
  return isNarrow ? kNarrowTolerance : 1e-3;
}

bool Checker::compare(const StepRun &expected, const StepRun &actual,
                      double tolerance, const Twine &what) {
  if (!actual.failure.empty())
    return fail("failure " + what, actual.failure + ": " + errors.take());
  std::string difference = compareRuns(expected, actual, tolerance);
  return difference.empty() || fail("mismatch " + what, difference);
}

namespace {
/// A folder for compiled kernels that goes with it. What cannot be removed does
/// no harm.
class KernelFolder {
public:
  KernelFolder() {
    if (llvm::sys::fs::createUniqueDirectory("fuzz-kernels", path))
      path.clear();
  }
  ~KernelFolder() {
    if (!path.empty())
      llvm::consumeError(
          llvm::errorCodeToError(llvm::sys::fs::remove_directories(path)));
  }

  KernelFolder(const KernelFolder &) = delete;
  KernelFolder &operator=(const KernelFolder &) = delete;

  /// Empty if none could be made: nothing is kept then.
  std::string getPath() const { return path.str().str(); }

private:
  SmallString<128> path;
};
} // namespace

bool Checker::compareBundle(const RunSettings &settings,
                            const StepRun &native) {
  return !plan.bundles ||
         compare(native, runBundle(*module, settings), 0, "bundle");
}

/// Kernels that come out of the cache, where those of the step before the
/// passes lie beside them, are the same.
bool Checker::compareCached(RunSettings settings, const StepRun &native) {
  if (!plan.caches)
    return true;
  KernelFolder folder;
  settings.cacheDirectory = folder.getPath();
  for (ModuleOp step : {*original, *module, *module}) {
    StepRun run = runStep(step, settings);
    if (step != *original && !compare(native, run, 0, "cached kernels"))
      return false;
  }
  return true;
}

bool Checker::checkUpdates(const StepRun &run, const RunSettings &settings) {
  const PassOutcome *optimizer = nullptr;
  for (const PassOutcome &pass : outcome.passes) {
    if (pass.call.pass != "tg-append-optimizer" || pass.result != "changed")
      continue;
    // What a second one updates is not what it finds.
    if (optimizer)
      return true;
    optimizer = &pass;
  }
  if (!optimizer)
    return true;
  std::string wrong = checkOptimizer(run, optimizer->call.options, settings);
  return wrong.empty() || fail("figures optimizer", wrong);
}

bool Checker::checkProgram(const StepOptions &options) {
  FailureOr<AnalyzedStep> step = analyzeStep(*module, "", std::nullopt);
  if (failed(step))
    return true;
  FailureOr<OwningOpRef<ModuleOp>> program =
      lowerToProgram(step->entry, options.getProgram());
  if (failed(program))
    return fail("lowering", errors.take());
  if (failed(verifyStep(**program)))
    return fail("verify program", errors.take());
  std::string wrong = checkProgramFigures(**program);
  return wrong.empty() || fail("figures program", wrong);
}

/// Keeps the results that the other run has, too.
static void dropOthers(StepRun &run, const StepRun &other) {
  for (auto it = run.results.begin(); it != run.results.end();)
    it = other.results.count(it->first) ? std::next(it) : run.results.erase(it);
}

/// True if some pass has done something to the step.
bool Checker::hasChanged() const {
  return llvm::any_of(outcome.passes, [](const PassOutcome &pass) {
    return pass.result == "changed";
  });
}

bool Checker::compareEngines() {
  // The engines get unchanged steps, too, but not all of them.
  if (!hasChanged() && plan.order % 4 != 0)
    return true;
  RunSettings settings = getSettings();
  StepRun expected = runStep(*original, settings);
  if (!expected.failure.empty()) {
    outcome.invalid = expected.failure + ": " + errors.take();
    return false;
  }
  // Nothing that ran before is left in the way.
  settings.order += 1;
  StepRun after = runStep(*module, settings);
  if (!compare(expected, after, 0, "interpreter") ||
      !checkUpdates(after, settings) || !checkProgram(settings.options))
    return false;
  if (!plan.compiles)
    return true;
  settings.engine = EngineKind::Cpu;
  // Most kernels of a case are those of all its native runs.
  std::optional<KernelFolder> shared;
  if (!plan.caches)
    settings.cacheDirectory = shared.emplace().getPath();
  StepRun native = runStep(*module, settings);
  // What an optimizer adds may be a quotient of mere rounding.
  double tolerance = getTolerance(after);
  if (tolerance > 0)
    dropOthers(after, expected);
  if (!compare(after, native, tolerance, "cpu"))
    return false;
  if (native.arena && native.arena->lowerBound > native.arena->planned)
    return fail("figures arena", "the arena is smaller than its lower bound");
  if (native.arena && native.arena->touched &&
      *native.arena->touched > native.arena->planned)
    return fail("figures arena", "more is written than planned");
  if (tolerance > 0) {
    StepRun before = runStep(*original, settings);
    if (!compare(before, native, 0, "cpu bits"))
      return false;
  }
  return compareCached(settings, native) && compareBundle(settings, native);
}

/// True if sharding by these options changes no more than the order of sums.
static bool keepsMeaning(StringRef options) {
  static constexpr StringLiteral kOthers[] = {"dtype", "per-rank", "batch=auto",
                                              "micro-batches"};
  return llvm::none_of(kOthers,
                       [&](StringRef word) { return options.contains(word); });
}

bool Checker::compareSharded(ModuleOp single, ArrayRef<PassCall> calls) {
  bool isSharded = llvm::any_of(calls, isSharding);
  bool isOther = llvm::any_of(calls, [](const PassCall &call) {
    return call.pass == "tg-shard-parameters" && !keepsMeaning(call.options);
  });
  if (!isSharded || isOther)
    return true;
  RunSettings settings = getSettings();
  StepRun expected = runStep(single, settings);
  if (!expected.failure.empty()) {
    outcome.invalid = expected.failure + ": " + errors.take();
    return false;
  }
  // Sums that ranks make out of parts have the same value, but not always the
  // same sign if that is zero: -(1 - 1) is -0, and -1 + 1 is 0.
  constexpr double kSignOfZero = std::numeric_limits<float>::min();
  // Parts of bf16 and f16 are rounded beyond 256 and 2048, and the sum of large
  // parts may be small, so that results tell nothing.
  double tolerance = isNarrow ? kNarrowTolerance
                              : std::max(getTolerance(expected), kSignOfZero);
  return compare(expected, runStep(*original, settings), tolerance, "sharded");
}

bool Checker::goOnSharded(ModuleOp before, const PassCall &call) {
  RunSettings settings = getSettings();
  StepRun expected = runStep(*original, settings);
  if (!expected.failure.empty()) {
    outcome.invalid = expected.failure + ": " + errors.take();
    return false;
  }
  settings.order += 1;
  if (!compare(expected, runStep(before, settings), 0, "interpreter"))
    return false;
  original = module->clone();
  return compareSharded(before, call);
}

CheckOutcome Checker::check(StringRef text) {
  module = parse(text);
  if (!module) {
    outcome.invalid = errors.take();
    return outcome;
  }
  isNarrow = text.contains("bf16") || text.contains("f16");
  OwningOpRef<ModuleOp> single = module->clone();
  for (const PassCall &call : plan.preparation)
    if (!runPass(call))
      return outcome;
  if (failed(verifyStep(*module))) {
    outcome.invalid = errors.take();
    return outcome;
  }
  original = module->clone();
  if (!compareSharded(*single, plan.preparation))
    return outcome;
  if (plan.byDriver ? prepareByDriver() : runPipeline())
    compareEngines();
  return outcome;
}

CheckOutcome regather::fuzz::checkStep(StringRef text, const CheckPlan &plan,
                                       MLIRContext &context) {
  return Checker(plan, context).check(text);
}
