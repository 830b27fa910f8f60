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

/// How often a budget is halved: to a 64th of what a minimum cut saves.
static constexpr unsigned kNumBudgets = 6;
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

  LogicalResult findBound();
  void tryAll(const StepOptions &options);
  void tryPolicies(const StepOptions &options);
  void tryBudgets(const StepOptions &options, int64_t most);
  LogicalResult emitLeast();

  ModuleOp module;
  /// Without the limit, which the tries must not look for again.
  StepOptions given;
  CostModel model;
  bool mayRecompute, mayApplyPolicy, mayReshard;
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

/// Measures the step that does nothing twice.
LogicalResult MemorySearch::findBound() {
  StepOptions least = given;
  if (mayRecompute)
    least.recompute.decision = PassDecision::No;
  if (mayReshard) {
    least.reshard.decision = PassDecision::Yes;
    least.reshard.options.mode = ReshardMode::Never;
  }
  FailureOr<MeasuredStep> measured = measureStep(module, least, model);
  if (failed(measured))
    return failure();
  plan.boundSeconds = measured->boundSeconds;
  return success();
}

void MemorySearch::tryPolicies(const StepOptions &decided) {
  for (PolicyPlan policy : {PolicyPlan::Selective, PolicyPlan::Full}) {
    StepOptions marked = decided;
    marked.policy.emplace().policy = policy;
    (void)tryDecisions(marked);
  }
}

/// The largest budget with which the step fits, by bisection: more saved bytes
/// mean less to compute again. A budget below the least possible is too small.
void MemorySearch::tryBudgets(const StepOptions &decided, int64_t most) {
  int64_t low = 0, high = most;
  for (unsigned i = 0; i < kNumBudgets && high - low > 1; ++i) {
    int64_t budget = low + (high - low) / 2;
    StepOptions within = decided;
    within.recompute.decision = PassDecision::Yes;
    within.recompute.options.mode = PartitionMode::Budget;
    within.recompute.options.budget = budget;
    within.recompute.options.cluster = chooseCluster(given, module);
    FailureOr<MeasuredStep> measured = tryDecisions(within);
    if (failed(measured) || fits(*measured))
      low = budget;
    else
      high = budget;
  }
}

/// What is computed again, where parameters are gathered as `decided`.
void MemorySearch::tryAll(const StepOptions &decided) {
  FailureOr<MeasuredStep> measured = tryDecisions(decided);
  if (failed(measured) || fits(*measured) || !mayRecompute)
    return;
  if (mayApplyPolicy)
    tryPolicies(decided);
  tryBudgets(decided, measured->savedBytes);
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
  std::string text;
  auto add = [&](StringRef name, const std::string &value) {
    if (!value.empty())
      text += (text.empty() ? "--" : " --") + name.str() + "='" + value + "'";
  };
  add("policy", choice.policy);
  add("recompute", choice.recompute);
  add("reshard", choice.reshard);
  diag.attachNote() << "with " << (text.empty() ? "the step as it is" : text)
                    << ", of " << plan.choices.size()
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
  if (failed(first))
    return failure();
  if (!fits(*first)) {
    if (mayRecompute) {
      if (mayApplyPolicy)
        tryPolicies(given);
      tryBudgets(given, first->savedBytes);
    }
    if (mayReshard) {
      StepOptions again = given;
      again.reshard.decision = PassDecision::Yes;
      again.reshard.options.mode = ReshardMode::Always;
      tryAll(again);
    }
  }
  std::optional<unsigned> best;
  for (auto [i, choice] : llvm::enumerate(plan.choices))
    if (choice.getBytes() <= plan.limit &&
        (!best || choice.seconds < plan.choices[*best].seconds))
      best = i;
  if (!best)
    return emitLeast();
  if (failed(findBound()))
    return failure();
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
