//===- Distances.cpp - How far from begin and end -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bounds from below when each operation begins. The longest path is not enough:
// if an addition needs three collectives, each on a path of its own, the link
// still runs them one after the other.
//
//   for each operation, in an order that is allowed:
//     take the longest path to it
//     if paths meet: look at the last jobs of each resource on them
//     at some operations of the longest path: look at all jobs before them
//
// Jobs of one resource that an operation needs delay it by the time that they
// take together; this time begins when the first of them can begin, and the
// path from the last of them follows it.
//
// Distances from the end are found in the same way, with predecessors and
// successors exchanged.
//
//===----------------------------------------------------------------------===//

#include "Distances.h"

#include "Bounds.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace regather;
using namespace regather::overlap;

namespace {
class Distances {
public:
  /// From the begin of the step or, with successors for predecessors, from its
  /// end. `before` are the longest paths.
  Distances(const Graph &graph, bool isFromEnd, std::vector<double> before);
  std::vector<double> run();

private:
  /// Where paths meet, the last so many jobs of each resource are considered.
  static constexpr unsigned kRecent = 8;
  /// At so many operations, all jobs before them are considered; at fewer of
  /// them if the step is long.
  static constexpr unsigned kMaxCuts = 32, kMinCuts = 4;
  static constexpr uint64_t kCutWork = 1 << 20;

  /// A job on the way to an operation.
  struct Recent {
    uint32_t op = 0;
    /// From its end to the begin of the operation.
    double distance = 0;
  };
  struct Range {
    size_t begin = 0;
    uint32_t count = 0;
  };

  ArrayRef<uint32_t> getNeeded(uint32_t op) const {
    return isFromEnd ? graph.successors[op] : graph.predecessors[op];
  }
  /// The operation at a place of an order that is allowed.
  uint32_t getOp(uint32_t place) const {
    return isFromEnd ? graph.size() - 1 - place : place;
  }
  uint32_t getPlace(uint32_t op) const { return getOp(op); }
  uint32_t getResource(uint32_t op) const {
    if (graph.seconds[op] == 0)
      return Graph::kNone;
    return graph.isStart(op) ? 1 + graph.linkOf[graph.streams[op]] : 0;
  }
  Range &getRecent(uint32_t op, uint32_t resource) {
    return recent[size_t(op) * numResources + resource];
  }

  void findCuts();
  void addCandidate(const Recent &job);
  void addRecent(uint32_t op, uint32_t resource);
  double getMeetingBound(ArrayRef<Recent> jobs) const;
  double getCutBound(uint32_t cut);

  const Graph &graph;
  bool isFromEnd;
  uint32_t numResources;
  /// By operation, a lower bound of when it begins.
  std::vector<double> before;
  /// By operation and resource, jobs that lead to it, the last ones.
  std::vector<Range> recent;
  std::vector<Recent> pool;
  std::vector<bool> isCut;
  /// All operations, those on longer paths first.
  Order byPath;
  // Of one operation.
  std::vector<Recent> candidates;
  std::vector<double> after;
};
} // namespace

Distances::Distances(const Graph &graph, bool isFromEnd,
                     std::vector<double> paths)
    : graph(graph), isFromEnd(isFromEnd), numResources(1 + graph.links.size()),
      before(std::move(paths)), recent(size_t(graph.size()) * numResources),
      isCut(graph.size()), byPath(getGivenOrder(graph)) {
  llvm::sort(byPath, [&](uint32_t a, uint32_t b) {
    return std::make_pair(-before[a], a) < std::make_pair(-before[b], b);
  });
  findCuts();
}

/// Chooses operations of the longest path, at even distances.
void Distances::findCuts() {
  if (graph.size() == 0)
    return;
  auto getEnd = [&](uint32_t op) { return before[op] + graph.seconds[op]; };
  uint32_t op = 0;
  for (uint32_t other = 1; other != graph.size(); ++other)
    if (getEnd(other) > getEnd(op))
      op = other;
  if (getEnd(op) == 0)
    return;
  auto count = static_cast<unsigned>(
      std::clamp<uint64_t>(kCutWork / graph.size(), kMinCuts, kMaxCuts));
  double distance = getEnd(op) / count, next = getEnd(op);
  while (true) {
    if (before[op] <= next) {
      isCut[op] = true;
      next = before[op] - distance;
    }
    ArrayRef<uint32_t> needed = getNeeded(op);
    if (needed.empty())
      return;
    op = *max_element(
        needed, [&](uint32_t a, uint32_t b) { return getEnd(a) < getEnd(b); });
  }
}

/// Keeps the last kRecent jobs, the last one first, each with the largest of
/// its distances. What comes is sorted but for the seams, so few steps find a
/// place.
void Distances::addCandidate(const Recent &job) {
  auto comesFirst = [&](uint32_t a, uint32_t b) {
    return before[a] > before[b] || (before[a] == before[b] && a < b);
  };
  size_t place = candidates.size();
  while (place != 0 && comesFirst(job.op, candidates[place - 1].op))
    --place;
  if (place != 0 && candidates[place - 1].op == job.op) {
    double &distance = candidates[place - 1].distance;
    distance = std::max(distance, job.distance);
    return;
  }
  if (place == kRecent)
    return;
  if (candidates.size() == kRecent)
    candidates.pop_back();
  candidates.insert(candidates.begin() + place, job);
}

/// Finds the jobs that lead to `op`: those of what it needs, and that itself.
void Distances::addRecent(uint32_t op, uint32_t resource) {
  ArrayRef<uint32_t> needed = getNeeded(op);
  if (needed.size() == 1 && graph.seconds[needed.front()] == 0) {
    getRecent(op, resource) = getRecent(needed.front(), resource);
    return;
  }
  candidates.clear();
  for (uint32_t other : needed) {
    if (getResource(other) == resource)
      addCandidate({other, 0});
    const Range &range = getRecent(other, resource);
    for (const Recent &job : ArrayRef(pool).slice(range.begin, range.count))
      addCandidate({job.op, job.distance + graph.seconds[other]});
  }
  getRecent(op, resource) = {pool.size(),
                             static_cast<uint32_t>(candidates.size())};
  llvm::append_range(pool, candidates);
}

/// `jobs` begin later from the last to the first.
double Distances::getMeetingBound(ArrayRef<Recent> jobs) const {
  double bound = 0;
  for (const Recent &last : jobs) {
    double sum = 0;
    for (const Recent &job : jobs) {
      if (job.distance < last.distance)
        continue;
      sum += graph.seconds[job.op];
      bound = std::max(bound, before[job.op] + sum + last.distance);
    }
  }
  return bound;
}

/// Looks at all jobs that come before `cut`.
double Distances::getCutBound(uint32_t cut) {
  after.assign(graph.size(), -1);
  std::vector<std::vector<Job>> links(graph.links.size());
  for (uint32_t other : getNeeded(cut))
    after[other] = 0;
  for (uint32_t place = getPlace(cut); place-- != 0;) {
    uint32_t op = getOp(place);
    if (after[op] < 0)
      continue;
    for (uint32_t other : getNeeded(op))
      after[other] = std::max(after[other], after[op] + graph.seconds[op]);
    if (graph.isStart(op))
      links[graph.linkOf[graph.streams[op]]].push_back(
          {before[op], graph.seconds[op], after[op]});
  }
  double bound = 0;
  for (std::vector<Job> &jobs : links)
    bound = std::max(bound, computeOneResourceBound(std::move(jobs)));
  // Of computations, which are many, only the sets of those that begin last are
  // tried.
  double begin = before[cut], sum = 0, end = before[cut];
  for (uint32_t op : byPath) {
    if (after[op] < 0 || !graph.isCompute(op))
      continue;
    begin = std::min(begin, before[op]);
    sum += graph.seconds[op];
    end = std::min(end, after[op]);
    bound = std::max(bound, begin + sum + end);
  }
  return bound;
}

std::vector<double> Distances::run() {
  for (uint32_t place = 0; place != graph.size(); ++place) {
    uint32_t op = getOp(place);
    ArrayRef<uint32_t> needed = getNeeded(op);
    for (uint32_t other : needed)
      before[op] = std::max(before[op], before[other] + graph.seconds[other]);
    for (uint32_t resource = 0; resource != numResources; ++resource) {
      addRecent(op, resource);
      const Range &range = getRecent(op, resource);
      if (needed.size() > 1)
        before[op] = std::max(before[op], getMeetingBound(ArrayRef(pool).slice(
                                              range.begin, range.count)));
    }
    if (isCut[op])
      before[op] = std::max(before[op], getCutBound(op));
  }
  return std::move(before);
}

void overlap::tightenDistances(Graph &graph) {
  std::vector<double> fromEnd = graph.tails;
  for (uint32_t op = 0; op != graph.size(); ++op)
    fromEnd[op] -= graph.seconds[op];
  graph.heads = Distances(graph, /*isFromEnd=*/false, graph.heads).run();
  graph.tails = Distances(graph, /*isFromEnd=*/true, std::move(fromEnd)).run();
  for (uint32_t op = 0; op != graph.size(); ++op)
    graph.tails[op] += graph.seconds[op];
}
