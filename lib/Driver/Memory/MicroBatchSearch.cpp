//===- MicroBatchSearch.cpp - Into how many parts a batch is cut ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MicroBatchSearch.h"

#include "regather/Driver/PrepareStep.h"
#include "regather/Pipelines/Pipelines.h"

using namespace mlir;
using namespace regather;

/// Micro-batches that a batch is cut into at most: a step has the operations of
/// each of them.
static constexpr int64_t kMostParts = 64;

FailureOr<std::unique_ptr<MemorySearch>>
MicroBatchSearch::search(int64_t parts, const MemorySearchNotes &notes) {
  StepOptions cut = given;
  cut.cut.parts = parts;
  auto made =
      std::make_unique<MemorySearch>(module, cut, isOpen, model, shortSteps);
  if (failed(made->run(notes)))
    return failure();
  return made;
}

/// Of what fits; infinite if nothing does.
static double getSeconds(const MemorySearch &search) {
  std::optional<unsigned> best = search.findBest();
  return best ? search.getPlan().choices[*best].seconds
              : std::numeric_limits<double>::infinity();
}

double MicroBatchSearch::getBestSeconds() const {
  double seconds = std::numeric_limits<double>::infinity();
  for (const std::unique_ptr<MemorySearch> &search : searches)
    seconds = std::min(seconds, getSeconds(*search));
  return seconds;
}

/// The step before anything is decided to make it fit.
static const MemoryChoice &getFirst(const MemorySearch &search) {
  return search.getPlan().choices.front();
}

/// Numbers of equal parts, each at least twice as many as the one before, that
/// leave the same rows to all ranks.
FailureOr<std::vector<int64_t>> MicroBatchSearch::listParts() {
  FailureOr<AnalyzedStep> step =
      analyzeStep(module, given.entry,
                  given.shard.mesh.empty() ? given.ranks : std::nullopt);
  if (failed(step))
    return failure();
  const StepValue *batch = findBatch(step->signature);
  std::vector<int64_t> parts = {1};
  if (!batch)
    return parts;
  int64_t rows = batch->globalShape.front();
  int64_t ranks = countDataRanks(given);
  bool isShared = given.batch != tg::BatchMode::PerRank && rows % ranks == 0;
  int64_t unit = isShared ? ranks : 1;
  for (int64_t count = 2; count <= std::min(rows / unit, kMostParts); ++count)
    if (rows % (count * unit) == 0 && count >= 2 * parts.back())
      parts.push_back(count);
  return parts;
}

LogicalResult MicroBatchSearch::searchMoreParts() {
  FailureOr<std::vector<int64_t>> all = listParts();
  if (failed(all))
    return failure();
  // A batch that cannot be cut is no error.
  ScopedDiagnosticHandler handler(
      module.getContext(), [&](Diagnostic &diagnostic) {
        if (obstacle.empty() &&
            diagnostic.getSeverity() == DiagnosticSeverity::Error)
          obstacle = diagnostic.str();
        return success();
      });
  int64_t limit = searches.front()->getPlan().limit;
  size_t last = 0;
  for (int64_t parts : *all) {
    if (parts > 1) {
      MemorySearchNotes asItIs;
      asItIs.measuresFirst = true;
      auto made = search(parts, asItIs);
      if (failed(made))
        break;
      searches.push_back(std::move(*made));
    }
    const MemoryChoice &first = getFirst(*searches.back());
    if (first.getBytes() <= limit || first.argumentBytes > limit)
      break;
    if (first.seconds < getBestSeconds())
      last = searches.size() - 1;
  }
  // All that the whole batch can have has been tried.
  if (last == 0)
    return success();
  MemorySearchNotes any;
  any.takesFirst = true;
  any.first = &searches[last]->getMeasured(0);
  auto made = search((*all)[last], any);
  if (succeeded(made))
    searches[last] = std::move(*made);
  return success();
}

FailureOr<StepMemoryPlan> MicroBatchSearch::emitLeast() {
  size_t numChoices = 0;
  MemorySearch *least = nullptr;
  for (const std::unique_ptr<MemorySearch> &search : searches) {
    numChoices += search->getPlan().choices.size();
    if (!least || search->getLeast().getBytes() < least->getLeast().getBytes())
      least = search.get();
  }
  return least->emitLeast(numChoices, obstacle);
}

FailureOr<StepMemoryPlan> MicroBatchSearch::run(StepOptions &chosen,
                                                MemorySearchNotes &notes) {
  shortSteps = notes.shortSteps;
  auto whole = search(given.cut.parts, notes);
  if (failed(whole))
    return failure();
  searches.push_back(std::move(*whole));
  if (given.choosesParts && failed(searchMoreParts()))
    return failure();
  StepMemoryPlan plan = searches.front()->getPlan();
  plan.choices.clear();
  MemorySearch *best = nullptr;
  Tries tries;
  for (const std::unique_ptr<MemorySearch> &search : searches) {
    const StepMemoryPlan &part = search->getPlan();
    plan.boundSeconds = std::min(plan.boundSeconds, part.boundSeconds);
    int64_t bytes = search->getLeast().getBytes();
    notes.leastBytes = std::min(notes.leastBytes.value_or(bytes), bytes);
    if (search->findBest() &&
        (!best || getSeconds(*search) < getSeconds(*best))) {
      best = search.get();
      plan.chosen = plan.choices.size() + *search->findBest();
    }
    llvm::append_range(plan.choices, part.choices);
    for (unsigned i = 0; shortSteps && i != part.choices.size(); ++i)
      tries.push_back({search->getOptions(i), search->getMeasured(i)});
  }
  notes.tries = std::make_shared<Tries>(std::move(tries));
  if (!best)
    return emitLeast();
  unsigned choice = *best->findBest();
  chosen = best->getOptions(choice);
  notes.chosen = std::make_shared<MeasuredStep>(best->getMeasured(choice));
  return plan;
}
