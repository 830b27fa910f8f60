//===- Frontiers.cpp - Choices of segments --------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Frontiers.h"

#include "Cuts.h"
#include "PlanSearch.h"
#include "ReducedProblem.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace regather;
using namespace regather::recomputation;

/// Segments up to that size are solved by trying everything.
static constexpr uint32_t kTinySegment = 4;
/// Choices that are looked for between two neighbours on the hull.
static constexpr int64_t kChoicesOfGap = 4096;
/// Exact searches for one choice: networks solved.
static constexpr uint64_t kCutsOfSearch = 2000;

static Choice makeChoice(RecomputationPlan &&plan) {
  return {plan.savedBytes, plan.seconds, std::move(plan.isRecomputed)};
}

/// Sorts, and drops what is no better than another choice.
static void keepBest(std::vector<Choice> &choices) {
  llvm::sort(choices, [](const Choice &lhs, const Choice &rhs) {
    if (lhs.seconds != rhs.seconds)
      return lhs.seconds < rhs.seconds;
    if (lhs.bytes != rhs.bytes)
      return lhs.bytes < rhs.bytes;
    return lhs.recomputed < rhs.recomputed;
  });
  std::vector<Choice> kept;
  for (Choice &choice : choices)
    if (kept.empty() || choice.bytes < kept.back().bytes)
      kept.push_back(std::move(choice));
  choices = std::move(kept);
}

static std::vector<Choice> tryEverything(const RecomputationProblem &problem) {
  std::vector<Choice> choices;
  uint32_t numOps = problem.ops.size();
  for (uint32_t mask = 0; mask < (1u << numOps); ++mask) {
    std::vector<bool> recomputed(numOps);
    for (uint32_t op = 0; op < numOps; ++op)
      recomputed[op] = (mask >> op) & 1;
    if (auto plan = makePlan(problem, recomputed))
      choices.push_back(makeChoice(std::move(*plan)));
  }
  keepBest(choices);
  return choices;
}

std::vector<Transition>
recomputation::findTransitions(const SegmentKind &kind,
                               planner::Effort &effort) {
  std::vector<Transition> transitions;
  bool isTiny = kind.problem.ops.size() <= kTinySegment;
  for (uint32_t in = 0; in < (1u << kind.numCarriedIn); ++in)
    for (uint32_t out = 0; out < (1u << kind.carriedOut.size()); ++out) {
      if (!kind.isConsistent(in, out))
        continue;
      Transition transition;
      transition.in = in;
      transition.out = out;
      transition.isComplete = isTiny;
      RecomputationProblem problem = kind.getProblem(in, out);
      if (isTiny) {
        transition.choices = tryEverything(problem);
      } else {
        PlanCutter cutter(problem);
        for (RecomputationPlan &plan : findHull(cutter, effort))
          transition.hull.push_back(makeChoice(std::move(plan)));
        transition.choices = transition.hull;
      }
      if (!transition.choices.empty())
        transitions.push_back(std::move(transition));
    }
  return transitions;
}

bool recomputation::completeChoices(const SegmentKind &kind,
                                    Transition &transition, double price,
                                    double threshold, double tolerance,
                                    planner::Effort &effort) {
  RecomputationProblem problem = kind.getProblem(transition.in, transition.out);
  PlanCutter cutter(problem);
  std::vector<Choice> found;
  bool isExact = true;
  for (size_t i = 0; i + 1 < transition.hull.size(); ++i) {
    const Choice &large = transition.hull[i];
    const Choice &small = transition.hull[i + 1];
    int64_t width = large.bytes - small.bytes;
    double slope = (small.seconds - large.seconds) / static_cast<double>(width);
    int64_t step = 1;
    if (price > 0)
      step = std::max(step, static_cast<int64_t>(tolerance / price));
    if (step < width / kChoicesOfGap) {
      step = width / kChoicesOfGap;
      isExact = false;
    }
    for (int64_t budget = large.bytes - step; budget > small.bytes;) {
      // The choice cannot lie below the line between the two.
      double onLine =
          large.seconds + slope * static_cast<double>(large.bytes - budget);
      if (onLine + price * static_cast<double>(budget) > threshold) {
        budget -= step;
        continue;
      }
      planner::Effort part = effort.split(kCutsOfSearch * cutter.getSize());
      std::optional<RecomputationPlan> plan =
          searchPlan(cutter, budget, small.seconds, /*tolerance=*/1e-6, part);
      isExact &= !part.isSpent();
      effort.join(part);
      if (!plan)
        break;
      budget = std::min(budget, plan->savedBytes) - step;
      found.push_back(makeChoice(std::move(*plan)));
    }
  }
  transition.choices = transition.hull;
  for (Choice &choice : found)
    transition.choices.push_back(std::move(choice));
  keepBest(transition.choices);
  return isExact;
}
