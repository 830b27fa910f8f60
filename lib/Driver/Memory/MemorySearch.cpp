//===- MemorySearch.cpp - Decisions that make a step fit ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemorySearch.h"

#include "../SideBySide.h"
#include "SomeUnits.h"
#include "TakeLess.h"

#include "regather/Pipelines/Pipelines.h"
#include "regather/Pipelines/StepOptionText.h"
#include "regather/Timeline/WriteTimeline.h"

#include <cmath>
#include <set>

using namespace mlir;
using namespace regather;
using namespace regather::tg;

/// Budgets of saved bytes that are tried at most, where parameters are gathered
/// as they are without a limit, and where always again.
static constexpr unsigned kNumBudgets = 5, kNumBudgetsAgain = 3;
/// Numbers of bytes on the host that are tried at most, if all is more than
/// enough.
static constexpr unsigned kNumOffloads = 3;
/// A step that takes so much of the limit is as good as one that takes it all.
static constexpr double kFullPart = 0.98;
/// Of the time of a step, in which copies to the host cost nothing: forward
/// takes a third, but nothing is left of it for what its last layers compute.
static constexpr double kForwardPart = 0.25;
/// A step that is estimated to take so much of the limit with everything that
/// makes it smaller has no hope.
static constexpr double kHopelessPart = 1.2;
/// How near a guess may come to a budget that is known, as part of what lies
/// between two.
static constexpr double kLeastPart = 0.1;
/// How often the best step is to take more of the limit, and how much.
static constexpr unsigned kNumFilled = 2;
static constexpr double kWantedPart = 0.99;
/// Chains in blocks that take so much longer at most are cheap.
static constexpr double kCheapPart = 0.01;
/// How many steps that are too large are tried with a policy for some units.
static constexpr unsigned kNumBetween = 2;
/// The first layers free more for their time than what lies on the line.
static constexpr double kBetweenSlack = 1.05;
/// Tensors that an error names.
static constexpr size_t kNumNamed = 3;

/// True if the caller has left a pass open.
template <typename PassT>
static bool mayDecide(const StepOptions &given, bool isOpen,
                      const PassT &pass) {
  return isOpen && !given.asCaptured && pass.decision == PassDecision::Open;
}

MemorySearch::MemorySearch(ModuleOp module, const StepOptions &given,
                           bool isOpen, const CostModel &model,
                           const ShortSteps *shortSteps)
    : module(module), given(given), isOpen(isOpen), model(model),
      measurer(module, model) {
  numUnits = countUnits(module);
  if (shortSteps) {
    estimator.emplace(*shortSteps, model);
    numUnits =
        std::llround(shortSteps->getFactor() * static_cast<double>(numUnits));
  }
  mayRecompute = mayDecide(given, isOpen, given.recompute);
  mayApplyPolicy = mayRecompute && !given.policy;
  mayChunk = mayDecide(given, isOpen, given.chunk);
  mayReshard = mayDecide(given, isOpen, given.reshard);
  mayOrder = mayDecide(given, isOpen, given.schedule) &&
             given.ranks.value_or(countRanks(given.shard.mesh)) > 1;
  mayOffload = mayDecide(given, isOpen, given.offload) &&
               model.getCluster().device.hostBandwidth > 0;
  plan.limit = *given.memory;
  plan.cluster = model.getCluster().name;
  this->given.memory.reset();
  this->given.choosesParts = false;
}

FailureOr<MeasuredStep> MemorySearch::measure(const StepOptions &decided,
                                              Tries &tries) {
  FailureOr<MeasuredStep> measured =
      estimator ? estimator->measure(decided) : measurer.measure(decided);
  if (succeeded(measured))
    tries.push_back({decided, *measured});
  return measured;
}

FailureOr<MeasuredStep> MemorySearch::tryDecisions(const StepOptions &decided,
                                                   Tries &tries) {
  ScopedDiagnosticHandler handler(module.getContext(),
                                  [](Diagnostic &) { return success(); });
  return measure(decided, tries);
}

void MemorySearch::keep(Tries tries) {
  for (Try &one : tries) {
    if (plan.choices.empty() || one.measured.boundSeconds < plan.boundSeconds)
      plan.boundSeconds = one.measured.boundSeconds;
    plan.choices.push_back(one.measured.choice);
    options.push_back(std::move(one.options));
    measuredSteps.push_back(std::move(one.measured));
  }
}

static void append(Tries &tries, Tries others) {
  llvm::move(others, std::back_inserter(tries));
}

StepOptions regather::doNothingTwice(StepOptions given, bool isOpen) {
  if (mayDecide(given, isOpen, given.recompute))
    given.recompute.decision = PassDecision::No;
  if (mayDecide(given, isOpen, given.reshard)) {
    given.reshard.decision = PassDecision::Yes;
    given.reshard.options.mode = ReshardMode::Never;
  }
  return given;
}

/// Measures the step that computes and gathers nothing twice.
LogicalResult MemorySearch::tryNothingTwice(Tries &tries) {
  return measure(doNothingTwice(given, isOpen), tries);
}

/// The time of a step that takes the limit, if bytes and seconds change evenly
/// from one that is larger to one that is smaller.
double MemorySearch::estimateBetween(const MemoryChoice &larger,
                                     const MemoryChoice &smaller) const {
  auto part = static_cast<double>(larger.getBytes() - plan.limit) /
              static_cast<double>(larger.getBytes() - smaller.getBytes());
  return larger.seconds + part * (smaller.seconds - larger.seconds);
}

/// Of the tries that fit.
std::optional<double>
MemorySearch::findLeastSeconds(ArrayRef<const Tries *> parts) const {
  std::optional<double> least;
  for (const Tries *tries : parts)
    for (const Try &one : *tries)
      if (fits(one.measured))
        least = std::min(least.value_or(one.measured.choice.seconds),
                         one.measured.choice.seconds);
  return least;
}

/// How much has to lie on the host for the step to fit, as `decided` otherwise:
/// less takes less time of the link. `most` is the step with nothing there.
/// Does not look for that if it is not expected to be quicker than `best`.
void MemorySearch::tryOffloads(const StepOptions &decided,
                               const MeasuredStep &most,
                               std::optional<double> best, Tries &tries) {
  if (!mayOffload)
    return;
  StepOptions away = decided;
  away.offload.decision = PassDecision::Yes;
  away.offload.options.mode = OffloadMode::All;
  FailureOr<MeasuredStep> all = tryDecisions(away, tries);
  if (failed(all) || !fits(*all) ||
      (best && estimateBetween(most.choice, all->choice) >= *best))
    return;
  away.offload.options.mode = OffloadMode::Bytes;
  findEnough(0, all->choice.hostBytes - all->choice.hostStateBytes,
             most.choice.getBytes(), all->choice.getBytes(),
             [&](int64_t bytes) {
               away.offload.options.bytes = bytes;
               return tryDecisions(away, tries);
             });
}

/// Looks for the fewest bytes on the host that are enough: with `low` of them,
/// the step takes `lowBytes`, too many, and with `high` of them `highBytes`.
void MemorySearch::findEnough(
    int64_t low, int64_t high, int64_t lowBytes, int64_t highBytes,
    llvm::function_ref<FailureOr<MeasuredStep>(int64_t)> measureWith) const {
  for (unsigned i = 0; i < kNumOffloads && high - low > 1; ++i) {
    if (static_cast<double>(highBytes) >=
        kFullPart * static_cast<double>(plan.limit))
      return;
    // Rounded up to what frees enough if memory falls evenly.
    double part = static_cast<double>(lowBytes - plan.limit) /
                  static_cast<double>(lowBytes - highBytes);
    part = std::clamp(part, kLeastPart, 1 - kLeastPart);
    int64_t bytes = std::clamp(
        low + static_cast<int64_t>(part * static_cast<double>(high - low)),
        low + 1, high - 1);
    FailureOr<MeasuredStep> measured = measureWith(bytes);
    if (failed(measured))
      return;
    bool isEnough = fits(*measured);
    (isEnough ? high : low) = bytes;
    (isEnough ? highBytes : lowBytes) = measured->choice.getBytes();
  }
}

/// Recomputation and the link to the host share the work: what is copied away
/// while forward computes costs nothing, and a budget makes the rest fit.
void MemorySearch::tryBudgetsWithHost(const StepOptions &decided,
                                      const MeasuredStep &measured,
                                      Tries &tries) {
  const Device &device = model.getCluster().device;
  if (!mayOffload || !mayRecompute)
    return;
  StepOptions away = decided;
  away.offload.decision = PassDecision::Yes;
  away.offload.options.mode = OffloadMode::Bytes;
  away.offload.options.bytes = static_cast<int64_t>(
      kForwardPart * measured.choice.seconds * device.hostBandwidth);
  FailureOr<MeasuredStep> partly = tryDecisions(away, tries);
  if (succeeded(partly) && !fits(*partly))
    tryBudgets(away, *partly, kNumBudgetsAgain, tries);
}

/// The largest budget with which the step fits: more saved bytes mean less to
/// compute again. `most` is a step that saves too much. A budget below the
/// least possible is too small. Arenas do not grow evenly with budgets, so a
/// guess by two of them keeps away from both.
void MemorySearch::tryBudgets(const StepOptions &decided,
                              const MeasuredStep &most, unsigned numBudgets,
                              Tries &tries) {
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
    FailureOr<MeasuredStep> measured = tryDecisions(within, tries);
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
    if (takesFirst || static_cast<double>(*lowBytes) >=
                          kFullPart * static_cast<double>(plan.limit))
      return;
  }
}

/// Returns the last one that does not fit; the last policy leaves least.
std::optional<Try> MemorySearch::tryPolicies(const StepOptions &decided,
                                             ArrayRef<PolicyPlan> policies,
                                             Tries &tries) {
  std::optional<Try> smallest;
  if (!mayApplyPolicy)
    return smallest;
  for (PolicyPlan policy : policies) {
    StepOptions marked = decided;
    marked.policy.emplace().policy = policy;
    FailureOr<MeasuredStep> tried = tryDecisions(marked, tries);
    if (succeeded(tried) && !fits(*tried))
      smallest = Try{std::move(marked), std::move(*tried)};
    if (isDone(tries))
      break;
  }
  return smallest;
}

/// What is computed again in a step that needs too much, where parameters are
/// gathered as `decided`.
void MemorySearch::tryAll(const StepOptions &decided,
                          const MeasuredStep &measured,
                          ArrayRef<PolicyPlan> policies, unsigned numBudgets,
                          Tries &tries) {
  if (!mayRecompute)
    return tryOffloads(decided, measured, std::nullopt, tries);
  if (takesFirst) {
    // Policies are there to be compared with.
    tryBudgets(decided, measured, numBudgets, tries);
    if (isDone(tries))
      return;
    std::optional<Try> smallest = tryPolicies(decided, policies, tries);
    if (isDone(tries))
      return;
    tryOffloads(decided, measured, std::nullopt, tries);
    // What is left may lie on the host as well.
    if (smallest)
      tryOffloads(smallest->options, smallest->measured, std::nullopt, tries);
    return;
  }
  Tries marked, budgets, offloads, markedOffloads;
  std::optional<Try> smallest;
  runSideBySide(module.getContext(),
                {[&] { smallest = tryPolicies(decided, policies, marked); },
                 [&] { tryBudgets(decided, measured, numBudgets, budgets); }});
  std::optional<double> best = findLeastSeconds({&marked, &budgets});
  runSideBySide(module.getContext(),
                {[&] {
                   if (smallest)
                     tryOffloads(smallest->options, smallest->measured, best,
                                 markedOffloads);
                 },
                 [&] { tryOffloads(decided, measured, best, offloads); }});
  for (Tries *part : {&marked, &budgets, &offloads, &markedOffloads})
    append(tries, std::move(*part));
}

/// Blocks of rows take hardly any time, so what comes later has them if they
/// help at all, or may help once the peak is elsewhere. Fails if they do not.
FailureOr<MeasuredStep> MemorySearch::tryChunks(const MeasuredStep &first,
                                                Tries &tries) {
  StepOptions chunked = given;
  chunked.chunk.decision = PassDecision::Yes;
  FailureOr<MeasuredStep> measured = tryDecisions(chunked, tries);
  if (failed(measured) || measured->choice.getBytes() < first.choice.getBytes())
    return measured;
  // Without a chain, nothing has changed.
  bool isSame = measured->choice.getBytes() == first.choice.getBytes() &&
                measured->choice.seconds == first.choice.seconds;
  isChunkedAtOnce =
      !takesFirst && !isSame &&
      measured->choice.seconds <= (1 + kCheapPart) * first.choice.seconds;
  if (!isChunkedAtOnce)
    return failure();
  return measured;
}

/// The last resort: sums over the rows of a chain in blocks have other bits.
void MemorySearch::trySumsInBlocks() {
  given.chunk.options.sums = ChunkSums::Blocks;
  Tries tries;
  FailureOr<MeasuredStep> measured = tryDecisions(given, tries);
  if (succeeded(measured) && !fits(*measured))
    tryAll(given, *measured, PolicyPlan::Full, kNumBudgetsAgain, tries);
  keep(std::move(tries));
  if (failed(measured) || !mayReshard || !mayApplyPolicy || findBest())
    return;
  given.reshard.decision = PassDecision::Yes;
  given.reshard.options.mode = ReshardMode::Always;
  Tries again;
  tryPolicies(given, PolicyPlan::Full, again);
  keep(std::move(again));
}

/// All parameters are released after forward. A selective policy has been seen
/// by then, with little more memory.
void MemorySearch::tryGathersAgain(const MeasuredStep &first, Tries &tries) {
  StepOptions again = given;
  again.reshard.decision = PassDecision::Yes;
  again.reshard.options.mode = ReshardMode::Always;
  FailureOr<MeasuredStep> measured = tryDecisions(again, tries);
  if (failed(measured) || fits(*measured) ||
      measured->choice.getBytes() == first.choice.getBytes())
    return;
  tryAll(again, *measured, PolicyPlan::Full, kNumBudgetsAgain, tries);
}

/// The step as it is given, with all states of the optimizer on the host. Fails
/// if that helps nothing.
FailureOr<MeasuredStep> MemorySearch::tryAllStates(Tries &tries) {
  StepOptions away = given;
  away.offload.decision = PassDecision::Yes;
  away.states.states = "all";
  FailureOr<MeasuredStep> all = tryDecisions(away, tries);
  if (failed(all) || all->choice.hostStateBytes == 0)
    return failure();
  return all;
}

/// What states take on the device is free for all that lives on from forward
/// to backward; copies of them take the link to the host while backward, or the
/// optimizer, computes.
void MemorySearch::tryStates(const MeasuredStep &first, Tries &tries) {
  if (!mayOffload || keepsStates || first.stateBytes == 0)
    return;
  FailureOr<MeasuredStep> all = tryAllStates(tries);
  if (failed(all))
    return;
  StepOptions away = tries.back().options;
  if (!fits(*all) && !mayRecompute)
    return tryOffloads(away, *all, std::nullopt, tries);
  if (!fits(*all)) {
    // All values on the host, too, is for where nothing else fits.
    Tries budgets, withHost;
    runSideBySide(module.getContext(),
                  {[&] { (void)tryPolicies(away, PolicyPlan::Full, tries); },
                   [&] { tryBudgets(away, *all, kNumBudgetsAgain, budgets); },
                   [&] { tryBudgetsWithHost(away, *all, withHost); }});
    append(tries, std::move(budgets));
    append(tries, std::move(withHost));
    return;
  }
  int64_t low = 0, high = all->choice.hostStateBytes;
  int64_t lowBytes = first.choice.getBytes(),
          highBytes = all->choice.getBytes();
  findEnough(low, high, lowBytes, highBytes, [&](int64_t bytes) {
    away.states.states = std::to_string(bytes);
    return tryDecisions(away, tries);
  });
}

/// Lets all that is tried from now on have the states of the optimizer on the
/// host, if that can be enough for the least that was found; `first` is the
/// step as it is given then.
bool MemorySearch::useStates(MeasuredStep &first) {
  if (!mayOffload || keepsStates || first.stateBytes == 0)
    return false;
  if (takesFirst &&
      plan.choices[findLeast()].getBytes() - first.stateBytes > plan.limit)
    return false;
  Tries tries;
  FailureOr<MeasuredStep> all = tryAllStates(tries);
  keep(std::move(tries));
  if (failed(all))
    return false;
  given.states = options.back().states;
  given.offload = options.back().offload;
  keepsStates = true;
  first = *all;
  return true;
}

/// Where nothing fits, everything once more beside states on the host. False if
/// that has been done.
bool MemorySearch::tryWithStates(MeasuredStep &first) {
  if (findBest() || !useStates(first))
    return false;
  if (!fits(first))
    tryWithoutRoom(first);
  return true;
}

/// The best step, if it leaves room, with as many bytes saved or not copied to
/// the host as take it.
void MemorySearch::tryToFill() {
  std::optional<unsigned> best = findBest();
  if (!best)
    return;
  StepOptions fuller = options[*best];
  MeasuredStep measured = measuredSteps[*best];
  Tries tries;
  for (unsigned i = 0; i != kNumFilled; ++i) {
    auto bytes = static_cast<double>(measured.choice.getBytes());
    auto limit = static_cast<double>(plan.limit);
    if ((fits(measured) && bytes >= kFullPart * limit) ||
        !takeLess(fuller, given, std::llround(bytes - kWantedPart * limit),
                  getUnitBytes(fuller, measured.savedBytes, numUnits)))
      break;
    FailureOr<MeasuredStep> tried = tryDecisions(fuller, tries);
    if (failed(tried))
      break;
    measured = std::move(*tried);
  }
  keep(std::move(tries));
}

/// Blocks of a chain make a step no smaller whose peak lies elsewhere. Where
/// other decisions have moved it, they may still help nothing.
void MemorySearch::tryWithoutChunks() {
  std::optional<unsigned> best = findBest();
  if (!best || !isChunkedAtOnce)
    return;
  StepOptions whole = options[*best];
  whole.chunk.decision = PassDecision::No;
  Tries tries;
  (void)tryDecisions(whole, tries);
  keep(std::move(tries));
}

/// Pairs of a choice that is too large and one with a policy that fits, those
/// first between which the quickest step is to be expected if bytes and seconds
/// change evenly from one to the other; none that would hardly be the best.
std::vector<MemorySearch::Between> MemorySearch::findBetween() const {
  std::optional<unsigned> best = findBest();
  if (!best || !mayApplyPolicy)
    return {};
  std::vector<Between> found;
  for (auto [i, larger] : llvm::enumerate(plan.choices)) {
    if (larger.getBytes() <= plan.limit || hasSomeUnits(options[i]) ||
        options[i].recompute.options.mode == PartitionMode::Budget)
      continue;
    for (auto [j, smaller] : llvm::enumerate(plan.choices)) {
      if (smaller.getBytes() > plan.limit || !options[j].policy ||
          hasSomeUnits(options[j]) || smaller.seconds <= larger.seconds ||
          (options[i].policy &&
           options[i].policy->policy == options[j].policy->policy))
        continue;
      double seconds = estimateBetween(larger, smaller);
      if (seconds < kBetweenSlack * plan.choices[*best].seconds)
        found.push_back(
            {static_cast<unsigned>(i), static_cast<unsigned>(j), seconds});
    }
  }
  llvm::sort(found, [](const Between &a, const Between &b) {
    return std::tie(a.seconds, a.larger, a.smaller) <
           std::tie(b.seconds, b.larger, b.smaller);
  });
  // With whatever policy, one step for each that is too large.
  std::set<unsigned> seen;
  llvm::erase_if(found, [&](const Between &pair) {
    return seen.size() == kNumBetween || !seen.insert(pair.larger).second;
  });
  return found;
}

/// Between a step that is too large and a policy that leaves room lie those in
/// which as few units as are enough have the policy: the first ones, whose
/// values would be kept longest.
void MemorySearch::trySomeUnits() {
  std::vector<Between> pairs = findBetween();
  std::vector<Tries> found(pairs.size());
  std::vector<std::function<void()>> parts;
  for (auto [pair, tries] : llvm::zip_equal(pairs, found))
    parts.push_back([this, pair = pair, &tries = tries] {
      findEnough(0, numUnits, plan.choices[pair.larger].getBytes(),
                 plan.choices[pair.smaller].getBytes(), [&](int64_t units) {
                   return tryDecisions(withSomeUnits(options[pair.larger],
                                                     options[pair.smaller],
                                                     units),
                                       tries);
                 });
    });
  runSideBySide(module.getContext(), parts);
  for (Tries &tries : found)
    keep(std::move(tries));
}

/// Schedules keep to little more than what the step takes in its order. Where
/// the limit has more room, copies and gathers of the best step may start
/// earlier.
void MemorySearch::tryMoreRoom() {
  std::optional<unsigned> best = findBest();
  if (!best || !mayOrder)
    return;
  StepOptions roomy = options[*best];
  roomy.schedule.decision = PassDecision::Yes;
  roomy.schedule.options.memoryLimit = std::to_string(plan.limit);
  Tries tries;
  (void)tryDecisions(roomy, tries);
  keep(std::move(tries));
}

/// Schedules start copies and gathers earlier than the step in its order. Where
/// nothing fits, the smallest step does with less: a schedule within the limit,
/// or none. In the order of the step, values that come back from the host one
/// by one may take less than what is computed again, with its operands.
void MemorySearch::tryLessRoom() {
  if (!mayOrder)
    return;
  StepOptions tight = options[findLeast()];
  tight.schedule.decision = PassDecision::Yes;
  tight.schedule.options.memoryLimit = std::to_string(plan.limit);
  auto isEnough = [&] {
    Tries tries;
    FailureOr<MeasuredStep> measured = tryDecisions(tight, tries);
    keep(std::move(tries));
    return succeeded(measured) && fits(*measured);
  };
  if (isEnough())
    return;
  tight.schedule.decision = PassDecision::No;
  if (isEnough() || !mayOffload || !mayRecompute)
    return;
  if (mayApplyPolicy)
    tight.policy.reset();
  tight.recompute.decision = PassDecision::No;
  tight.offload.decision = PassDecision::Yes;
  tight.offload.options.mode = OffloadMode::All;
  (void)isEnough();
}

/// The one that needs the fewest bytes.
unsigned MemorySearch::findLeast() const {
  unsigned least = 0;
  for (unsigned i = 1; i < plan.choices.size(); ++i)
    if (plan.choices[i].getBytes() < plan.choices[least].getBytes())
      least = i;
  return least;
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

LogicalResult MemorySearch::emitLeast(size_t numChoices, StringRef obstacle) {
  unsigned least = findLeast();
  const MemoryChoice &choice = plan.choices[least];
  StringRef fixed = choice.hostStateBytes > 0
                        ? "parameters, batch and results"
                        : "parameters, optimizer state, batch and results";
  InFlightDiagnostic diag = module.emitError()
                            << "no plan fits in " << plan.limit << " bytes ("
                            << formatBytes(plan.limit)
                            << ") on each rank: the least that was found is "
                            << choice.getBytes() << " bytes, "
                            << choice.argumentBytes << " of them " << fixed
                            << ", which no decision changes";
  diag.attachNote() << "with " << choice.describe() << ", of " << numChoices
                    << (numChoices == 1 ? " choice" : " choices")
                    << " that were tried";
  if (choice.argumentBytes > plan.limit)
    diag.attachNote()
        << "the " << fixed << " alone are more than the limit: "
        << "more ranks share them, and a smaller batch takes less";
  if (!obstacle.empty())
    diag.attachNote() << "more micro-batches were not tried: " << obstacle;
  for (const report::LiveBuffer &buffer :
       ArrayRef(measuredSteps[least].largest).take_front(kNumNamed))
    diag.attachNote() << buffer.bytes << " bytes at its peak are of "
                      << (buffer.op.empty() ? "an argument" : buffer.op)
                      << (buffer.module.empty() ? "" : " in " + buffer.module)
                      << (buffer.phase.empty() ? "" : ", " + buffer.phase);
  return diag;
}

/// True if the step is far too large even with everything that makes it
/// smaller. Only asked of estimates, of which many are wanted.
bool MemorySearch::isHopeless() {
  StepOptions least = given;
  if (mayChunk)
    least.chunk.decision = PassDecision::Yes;
  if (mayApplyPolicy)
    least.policy.emplace().policy = PolicyPlan::Full;
  if (mayReshard) {
    least.reshard.decision = PassDecision::Yes;
    least.reshard.options.mode = ReshardMode::Always;
  }
  if (mayOffload) {
    least.offload.decision = PassDecision::Yes;
    least.offload.options.mode = OffloadMode::All;
    least.states.states = "all";
  }
  Tries tries;
  FailureOr<MeasuredStep> measured = tryDecisions(least, tries);
  if (failed(measured))
    return false;
  keep(std::move(tries));
  return static_cast<double>(measured->choice.getBytes()) >
         kHopelessPart * static_cast<double>(plan.limit);
}

/// Everything that makes a step smaller, from the cheapest on.
void MemorySearch::tryWithoutRoom(const MeasuredStep &first) {
  constexpr PolicyPlan kPolicies[] = {PolicyPlan::Selective, PolicyPlan::Full};
  Tries asGiven, withHost, again, states;
  if (!takesFirst) {
    // The one that takes longest comes first.
    runSideBySide(
        module.getContext(),
        {[&] {
           if (mayReshard)
             tryGathersAgain(first, again);
         },
         [&] { tryAll(given, first, kPolicies, kNumBudgets, asGiven); },
         [&] { tryBudgetsWithHost(given, first, withHost); },
         [&] { tryStates(first, states); }});
    for (Tries *part : {&asGiven, &withHost, &again, &states})
      keep(std::move(*part));
    return;
  }
  tryAll(given, first, kPolicies, kNumBudgets, asGiven);
  keep(std::move(asGiven));
  if (findBest())
    return;
  tryBudgetsWithHost(given, first, withHost);
  keep(std::move(withHost));
  if (mayReshard && !findBest())
    tryGathersAgain(first, again);
  keep(std::move(again));
}

LogicalResult MemorySearch::run(const MemorySearchNotes &notes) {
  takesFirst = notes.takesFirst;
  FailureOr<MeasuredStep> first = failure();
  Tries tries;
  if (notes.first && !estimator)
    tries.push_back({given, *(first = *notes.first)});
  else if (failed(first = measure(given, tries)))
    return failure();
  keep(std::move(tries));
  if (notes.measuresFirst)
    return success();
  if (estimator && !fits(*first) && isHopeless())
    return success();
  // No other decision changes what arguments take.
  if (first->choice.argumentBytes > plan.limit &&
      (!useStates(*first) || first->choice.argumentBytes > plan.limit))
    return success();
  Tries twice, chunks;
  LogicalResult hasTwice = success();
  FailureOr<MeasuredStep> chunked = failure();
  runSideBySide(module.getContext(), {[&] {
                                        if (!takesFirst)
                                          hasTwice = tryNothingTwice(twice);
                                      },
                                      [&] {
                                        if (!fits(*first) && mayChunk)
                                          chunked = tryChunks(*first, chunks);
                                      }});
  // Once more, to hear why.
  if (failed(hasTwice) && failed(tryNothingTwice(twice)))
    return failure();
  keep(std::move(twice));
  keep(std::move(chunks));
  if (succeeded(chunked)) {
    given.chunk.decision = PassDecision::Yes;
    first = chunked;
  }
  if (!fits(*first))
    tryWithoutRoom(*first);
  tryWithStates(*first);
  if (!findBest())
    tryLessRoom();
  if (!findBest() && mayChunk && given.chunk.isWanted())
    trySumsInBlocks();
  if (tryWithStates(*first) && !findBest())
    tryLessRoom();
  if (!fits(*first) && !takesFirst) {
    trySomeUnits();
    tryToFill();
    tryWithoutChunks();
    tryMoreRoom();
  }
  return success();
}
