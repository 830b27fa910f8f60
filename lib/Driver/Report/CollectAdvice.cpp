//===- CollectAdvice.cpp - What would help a step -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepChanges.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir;
using namespace regather;
using report::Advice;

/// Less of the time, or of the memory, than this is not worth a change.
static constexpr double kLittleTime = 0.01;
static constexpr double kLittleMemory = 0.03;
/// Memory is short beyond this part of the device's.
static constexpr double kShort = 0.8;
/// What does not fit either has to be smaller by this part to be of use.
static constexpr double kMuchMemory = 0.2;

namespace {
/// A change, and what comes of it.
struct Trial {
  StepChange change;
  Advice advice;
};

class Adviser {
public:
  explicit Adviser(const AdvisedStep &step)
      : step(step), timing(step.report.timing) {}

  std::vector<Advice> run();

private:
  bool isQuicker(const Advice &advice) const {
    return advice.getSecondsPerBatch() < (1 - kLittleTime) * timing.seconds;
  }
  bool isSmaller(const Advice &advice, double part = kLittleMemory) const {
    return double(advice.peakBytes) < (1 - part) * double(timing.peakBytes);
  }
  bool fits(const Advice &advice) const {
    return timing.deviceBytes == 0 || advice.peakBytes <= timing.deviceBytes;
  }
  /// The step itself does not fit.
  bool isTooLarge() const {
    return timing.deviceBytes > 0 && timing.peakBytes > timing.deviceBytes;
  }
  bool isUseful(const Advice &advice) const;
  std::optional<Advice> attempt(const StepChange &change) const;
  std::optional<StepChange> combine(ArrayRef<Trial> trials) const;
  Advice scaleRows(double factor) const;
  std::optional<Advice> changeRows() const;

  const AdvisedStep &step;
  const report::StepTiming &timing;
};
} // namespace

/// What is quicker has to fit; what is smaller is of use where memory is short,
/// or if it takes no longer.
bool Adviser::isUseful(const Advice &advice) const {
  if (!fits(advice))
    return isSmaller(advice, kMuchMemory);
  if (isQuicker(advice))
    return true;
  bool isShort = double(timing.peakBytes) > kShort * double(timing.deviceBytes);
  return isSmaller(advice) &&
         (isShort ||
          advice.getSecondsPerBatch() <= (1 + kLittleTime) * timing.seconds);
}

/// Nothing if the step cannot be prepared so.
std::optional<Advice> Adviser::attempt(const StepChange &change) const {
  ModuleOp original = step.original;
  // What does not apply is no mistake of the user's.
  ScopedDiagnosticHandler silence(original.getContext(),
                                  [](Diagnostic &) { return success(); });
  StepOptions options = step.options;
  change.apply(options);
  OwningOpRef<ModuleOp> module = original.clone();
  FailureOr<PreparedStep> prepared = prepareWholeStep(*module, options);
  if (failed(prepared))
    return std::nullopt;
  FailureOr<StepSimulation> simulation = simulateKernels(
      prepared->step, step.model, prepared->options.getProgram());
  if (failed(simulation))
    return std::nullopt;
  report::StepTiming changed =
      describeTiming(*simulation, step.model, std::nullopt);
  Advice advice;
  advice.title = change.title;
  advice.explanation = change.explanation;
  advice.flags = change.flags;
  advice.batches = change.batches;
  advice.seconds = changed.seconds;
  advice.exposedSeconds = changed.exposedSeconds;
  advice.peakBytes = changed.peakBytes;
  return advice;
}

/// The best change of each kind that makes the step quicker, if they are
/// several. If the step does not fit, the quickest change with which it does is
/// among them.
std::optional<StepChange> Adviser::combine(ArrayRef<Trial> trials) const {
  std::map<ChangeKind, const Trial *> best;
  const Trial *fitting = nullptr;
  auto choose = [](const Trial *&known, const Trial &trial) {
    if (!known || trial.advice.seconds < known->advice.seconds)
      known = &trial;
  };
  for (const Trial &trial : trials) {
    if (trial.change.kind == ChangeKind::Work)
      continue;
    if (isQuicker(trial.advice))
      choose(best[trial.change.kind], trial);
    if (isTooLarge() && fits(trial.advice))
      choose(fitting, trial);
  }
  if (fitting)
    best[fitting->change.kind] = fitting;
  if (best.size() < 2)
    return std::nullopt;
  StepChange all;
  all.kind = ChangeKind::Work;
  all.title = "The best changes together";
  std::vector<std::string> titles;
  std::vector<std::function<void(StepOptions &)>> parts;
  for (const auto &[kind, trial] : best) {
    std::string title = trial->change.title;
    title.front() = llvm::toLower(title.front());
    titles.push_back(title);
    all.flags += (all.flags.empty() ? "" : " ") + trial->change.flags;
    parts.push_back(trial->change.apply);
  }
  all.explanation = llvm::join(titles, "; ") + ".";
  all.explanation.front() = llvm::toUpper(all.explanation.front());
  all.apply = [parts](StepOptions &options) {
    for (const auto &part : parts)
      part(options);
  };
  return all;
}

/// More or fewer rows on each rank, in the order of the step.
Advice Adviser::scaleRows(double factor) const {
  SimulatedStep scaled = step.simulation.step;
  for (auto [op, shown] : llvm::zip(scaled.program.ops, scaled.ops))
    if (op.kind == TimedOpKind::Compute && shown.kind != BoxKind::Optimizer)
      op.seconds *= factor;
  SimulationResult result = simulateStep(scaled, step.simulation.order);
  const report::MemoryCurve &memory = step.report.after.memory;
  int64_t ofRows = 0;
  if (memory.getLength() > 0)
    for (report::MemoryUse use :
         {report::MemoryUse::Saved, report::MemoryUse::Temporary})
      ofRows += memory.bytes[static_cast<unsigned>(use)][memory.peak];
  Advice advice;
  advice.batches = factor;
  advice.seconds = result.seconds;
  for (const RankTimeline &rank : result.ranks)
    advice.exposedSeconds =
        std::max(advice.exposedSeconds, rank.exposedSeconds);
  advice.peakBytes =
      timing.peakBytes +
      static_cast<int64_t>((factor - 1) * static_cast<double>(ofRows));
  return advice;
}

/// Rows for which there is room, or fewer if there is none. Only where this
/// tool shards the step is it known that communication does not change.
std::optional<Advice> Adviser::changeRows() const {
  ModuleOp original = step.original;
  if (timing.exposedSeconds <= 0 || !original.getOps<tg::MeshOp>().empty())
    return std::nullopt;
  bool isTooMuch = isTooLarge();
  if (isTooMuch && step.rowsPerRank < 2)
    return std::nullopt;
  Advice advice = scaleRows(isTooMuch ? 0.5 : 2);
  advice.title = isTooMuch ? "Give each rank half the rows"
                           : "Give each rank twice as many rows";
  advice.explanation = isTooMuch ? "What is saved for backward is half as much."
                                 : "There is more to compute behind the same "
                                   "communication.";
  advice.formula = llvm::formatv(
      "forward and backward compute {0} as long, in the same order; what is "
      "saved and temporary at the peak takes {0} the bytes.",
      isTooMuch ? "half" : "twice");
  return advice;
}

std::vector<Advice> Adviser::run() {
  std::vector<Trial> trials;
  for (StepChange &change : findChanges(step))
    if (std::optional<Advice> advice = attempt(change))
      trials.push_back({std::move(change), std::move(*advice)});
  std::vector<Advice> useful;
  // What all of them together have to beat.
  double quickest =
      isTooLarge() ? std::numeric_limits<double>::infinity() : timing.seconds;
  for (const Trial &trial : trials) {
    if (!isUseful(trial.advice))
      continue;
    useful.push_back(trial.advice);
    if (trial.change.kind != ChangeKind::Work && fits(trial.advice))
      quickest = std::min(quickest, trial.advice.seconds);
  }
  if (std::optional<StepChange> all = combine(trials))
    if (std::optional<Advice> advice = attempt(*all);
        advice && isUseful(*advice) &&
        advice->seconds < (1 - kLittleTime / 2) * quickest)
      useful.push_back(std::move(*advice));
  if (std::optional<Advice> advice = changeRows(); advice && isUseful(*advice))
    useful.push_back(std::move(*advice));
  llvm::sort(useful, [&](const Advice &lhs, const Advice &rhs) {
    return std::make_tuple(!fits(lhs), lhs.getSecondsPerBatch(), lhs.title) <
           std::make_tuple(!fits(rhs), rhs.getSecondsPerBatch(), rhs.title);
  });
  return useful;
}

std::vector<Advice> regather::collectAdvice(const AdvisedStep &step) {
  return Adviser(step).run();
}
