//===- SegmentPlanner.cpp - Plans of segments -----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   find a price of bytes at which the cheapest path just fits the budget
//   while what that leaves open is too much, for larger and larger limits:
//     let segments choose also between the points of their hulls
//     extend paths segment by segment, without those that are worse than
//     another one in both bytes and seconds, or beyond the limit by the bound
//
//===----------------------------------------------------------------------===//

#include "SegmentPlanner.h"

#include "PlanSearch.h"
#include "ReducedProblem.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>
#include <tuple>

using namespace regather;
using namespace regather::recomputation;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// How many labels are kept, over all boundaries.
static constexpr size_t kMostLabels = 2'000'000;
/// Programs with at most so many operations are also searched as a whole.
static constexpr size_t kSmallProgram = 200;

SegmentPlanner::SegmentPlanner(const RecomputationProblem &problem,
                               int64_t budget,
                               const RecomputationPlannerOptions &options)
    : problem(problem), budget(budget), options(options),
      effort(options.effort), segmentation(cutIntoSegments(problem)) {
  for (const SegmentKind &kind : segmentation.kinds)
    transitions.push_back(findTransitions(kind, effort));
}

//===----------------------------------------------------------------------===//
// Cheapest ways
//===----------------------------------------------------------------------===//

/// Of equally cheap ways, the one with fewer bytes is taken.
void SegmentPlanner::findWays(double secondsWeight, double bytesWeight) {
  // The cheapest choices of all transitions of a kind.
  std::vector<std::vector<uint32_t>> cheapest(transitions.size());
  auto getCost = [&](const Choice &choice) {
    return secondsWeight * choice.seconds +
           bytesWeight * static_cast<double>(choice.bytes);
  };
  for (auto [kind, list] : llvm::enumerate(transitions))
    for (const Transition &transition : list) {
      uint32_t chosen = 0;
      for (uint32_t i = 1; i < transition.choices.size(); ++i)
        if (getCost(transition.choices[i]) <=
            getCost(transition.choices[chosen]) * (1 + 1e-12))
          chosen = i;
      cheapest[kind].push_back(chosen);
    }
  size_t numSegments = segmentation.segments.size();
  ways.resize(numSegments + 1);
  ways[numSegments].assign(1, Way());
  for (size_t i = numSegments; i-- > 0;) {
    ways[i].assign(getNumStates(i), {kInfinity, 0, 0, kNone, 0});
    uint32_t kind = segmentation.segments[i].kind;
    for (auto [number, transition] : llvm::enumerate(transitions[kind])) {
      const Way &next = ways[i + 1][transition.out];
      if (next.cost == kInfinity)
        continue;
      uint32_t choice = cheapest[kind][number];
      const Choice &chosen = transition.choices[choice];
      Way way{getCost(chosen) + next.cost, chosen.bytes + next.bytes,
              chosen.seconds + next.seconds, static_cast<uint32_t>(number),
              choice};
      Way &old = ways[i][transition.in];
      double slack = old.cost == kInfinity ? 0 : 1e-12 * old.cost;
      if (way.cost < old.cost - slack ||
          (way.cost <= old.cost + slack && way.bytes < old.bytes))
        old = way;
    }
  }
}

void SegmentPlanner::findFewestBytes() {
  findWays(0, 1);
  fewestBytes.clear();
  for (const std::vector<Way> &states : ways) {
    fewestBytes.emplace_back();
    for (const Way &way : states)
      fewestBytes.back().push_back(way.cost == kInfinity
                                       ? std::numeric_limits<int64_t>::max() / 2
                                       : way.bytes);
  }
}

/// Finds the price that gives the best bound, with a path that fits. False if
/// no path fits.
bool SegmentPlanner::findPrice() {
  bestSeconds = kInfinity;
  auto consider = [&](const Way &way) {
    if (!fits(way) || way.seconds >= bestSeconds)
      return;
    bestSeconds = way.seconds;
    follow(0, 0);
  };
  findFewestBytes();
  Way fitting = ways[0][0];
  if (fitting.cost == kInfinity || !fits(fitting))
    return false;
  consider(fitting);
  findWays(1, 0);
  Way large = ways[0][0];
  bound = large.seconds;
  consider(large);
  while (!fits(large) && large.seconds < fitting.seconds) {
    price = (fitting.seconds - large.seconds) /
            static_cast<double>(large.bytes - fitting.bytes);
    findWays(1, price);
    const Way &way = ways[0][0];
    consider(way);
    double line = fitting.seconds + price * static_cast<double>(fitting.bytes);
    bound = std::max(bound, std::min(line, way.cost) -
                                price * static_cast<double>(budget));
    if (way.cost >= line * (1 - 1e-10))
      break;
    (fits(way) ? fitting : large) = way;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Paths
//===----------------------------------------------------------------------===//

void SegmentPlanner::setChoice(uint32_t segment, uint32_t transition,
                               uint32_t choice) {
  const std::vector<bool> &recomputed =
      getTransitions(segment)[transition].choices[choice].recomputed;
  llvm::copy(recomputed, best.begin() + segmentation.segments[segment].firstOp);
}

/// Makes the cheapest way from here part of the best path.
void SegmentPlanner::follow(uint32_t segment, uint32_t state) {
  best.resize(problem.ops.size());
  for (; segment < segmentation.segments.size(); ++segment) {
    const Way &way = ways[segment][state];
    setChoice(segment, way.transition, way.choice);
    state = getTransitions(segment)[way.transition].out;
  }
}

void SegmentPlanner::follow(const Path &path) {
  uint32_t segment = path.segment;
  const Transition &last = getTransitions(segment)[path.transition];
  follow(segment + 1, last.out);
  setChoice(segment, path.transition, path.choice);
  uint32_t state = last.in, parent = path.parent;
  while (segment-- > 0) {
    const Label &label = labels[segment + 1][state][parent];
    setChoice(segment, label.transition, label.choice);
    state = getTransitions(segment)[label.transition].in;
    parent = label.parent;
  }
}

/// Finds the labels behind `segment`, and a path that is better than the best
/// one so far.
std::optional<SegmentPlanner::Path> SegmentPlanner::extend(uint32_t segment,
                                                           double limit) {
  std::optional<Path> better;
  labels[segment + 1].assign(getNumStates(segment + 1), {});
  for (auto [number, transition] : llvm::enumerate(getTransitions(segment))) {
    const Way &way = ways[segment + 1][transition.out];
    if (way.cost == kInfinity)
      continue;
    int64_t fewest = fewestBytes[segment + 1][transition.out];
    uint32_t parent = 0;
    for (const Label &label : labels[segment][transition.in]) {
      effort.spend(1 + transition.choices.size() / 8);
      for (auto [choice, chosen] : llvm::enumerate(transition.choices)) {
        Label next{label.bytes + chosen.bytes, label.seconds + chosen.seconds,
                   parent, static_cast<uint32_t>(number),
                   static_cast<uint32_t>(choice)};
        double least = next.seconds + way.cost +
                       price * static_cast<double>(next.bytes - budget);
        if (next.bytes + fewest > budget ||
            least >= std::min(limit, bestSeconds * (1 - options.tolerance / 2)))
          continue;
        labels[segment + 1][transition.out].push_back(next);
        if (next.bytes + way.bytes <= budget &&
            next.seconds + way.seconds < bestSeconds) {
          bestSeconds = next.seconds + way.seconds;
          better = {segment, parent, next.transition, next.choice};
        }
      }
      ++parent;
    }
  }
  return better;
}

/// Drops labels that are worse than another one, and those beyond the limit.
void SegmentPlanner::prune(std::vector<Label> &labels) {
  size_t numSegments = segmentation.segments.size();
  llvm::sort(labels, [](const Label &lhs, const Label &rhs) {
    return std::tie(lhs.bytes, lhs.seconds, lhs.transition, lhs.choice,
                    lhs.parent) < std::tie(rhs.bytes, rhs.seconds,
                                           rhs.transition, rhs.choice,
                                           rhs.parent);
  });
  // With more bytes, labels have to save time.
  auto keep = [&](double least) {
    std::vector<Label> kept;
    for (const Label &label : labels)
      if (kept.empty() || label.seconds < kept.back().seconds - least)
        kept.push_back(label);
    labels = std::move(kept);
  };
  keep(options.tolerance * bestSeconds / 4 / numSegments);
  size_t limit = std::clamp<size_t>(kMostLabels / numSegments, 16, 8192);
  if (labels.size() <= limit)
    return;
  isExact = false;
  keep((labels.front().seconds - labels.back().seconds) / limit);
}

/// Looks at all paths that may take less than `limit` seconds. `hasAll` says
/// whether there are all choices for that.
void SegmentPlanner::search(double limit, bool hasAll) {
  isExact = hasAll;
  size_t numSegments = segmentation.segments.size();
  labels.assign(numSegments + 1, {});
  labels[0] = {{Label()}};
  std::optional<Path> better;
  for (size_t i = 0; i < numSegments && !isGoodEnough(); ++i) {
    if (std::optional<Path> path = extend(i, limit))
      better = path;
    for (std::vector<Label> &state : labels[i + 1])
      prune(state);
  }
  if (better)
    follow(*better);
  if (isExact && !effort.isSpent())
    bound =
        std::max(bound, std::min(limit, bestSeconds) * (1 - options.tolerance));
}

//===----------------------------------------------------------------------===//
// More choices
//===----------------------------------------------------------------------===//

/// Completes the choices of transitions through which paths of less than
/// `limit` seconds may lead.
/// False if there are too many of them.
bool SegmentPlanner::complete(double limit) {
  bool hasAll = true;
  size_t numSegments = segmentation.segments.size();
  auto getLeast = [&](const Transition &transition) {
    double least = kInfinity;
    for (const Choice &choice : transition.choices)
      least = std::min(least, choice.seconds +
                                  price * static_cast<double>(choice.bytes));
    return least;
  };
  // The cheapest path through a transition, without the transition itself.
  std::vector<std::vector<double>> around(transitions.size());
  for (auto [costs, list] : llvm::zip_equal(around, transitions))
    costs.assign(list.size(), kInfinity);
  std::vector<double> before = {0};
  for (size_t i = 0; i < numSegments; ++i) {
    std::vector<double> behind(getNumStates(i + 1), kInfinity);
    uint32_t kind = segmentation.segments[i].kind;
    for (auto [number, transition] : llvm::enumerate(transitions[kind])) {
      double &cost = around[kind][number];
      cost = std::min(cost,
                      before[transition.in] + ways[i + 1][transition.out].cost);
      behind[transition.out] = std::min(
          behind[transition.out], before[transition.in] + getLeast(transition));
    }
    before = std::move(behind);
  }
  limit += price * static_cast<double>(budget);
  double tolerance = options.tolerance * bestSeconds / 4 / numSegments;
  for (auto [kind, list] : llvm::enumerate(transitions))
    for (auto [number, transition] : llvm::enumerate(list))
      if (!transition.isComplete && around[kind][number] < limit)
        hasAll &=
            completeChoices(segmentation.kinds[kind], transition, price,
                            limit - around[kind][number], tolerance, effort);
  return hasAll;
}

/// Searches a small program as a whole: that needs one choice, not many.
void SegmentPlanner::searchWhole() {
  PlanCutter cutter(problem);
  std::optional<RecomputationPlan> plan =
      searchPlan(cutter, budget, bestSeconds, options.tolerance, effort);
  if (!plan)
    return;
  best = std::move(plan->isRecomputed);
  bestSeconds = plan->seconds;
  bound = std::max(bound, plan->lowerBound);
}

std::optional<RecomputationPlan> SegmentPlanner::solve() {
  if (!findPrice())
    return std::nullopt;
  if (!isGoodEnough() && problem.ops.size() <= kSmallProgram)
    searchWhole();
  // Few paths are close to the bound, and often the best one is among them, so
  // the first limits are close to it.
  double least = bound;
  for (double band = getGap() / 64; !isGoodEnough(); band *= 4) {
    double limit = std::min(least + band, bestSeconds);
    bool hasAll = complete(limit);
    // The cheapest ways have not changed, but choices have been renumbered.
    findWays(1, price);
    search(limit, hasAll);
    if (limit >= bestSeconds)
      break;
  }
  std::optional<RecomputationPlan> plan = makePlan(problem, best);
  plan->lowerBound = std::min(bound, plan->seconds);
  return plan;
}
