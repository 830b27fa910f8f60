//===- Cuts.cpp - Plans as minimum cuts -----------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuts.h"

#include "ReducedProblem.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace regather;
using namespace regather::recomputation;

/// Weighed costs are rounded to multiples of this part of their sum.
static constexpr double kResolution = 0x1p60;
/// The weight of the less important of two costs, where it only breaks ties.
static constexpr double kTie = 1e-7;

namespace {
constexpr uint32_t kSource = 0, kSink = 1, kFirstOp = 2;
} // namespace

PlanCutter::PlanCutter(const RecomputationProblem &problem) : problem(problem) {
  uint32_t numOps = problem.ops.size(), firstValue = kFirstOp + numOps;
  network.source = kSource;
  network.sink = kSink;
  network.numNodes = firstValue + problem.values.size();
  // The edges with a price come first: by operation, and then by value.
  for (const auto &[number, op] : llvm::enumerate(problem.ops)) {
    network.edges.push_back(
        {kSource, static_cast<uint32_t>(kFirstOp + number), kInfiniteCapacity});
    totalSeconds += op.seconds;
  }
  for (const auto &[number, value] : llvm::enumerate(problem.values)) {
    network.edges.push_back({kFirstOp + value.op,
                             static_cast<uint32_t>(firstValue + number),
                             kInfiniteCapacity});
    totalBytes += static_cast<double>(value.bytes);
  }
  for (const auto &[number, op] : llvm::enumerate(problem.ops))
    for (uint32_t input : op.inputs)
      network.edges.push_back({firstValue + input,
                               static_cast<uint32_t>(kFirstOp + number),
                               kInfiniteCapacity});
  for (const auto &[number, value] : llvm::enumerate(problem.values))
    if (value.isNeeded)
      network.edges.push_back({static_cast<uint32_t>(firstValue + number),
                               kSink, kInfiniteCapacity});
  numEdges = network.edges.size();
}

std::optional<RecomputationPlan>
PlanCutter::cut(double secondsWeight, double bytesWeight,
                llvm::ArrayRef<Decision> decisions) {
  double total = secondsWeight * totalSeconds + bytesWeight * totalBytes;
  double scale = total > 0 ? kResolution / total : 0;
  size_t edge = 0;
  for (const RecomputationProblem::Op &op : problem.ops)
    network.edges[edge++].capacity =
        op.mayRecompute ? std::llround(scale * secondsWeight * op.seconds)
                        : kInfiniteCapacity;
  for (const RecomputationProblem::Value &value : problem.values)
    network.edges[edge++].capacity =
        value.maySave ? std::llround(scale * bytesWeight *
                                     static_cast<double>(value.bytes))
                      : kInfiniteCapacity;
  network.edges.resize(numEdges);
  for (const Decision &decision : decisions) {
    uint32_t node = kFirstOp + decision.op;
    if (decision.recompute)
      network.edges.push_back({node, kSink, kInfiniteCapacity});
    else
      network.edges.push_back({kSource, node, kInfiniteCapacity});
  }
  Result<MinimumCut> minimum = findMinimumCut(network);
  if (!minimum)
    return std::nullopt;
  auto begin = minimum->onSinkSide.begin() + kFirstOp;
  return makePlan(problem,
                  std::vector<bool>(begin, begin + problem.ops.size()));
}

std::optional<RecomputationPlan>
PlanCutter::findFastest(llvm::ArrayRef<Decision> decisions) {
  return cut(1, kTie * totalSeconds / std::max(totalBytes, 1.0), decisions);
}

std::optional<RecomputationPlan>
PlanCutter::findSmallest(llvm::ArrayRef<Decision> decisions) {
  // A quarter of a byte for all seconds together: bytes come first.
  return cut(totalSeconds > 0 ? 0.25 / totalSeconds : 0, 1, decisions);
}

std::vector<RecomputationPlan>
recomputation::findHull(PlanCutter &cutter, planner::Effort &effort) {
  std::optional<RecomputationPlan> fastest = cutter.findFastest();
  std::optional<RecomputationPlan> smallest = cutter.findSmallest();
  std::vector<RecomputationPlan> hull;
  if (!fastest || !smallest)
    return hull;
  // A stack of plans to the right of the last one of `hull`, the nearest one on
  // top.
  std::vector<RecomputationPlan> right = {std::move(*smallest)};
  hull.push_back(std::move(*fastest));
  while (!right.empty()) {
    const RecomputationPlan &from = hull.back(), &to = right.back();
    double bytes = static_cast<double>(from.savedBytes - to.savedBytes);
    double seconds = to.seconds - from.seconds;
    if (bytes <= 0 || seconds <= 0) {
      // One of the two is better in both bytes and seconds.
      if (bytes <= 0 && seconds >= 0)
        right.pop_back();
      else
        hull.back() = std::move(right.back()), right.pop_back();
      continue;
    }
    double price = seconds / bytes;
    double line = from.seconds + price * from.savedBytes;
    std::optional<RecomputationPlan> between;
    if (effort.spend(cutter.getSize()))
      between = cutter.cut(1, price);
    if (between &&
        between->seconds + price * between->savedBytes < line * (1 - 1e-10) &&
        between->savedBytes < from.savedBytes &&
        between->savedBytes > to.savedBytes) {
      right.push_back(std::move(*between));
      continue;
    }
    hull.push_back(std::move(right.back()));
    right.pop_back();
  }
  return hull;
}
