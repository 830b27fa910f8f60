//===- PlanMemory.cpp - Search for the quickest step that fits ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MeasureStep.h"

#include "regather/Driver/Clusters.h"
#include "regather/Timeline/WriteTimeline.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

/// Budgets of saved bytes that are tried at most, where parameters are gathered
/// as they are without a limit, and where always again.
static constexpr unsigned kNumBudgets = 5, kNumBudgetsAgain = 3;
/// A step that takes so much of the limit is as good as one that takes it all.
static constexpr double kFullPart = 0.98;
/// How near a guess may come to a budget that is known, as part of what lies
/// between two.
static constexpr double kLeastPart = 0.1;
/// Tensors that an error names.
static constexpr size_t kNumNamed = 3;

namespace {
class MemorySearch {
public:
  MemorySearch(ModuleOp module, const StepOptions &given, bool isOpen,
               CostModel model)
      : module(module), given(given), model(std::move(model)) {
    bool isFree = isOpen && !given.asCaptured;
    mayRecompute = isFree && given.recompute.decision == PassDecision::Open;
    mayApplyPolicy = mayRecompute && !given.policy;
    mayChunk = isFree && given.chunk.decision == PassDecision::Open;
    mayReshard = isFree && given.reshard.decision == PassDecision::Open;
    plan.limit = *given.memory;
    plan.cluster = this->model.getCluster().name;
    this->given.memory.reset();
  }

  FailureOr<MemoryPlan> run(StepOptions &chosen);

private:
  FailureOr<MeasuredStep> measure(const StepOptions &options);
  /// The same for decisions that may be impossible: no errors then.
  FailureOr<MeasuredStep> tryDecisions(const StepOptions &options);
  bool fits(const MeasuredStep &measured) const {
    return measured.choice.getBytes() <= plan.limit;
  }

  LogicalResult tryNothingTwice();
  void tryAll(const StepOptions &options, const MeasuredStep &measured,
              llvm::ArrayRef<PolicyPlan> policies, unsigned numBudgets);
  void tryPolicy(const StepOptions &options, PolicyPlan policy);
  void tryBudgets(const StepOptions &options, const MeasuredStep &most,
                  unsigned numBudgets);
  FailureOr<MeasuredStep> tryChunks(const MeasuredStep &first);
  void trySumsInBlocks();
  void tryGathersAgain(const MeasuredStep &first);
  std::optional<unsigned> findBest() const;
  LogicalResult emitLeast();

  ModuleOp module;
  /// Without the limit, which the tries must not look for again.
  StepOptions given;
  CostModel model;
  bool mayRecompute, mayApplyPolicy, mayChunk, mayReshard;
  MemoryPlan plan;
  /// By choice.
  std::vector<StepOptions> options;
  std::vector<std::vector<report::LiveBuffer>> largest;
};
} // namespace

FailureOr<MeasuredStep> MemorySearch::measure(const StepOptions &decided) {
  FailureOr<MeasuredStep> measured = measureStep(module, decided, model);
  if (failed(measured))
    return failure();
  if (plan.choices.empty() || measured->boundSeconds < plan.boundSeconds)
    plan.boundSeconds = measured->boundSeconds;
  plan.choices.push_back(measured->choice);
  options.push_back(decided);
  largest.push_back(measured->largest);
  return measured;
}

FailureOr<MeasuredStep> MemorySearch::tryDecisions(const StepOptions &decided) {
  ScopedDiagnosticHandler handler(module.getContext(),
                                  [](Diagnostic &) { return success(); });
  return measure(decided);
}

/// Measures the step that computes and gathers nothing twice.
LogicalResult MemorySearch::tryNothingTwice() {
  StepOptions least = given;
  if (mayRecompute)
    least.recompute.decision = PassDecision::No;
  if (mayReshard) {
    least.reshard.decision = PassDecision::Yes;
    least.reshard.options.mode = ReshardMode::Never;
  }
  return measure(least);
}

void MemorySearch::tryPolicy(const StepOptions &decided, PolicyPlan policy) {
  StepOptions marked = decided;
  marked.policy.emplace().policy = policy;
  (void)tryDecisions(marked);
}

/// The largest budget with which the step fits: more saved bytes mean less to
/// compute again. `most` is a step that saves too much. A budget below the
/// least possible is too small. Arenas do not grow evenly with budgets, so a
/// guess by two of them keeps away from both.
void MemorySearch::tryBudgets(const StepOptions &decided,
                              const MeasuredStep &most, unsigned numBudgets) {
  int64_t low = 0, high = most.savedBytes;
  int64_t highBytes = most.choice.getBytes();
  std::optional<int64_t> lowBytes;
  for (unsigned i = 0; i < numBudgets && high - low > 1; ++i) {
    double part = 0.5;
    if (lowBytes)
      part = static_cast<double>(plan.limit - *lowBytes) /
             static_cast<double>(highBytes - *lowBytes);
    else if (low == 0)
      part = 1 - static_cast<double>(highBytes - plan.limit) /
                     static_cast<double>(high);
    part = std::clamp(part, kLeastPart, 1 - kLeastPart);
    int64_t budget = std::clamp(
        low + static_cast<int64_t>(part * static_cast<double>(high - low)),
        low + 1, high - 1);
    StepOptions within = decided;
    within.recompute.decision = PassDecision::Yes;
    within.recompute.options.mode = PartitionMode::Budget;
    within.recompute.options.budget = budget;
    within.recompute.options.cluster = chooseCluster(given, module);
    FailureOr<MeasuredStep> measured = tryDecisions(within);
    if (succeeded(measured) && !fits(*measured)) {
      high = budget;
      highBytes = measured->choice.getBytes();
      continue;
    }
    low = budget;
    lowBytes.reset();
    if (failed(measured))
      continue;
    lowBytes = measured->choice.getBytes();
    if (static_cast<double>(*lowBytes) >=
        kFullPart * static_cast<double>(plan.limit))
      return;
  }
}

/// What is computed again in a step that needs too much, where parameters are
/// gathered as `decided`.
void MemorySearch::tryAll(const StepOptions &decided,
                          const MeasuredStep &measured,
                          ArrayRef<PolicyPlan> policies, unsigned numBudgets) {
  if (!mayRecompute)
    return;
  if (mayApplyPolicy)
    for (PolicyPlan policy : policies)
      tryPolicy(decided, policy);
  tryBudgets(decided, measured, numBudgets);
}

/// Blocks of rows take hardly any time, so what comes later has them if they
/// help at all. Fails if they do not.
FailureOr<MeasuredStep> MemorySearch::tryChunks(const MeasuredStep &first) {
  StepOptions chunked = given;
  chunked.chunk.decision = PassDecision::Yes;
  FailureOr<MeasuredStep> measured = tryDecisions(chunked);
  if (failed(measured) ||
      measured->choice.getBytes() >= first.choice.getBytes())
    return failure();
  given = chunked;
  return measured;
}

/// The last resort: sums over the rows of a chain in blocks have other bits.
void MemorySearch::trySumsInBlocks() {
  given.chunk.options.sums = ChunkSums::Blocks;
  FailureOr<MeasuredStep> measured = tryDecisions(given);
  if (failed(measured) || fits(*measured))
    return;
  tryAll(given, *measured, PolicyPlan::Full, kNumBudgetsAgain);
  if (!mayReshard || findBest())
    return;
  given.reshard.decision = PassDecision::Yes;
  given.reshard.options.mode = ReshardMode::Always;
  if (mayApplyPolicy)
    tryPolicy(given, PolicyPlan::Full);
}

/// All parameters are released after forward. A selective policy has been seen
/// by then, with little more memory.
void MemorySearch::tryGathersAgain(const MeasuredStep &first) {
  StepOptions again = given;
  again.reshard.decision = PassDecision::Yes;
  again.reshard.options.mode = ReshardMode::Always;
  FailureOr<MeasuredStep> measured = tryDecisions(again);
  if (failed(measured) || fits(*measured) ||
      measured->choice.getBytes() == first.choice.getBytes())
    return;
  tryAll(again, *measured, PolicyPlan::Full, kNumBudgetsAgain);
}

/// The quickest that fits.
std::optional<unsigned> MemorySearch::findBest() const {
  std::optional<unsigned> best;
  for (auto [i, choice] : llvm::enumerate(plan.choices))
    if (choice.getBytes() <= plan.limit &&
        (!best || choice.seconds < plan.choices[*best].seconds))
      best = i;
  return best;
}

/// Says what the smallest step needs.
LogicalResult MemorySearch::emitLeast() {
  unsigned least = 0;
  for (unsigned i = 1; i < plan.choices.size(); ++i)
    if (plan.choices[i].getBytes() < plan.choices[least].getBytes())
      least = i;
  const MemoryChoice &choice = plan.choices[least];
  InFlightDiagnostic diag =
      module.emitError()
      << "no plan fits in " << plan.limit << " bytes ("
      << formatBytes(plan.limit)
      << ") on each rank: the least that was found is " << choice.getBytes()
      << " bytes, " << choice.argumentBytes
      << " of them parameters, optimizer state, batch and results, which no "
         "decision changes";
  diag.attachNote() << "with " << choice.describe() << ", of "
                    << plan.choices.size()
                    << (plan.choices.size() == 1 ? " choice" : " choices")
                    << " that were tried";
  for (const report::LiveBuffer &buffer :
       ArrayRef(largest[least]).take_front(kNumNamed))
    diag.attachNote() << buffer.bytes << " bytes at its peak are of "
                      << (buffer.op.empty() ? "an argument" : buffer.op)
                      << (buffer.module.empty() ? "" : " in " + buffer.module)
                      << (buffer.phase.empty() ? "" : ", " + buffer.phase);
  return diag;
}

FailureOr<MemoryPlan> MemorySearch::run(StepOptions &chosen) {
  FailureOr<MeasuredStep> first = measure(given);
  if (failed(first) || failed(tryNothingTwice()))
    return failure();
  if (!fits(*first) && mayChunk)
    if (FailureOr<MeasuredStep> chunked = tryChunks(*first); succeeded(chunked))
      first = chunked;
  if (!fits(*first)) {
    tryAll(given, *first, {PolicyPlan::Selective, PolicyPlan::Full},
           kNumBudgets);
    if (mayReshard)
      tryGathersAgain(*first);
  }
  if (!findBest() && mayChunk && given.chunk.isWanted())
    trySumsInBlocks();
  std::optional<unsigned> best = findBest();
  if (!best)
    return emitLeast();
  plan.chosen = *best;
  chosen = options[*best];
  return std::move(plan);
}

FailureOr<MemoryPlan> regather::planMemory(ModuleOp module,
                                           StepOptions &options, bool isOpen) {
  FailureOr<CostModel> model = loadChosenCluster(module, options);
  if (failed(model))
    return failure();
  StepOptions given = options;
  // Commands that take single operations count the step as it would be run.
  bool schedulesKernels = std::exchange(given.schedulesKernels, true);
  FailureOr<MemoryPlan> plan =
      MemorySearch(module, given, isOpen, std::move(*model)).run(options);
  options.schedulesKernels = schedulesKernels;
  return plan;
}
