//===- MeshTrial.cpp - A step over one mesh -------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MeshTrial.h"

#include "../Memory/SomeUnits.h"
#include "../Memory/TakeLess.h"

#include "regather/Dialect/TG/Transforms/ModelAxes.h"
#include "regather/Driver/Clusters.h"
#include "regather/Driver/ExpertChunks.h"
#include "regather/Pipelines/StepOptionText.h"

#include <cmath>
#include <set>

using namespace mlir;
using namespace regather;

FirstError::FirstError(MLIRContext *context)
    : handler(context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error ||
            !text.empty())
          return success();
        text = diagnostic.str();
        for (Diagnostic &note : diagnostic.getNotes())
          notes.push_back(note.str());
        return success();
      }) {}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

bool MeshTrial::setMesh(const FoundPlacements &placements, StepOptions &options,
                        MeshPlan &made, std::string &reason) const {
  made.mesh = mesh.getMesh();
  options.ranks.reset();
  options.memory.reset();
  auto set = [&](StringRef name, const std::string &text) {
    Failure failure = setStepOption(options, name, text, name);
    if (failure)
      reason = failure.getMessage();
    return !failure;
  };
  if (!set("mesh", made.mesh))
    return false;
  if (mesh.replicas > 1) {
    made.replicateAxis = "rep";
    if (!set("replicate-axis", made.replicateAxis))
      return false;
  }
  if (mesh.experts == 1)
    options.sendNoRows();
  // Placements over axes that this mesh lacks are for others.
  llvm::erase_if(options.model.shard, [&](const std::string &text) {
    StringRef axis = tg::getAnnotatedAxis(text);
    return (axis == "tp" && mesh.tensor == 1) ||
           (axis == "cp" && mesh.sequence == 1) ||
           (axis == "ep" && mesh.experts == 1);
  });
  made.shard.assign(options.model.shard.begin(), options.model.shard.end());
  made.placementSeconds = placements.costSeconds;
  made.placementBoundSeconds = placements.boundSeconds;
  for (const std::string &placement : placements.shard) {
    if (!set("shard", placement))
      return false;
    made.shard.push_back(placement);
  }
  return true;
}

/// About how many times the time of the same step that computes and gathers
/// nothing twice a step takes at most: backward computes twice what forward
/// does, which becomes four parts of three, and gathers and scatters each
/// parameter once, which becomes three parts of two.
static constexpr double kMostForTwice = 1.5;
/// What part of the time it has to take to be tried against an estimate of its
/// bytes.
static constexpr double kWorthTwice = 0.99;

/// Measures the step as it is, and, if that may be quick enough for a plan, as
/// it computes and gathers nothing twice: that counts where memory has room for
/// it and it is quicker.
LogicalResult MeshTrial::measure(PlacedStep &step,
                                 const PlansSoFar &soFar) const {
  std::optional<StepEstimator> estimator;
  std::optional<StepMeasurer> measurer;
  if (isEstimate)
    estimator.emplace(*input->shortSteps, input->model);
  else
    measurer.emplace(input->module, input->model);
  auto measureWith = [&](const StepOptions &options) {
    return estimator ? estimator->measure(options) : measurer->measure(options);
  };
  FailureOr<MeasuredStep> asItIs = measureWith(step.options);
  if (failed(asItIs))
    return failure();
  step.measured = *asItIs;
  step.plan.hasOwnBatches = asItIs->hasOwnBatches;
  step.plan.rows =
      static_cast<double>(std::max<int64_t>(input->totals.rows, 1)) *
      (asItIs->hasOwnBatches ? static_cast<double>(mesh.getBatches()) : 1);
  StepOptions once = doNothingTwice(step.options, input->isOpen);
  bool isDecided = once.recompute.decision == step.options.recompute.decision &&
                   once.reshard.decision == step.options.reshard.decision;
  if (isDecided || !fits(*asItIs) ||
      step.getSecondsPerRow() >= kMostForTwice * soFar.last)
    return success();
  FailureOr<MeasuredStep> nothingTwice = measureWith(once);
  if (failed(nothingTwice) ||
      nothingTwice->choice.seconds >= asItIs->choice.seconds)
    return success();
  if (!fits(*nothingTwice)) {
    step.mayDoNothingTwice =
        isEstimate &&
        nothingTwice->choice.seconds < kWorthTwice * asItIs->choice.seconds;
    return success();
  }
  step.measured = *nothingTwice;
  if (isEstimate)
    step.guesses = std::make_shared<Tries>(
        Tries{{step.options, *asItIs}, {std::move(once), *nothingTwice}});
  return success();
}

FailureOr<PlacedStep> MeshTrial::measure(const FoundPlacements &placements,
                                         const PlansSoFar &soFar,
                                         std::string &reason) const {
  PlacedStep step = {
      input->request.step, {}, {}, placements.keptBytes, nullptr};
  MeshPlan &made = step.plan;
  if (!setMesh(placements, step.options, made, reason))
    return failure();
  ModuleOp module = isEstimate ? input->shortSteps->getMore() : input->module;
  if (failed(decideExpertChunks(module, step.options)))
    return failure();
  if (failed(measure(step, soFar)))
    return failure();
  if (step.options.dispatch.isWanted()) {
    made.expertCapacity = printStepOption(step.options, "expert-capacity");
    made.expertChunks = printStepOption(step.options, "expert-chunks");
  }
  return step;
}

void MeshTrial::setSteps(std::vector<PlacedStep> all) {
  steps = std::move(all);
  llvm::sort(steps, [](const PlacedStep &a, const PlacedStep &b) {
    return std::tie(a.measured.choice.seconds, a.plan.shard) <
           std::tie(b.measured.choice.seconds, b.plan.shard);
  });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// What a step may take more than was estimated and still be worth a try.
static constexpr double kSlack = 1.03;
/// Decisions of one mesh that are carried out, and how often one of them is
/// corrected.
static constexpr unsigned kMostCarriedOut = 3, kMostCorrections = 2;

/// Says why if it cannot.
bool MeshTrial::fitMemory(PlacedStep &step, const PlansSoFar &soFar) {
  MeasuredStep &measured = step.measured;
  if (fits(step))
    return true;
  // A limit makes no step quicker.
  double seconds = step.getSecondsPerRow();
  if (seconds >= soFar.last) {
    problem = "not quicker than the last plan, even without a limit";
    return false;
  }
  step.options.memory = input->limit;
  MemorySearchNotes notes;
  notes.first = &measured;
  // What cannot be the best plan is only to be one.
  notes.takesFirst = seconds >= soFar.best;
  std::optional<StepMemoryPlan> decided;
  auto decideWith = [&](const ShortSteps *shortSteps) {
    notes.shortSteps = shortSteps;
    StepOptions options = step.options;
    ModuleOp module = shortSteps ? shortSteps->getMore() : input->module;
    OwningOpRef<ModuleOp> copy = module.clone();
    return decideMemory(*copy, options, decided, &notes);
  };
  LogicalResult found = decideWith(input->shortSteps);
  // Options may speak of layers that are left out.
  if (failed(found) && input->shortSteps && !notes.leastBytes)
    found = decideWith(nullptr);
  if (failed(found)) {
    problem = "does not fit in memory";
    int64_t bytes = notes.leastBytes.value_or(measured.choice.getBytes());
    if (bytes < least.bytes)
      least = {bytes, mesh, step, {}};
    return false;
  }
  measured = *notes.chosen;
  if (notes.shortSteps)
    step.guesses = notes.tries;
  measured.boundSeconds =
      std::min(decided->boundSeconds, measured.boundSeconds);
  return true;
}

void MeshTrial::decideAll(std::vector<PlacedStep> all,
                          const PlansSoFar &soFar) {
  for (PlacedStep &step : all) {
    // A limit makes no step quicker.
    if (plan && plan->choice.seconds <= step.measured.choice.seconds) {
      if (isEstimate && fits(step) &&
          step.measured.choice.seconds <= kSlack * plan->choice.seconds)
        near.push_back(std::move(step));
      continue;
    }
    double rows = step.plan.rows;
    double bound =
        std::max(step.measured.boundSeconds / rows, mesh.boundSecondsPerRow);
    if (!fitMemory(step, soFar))
      continue;
    const MeasuredStep &measured = step.measured;
    boundSecondsPerRow =
        std::min({boundSecondsPerRow, bound, measured.boundSeconds / rows});
    if (!plan || measured.choice.seconds < plan->choice.seconds)
      setPlan(std::move(step));
  }
}

void MeshTrial::setPlan(PlacedStep step) {
  const MeasuredStep &measured = step.measured;
  plan = step.plan;
  plan->choice = measured.choice;
  plan->boundSeconds = measured.boundSeconds;
  plan->computeSeconds = measured.computeSeconds;
  plan->exposed = measured.exposed;
  plan->utilization = measured.utilization;
  estimated = std::move(step);
}

void MeshTrial::decide(const PlansSoFar &soFar) {
  decideAll(std::move(steps), soFar);
  double keptBytes = least.step.keptBytes;
  if (plan || keptBytes == 0)
    return;
  // What keeps less may fit where what is quickest does not.
  auto share =
      static_cast<double>(input->limit) / static_cast<double>(least.bytes);
  FailureOr<std::vector<FoundPlacements>> smaller =
      findPlacements(input->module, mesh.getShardedMesh(),
                     chooseCluster(input->request.step, input->module),
                     static_cast<int64_t>(share * keptBytes));
  if (failed(smaller))
    return;
  std::string reason = problem;
  for (const FoundPlacements &placements : *smaller) {
    std::string unheard;
    if (FailureOr<PlacedStep> step = measure(placements, soFar, unheard);
        succeeded(step))
      steps.push_back(std::move(*step));
  }
  setSteps(std::move(steps));
  decideAll(std::move(steps), soFar);
  problem = reason;
}

//===----------------------------------------------------------------------===//
// What was estimated
//===----------------------------------------------------------------------===//

/// The step with these decisions, or with as many bytes fewer as it takes to
/// fit.
std::optional<Try> MeshTrial::carryOut(Try guess) const {
  for (unsigned correction = 0;; ++correction) {
    FailureOr<MeasuredStep> measured =
        measureStep(input->module, guess.options, input->model);
    if (failed(measured))
      return std::nullopt;
    if (fits(*measured))
      return Try{guess.options, std::move(*measured)};
    auto excess =
        static_cast<double>(measured->choice.getBytes() - input->limit);
    if (correction == kMostCorrections ||
        !takeLess(guess.options, input->request.step,
                  std::llround(kSlack * excess),
                  getUnitBytes(guess.options, measured->savedBytes,
                               countUnits(input->module))))
      return std::nullopt;
  }
}

void MeshTrial::carryOut() { carryOut(std::move(estimated)); }

void MeshTrial::carryOut(PlacedStep step) {
  plan.reset();
  step.options.memory.reset();
  // Other placements, and the chunks of experts, are as they were estimated.
  std::vector<Try> guesses;
  if (step.guesses)
    guesses = *step.guesses;
  else
    guesses.push_back({step.options, step.measured});
  llvm::erase_if(guesses, [&](const Try &guess) {
    return input->limit > 0 &&
           static_cast<double>(guess.measured.choice.getBytes()) >
               kSlack * static_cast<double>(input->limit);
  });
  llvm::sort(guesses, [](const Try &a, const Try &b) {
    return std::make_pair(a.measured.choice.seconds,
                          a.measured.choice.getBytes()) <
           std::make_pair(b.measured.choice.seconds,
                          b.measured.choice.getBytes());
  });
  // One of each kind: where an estimate of bytes is wrong, it is for all that
  // differ in numbers alone.
  std::set<std::string> kinds;
  llvm::erase_if(guesses, [&](const Try &guess) {
    return kinds.size() == kMostCarriedOut ||
           !kinds.insert(describeKind(guess.options)).second;
  });
  std::optional<Try> best;
  for (Try &guess : guesses) {
    if (best && best->measured.choice.seconds <= guess.measured.choice.seconds)
      break;
    std::optional<Try> one = carryOut(std::move(guess));
    if (one &&
        (!best || one->measured.choice.seconds < best->measured.choice.seconds))
      best = std::move(one);
  }
  PlanInput whole = *input;
  whole.shortSteps = nullptr;
  whole.estimatesTime = false;
  MeshTrial exact(whole, mesh);
  // Its bound is that of all decisions, which take no time away. Where
  // estimates were of no use, any decisions will do with which it fits.
  FailureOr<MeasuredStep> first = failure();
  if (!best || step.guesses)
    first = measureStep(input->module, step.options, input->model);
  // What was estimated not to fit as it is may do so.
  if (best && succeeded(first) && fits(*first) &&
      first->choice.seconds <= best->measured.choice.seconds)
    best.reset();
  if (step.mayDoNothingTwice) {
    StepOptions once = doNothingTwice(step.options, input->isOpen);
    FailureOr<MeasuredStep> measured =
        measureStep(input->module, once, input->model);
    double seconds = best ? best->measured.choice.seconds
                     : succeeded(first)
                         ? first->choice.seconds
                         : std::numeric_limits<double>::infinity();
    if (succeeded(measured) && fits(*measured) &&
        measured->choice.seconds < seconds)
      best = Try{std::move(once), std::move(*measured)};
  }
  if (best) {
    step.options = std::move(best->options);
    step.measured = std::move(best->measured);
    if (succeeded(first))
      step.measured.boundSeconds =
          std::min(step.measured.boundSeconds, first->boundSeconds);
  } else if (succeeded(first)) {
    step.measured = std::move(*first);
  }
  std::vector<PlacedStep> all;
  if (best || succeeded(first))
    all.push_back(std::move(step));
  for (PlacedStep &other : near)
    if (FailureOr<MeasuredStep> measured =
            measureStep(input->module, other.options, input->model);
        succeeded(measured)) {
      other.measured = std::move(*measured);
      all.push_back(std::move(other));
    }
  PlansSoFar any;
  any.best = 0;
  exact.setSteps(std::move(all));
  exact.decideAll(std::move(exact.steps), any);
  isEstimate = false;
  estimated.guesses.reset();
  plan = std::move(exact.plan);
  least = std::move(exact.least);
  problem = std::move(exact.problem);
  if (!plan && problem.empty())
    problem = "could not be carried out as it was estimated";
  boundSecondsPerRow = exact.boundSecondsPerRow;
}
