//===- PlanSearch.cpp - Exact plans ---------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   open = {nothing decided}
//   while open:
//     take the decisions with the smallest bound
//     raise the price of a byte until the cheapest plan fits the budget:
//       the plans on both sides of that price, one too large, one fitting,
//       span a line that bounds all plans; the one that fits may be the best
//     if the bound leaves room for a better plan:
//       decide about an operation in which the two plans differ, either way
//
//===----------------------------------------------------------------------===//

#include "PlanSearch.h"

#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <limits>
#include <queue>

using namespace regather;
using namespace regather::recomputation;

namespace {
constexpr uint32_t kRoot = std::numeric_limits<uint32_t>::max();

class PlanSearch {
public:
  PlanSearch(PlanCutter &cutter, int64_t budget, double cutoff,
             double tolerance, planner::Effort &effort)
      : cutter(cutter), budget(budget), bestSeconds(cutoff),
        tolerance(tolerance), effort(effort) {}

  std::optional<RecomputationPlan> run();

private:
  /// A node of the search tree: the decisions of its parent and one more.
  struct Node {
    uint32_t parent = kRoot;
    Decision decision;
  };
  struct Open {
    double bound;
    double price;
    uint32_t node;
    /// Takes the smallest bound first, and of equal ones the newest.
    bool operator<(const Open &other) const {
      return bound != other.bound ? bound > other.bound : node < other.node;
    }
  };

  std::optional<RecomputationPlan> cut(double price,
                                       llvm::ArrayRef<Decision> decisions);
  bool fits(const RecomputationPlan &plan) const {
    return plan.savedBytes <= budget;
  }
  void consider(const RecomputationPlan &plan);
  bool isPromising(double bound) const {
    return bound < bestSeconds * (1 - tolerance);
  }
  llvm::SmallVector<Decision> getDecisions(uint32_t node) const;
  void visit(const Open &open);
  void branch(const Open &open, const RecomputationPlan &large,
              const RecomputationPlan &fitting,
              llvm::ArrayRef<Decision> decisions);

  PlanCutter &cutter;
  int64_t budget;
  double bestSeconds;
  double tolerance;
  planner::Effort &effort;
  std::optional<RecomputationPlan> best;
  std::vector<Node> nodes;
  std::priority_queue<Open> queue;
};
} // namespace

std::optional<RecomputationPlan>
PlanSearch::cut(double price, llvm::ArrayRef<Decision> decisions) {
  effort.spend(cutter.getSize());
  std::optional<RecomputationPlan> plan = cutter.cut(1, price, decisions);
  if (plan)
    consider(*plan);
  return plan;
}

void PlanSearch::consider(const RecomputationPlan &plan) {
  if (!fits(plan) || plan.seconds >= bestSeconds)
    return;
  best = plan;
  bestSeconds = plan.seconds;
}

llvm::SmallVector<Decision> PlanSearch::getDecisions(uint32_t node) const {
  llvm::SmallVector<Decision> decisions;
  for (; node != kRoot; node = nodes[node].parent)
    decisions.push_back(nodes[node].decision);
  return decisions;
}

/// Decides about the operation that matters most of those about which the two
/// plans disagree.
void PlanSearch::branch(const Open &open, const RecomputationPlan &large,
                        const RecomputationPlan &fitting,
                        llvm::ArrayRef<Decision> decisions) {
  const RecomputationProblem &problem = cutter.getProblem();
  std::vector<double> weights(problem.ops.size());
  for (size_t i = 0; i < problem.values.size(); ++i)
    if (large.isSaved[i] != fitting.isSaved[i])
      weights[problem.values[i].op] += open.price * problem.values[i].bytes;
  std::optional<uint32_t> chosen;
  for (uint32_t op = 0; op < problem.ops.size(); ++op) {
    if (large.isRecomputed[op] == fitting.isRecomputed[op] ||
        llvm::any_of(decisions,
                     [&](const Decision &made) { return made.op == op; }))
      continue;
    weights[op] += problem.ops[op].seconds;
    if (!chosen || weights[op] > weights[*chosen])
      chosen = op;
  }
  if (!chosen)
    return;
  for (bool recompute : {true, false}) {
    nodes.push_back({open.node, {*chosen, recompute}});
    queue.push(
        {open.bound, open.price, static_cast<uint32_t>(nodes.size() - 1)});
  }
}

void PlanSearch::visit(const Open &parent) {
  Open open = parent;
  llvm::SmallVector<Decision> decisions = getDecisions(open.node);
  auto evaluate = [&](const RecomputationPlan &plan) {
    return plan.seconds +
           open.price * static_cast<double>(plan.savedBytes - budget);
  };
  // The search begins at the price that gave the best bound of the parent.
  std::optional<RecomputationPlan> plan = cut(open.price, decisions);
  if (!plan)
    return;
  open.bound = std::max(open.bound, evaluate(*plan));
  if (!isPromising(open.bound))
    return;
  std::optional<RecomputationPlan> other;
  effort.spend(cutter.getSize());
  other = fits(*plan) ? cutter.findFastest(decisions)
                      : cutter.findSmallest(decisions);
  if (!other)
    return;
  consider(*other);
  // Either all plans fit, or none does.
  if (fits(*plan) == fits(*other))
    return;
  RecomputationPlan large = fits(*plan) ? *other : *plan;
  RecomputationPlan fitting = fits(*plan) ? *plan : *other;
  while (fitting.seconds > large.seconds) {
    open.price = (fitting.seconds - large.seconds) /
                 static_cast<double>(large.savedBytes - fitting.savedBytes);
    plan = cut(open.price, decisions);
    if (!plan)
      return;
    double value = evaluate(*plan), line = evaluate(fitting);
    open.bound = std::max(open.bound, std::min(value, line));
    if (!isPromising(open.bound))
      return;
    if (value >= line - 1e-10 * fitting.seconds || effort.isSpent())
      break;
    (fits(*plan) ? fitting : large) = std::move(*plan);
  }
  branch(open, large, fitting, decisions);
}

std::optional<RecomputationPlan> PlanSearch::run() {
  queue.push({0, 0, kRoot});
  double bound = bestSeconds;
  while (!queue.empty() && isPromising(queue.top().bound)) {
    bound = queue.top().bound;
    if (effort.isSpent())
      break;
    Open open = queue.top();
    queue.pop();
    visit(open);
    bound = bestSeconds;
  }
  if (best)
    best->lowerBound = std::min(bound, bestSeconds * (1 - tolerance));
  return std::move(best);
}

std::optional<RecomputationPlan>
recomputation::searchPlan(PlanCutter &cutter, int64_t budget, double cutoff,
                          double tolerance, planner::Effort &effort) {
  return PlanSearch(cutter, budget, cutoff, tolerance, effort).run();
}
