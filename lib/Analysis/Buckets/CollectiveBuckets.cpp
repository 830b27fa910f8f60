//===- CollectiveBuckets.cpp - Which collectives start as one -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Buckets/CollectiveBuckets.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <optional>
#include <queue>
#include <set>

using namespace regather;

namespace {
constexpr uint32_t kNone = ~0u;

/// Steps of all searches for circles, for each operation and dependency.
constexpr uint64_t kSearchSteps = 8;

/// The same edges the other way round.
struct Users {
  std::vector<uint32_t> begins, targets;

  explicit Users(const DependencyGraph &graph)
      : begins(graph.getNumOps() + 1), targets(graph.sources.size()) {
    for (uint32_t source : graph.sources)
      ++begins[source + 1];
    for (uint32_t op = 0; op != graph.getNumOps(); ++op)
      begins[op + 1] += begins[op];
    std::vector<uint32_t> next(begins.begin(), begins.end() - 1);
    for (uint32_t op = 0; op != graph.getNumOps(); ++op)
      for (uint32_t i = graph.begins[op]; i != graph.begins[op + 1]; ++i)
        targets[next[graph.sources[i]]++] = op;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Cutting
//
//   run everything whose dependencies have run, but hold back starts until all
//       of their bucket could run, and waits until all of their part could
//   while something is held back:
//     from one that is held back, go to what one of its missing members waits
//         for, and on from there, until that is a circle: one of it has to run
//         with the members that are there; the others get a bucket of their own
//     go on
//
//===----------------------------------------------------------------------===//

namespace {
class BucketCutter {
public:
  BucketCutter(const DependencyGraph &graph,
               const std::vector<CollectiveOps> &collectives,
               const std::vector<CollectiveBucket> &buckets, BucketWork &work);

  std::vector<BucketPart> run();

private:
  /// Operations that run together: the starts of a bucket, or the waits of what
  /// has started.
  struct Gate {
    /// Of the starts; that of a part if the gate holds back waits.
    uint32_t bucket = 0;
    bool isStart = true;
    /// In the order of the bucket, those that have run included.
    std::vector<uint32_t> members;
    uint32_t numMissing = 0;
    /// Members before this one have arrived or run.
    uint32_t firstMissing = 0;
    /// Collectives whose operation could run, and the first such operation.
    std::vector<uint32_t> arrived;
    uint32_t firstArrived = kNone;
  };

  uint32_t getOp(const Gate &gate, uint32_t member) const {
    return gate.isStart ? collectives[member].start : collectives[member].wait;
  }
  void addGate(uint32_t bucket, bool isStart, std::vector<uint32_t> members);
  void arrive(uint32_t op);
  void open(uint32_t gate, std::optional<uint32_t> cause = std::nullopt);
  void drain();
  uint32_t findBlocker(uint32_t gate);
  void cutOne();

  const DependencyGraph &graph;
  const Users users;
  const std::vector<CollectiveOps> &collectives;
  const std::vector<CollectiveBucket> &buckets;
  BucketWork &work;
  /// Steps that searches for circles may still take. Once they are used up, the
  /// first bucket that is held back is cut, whether that is necessary or not.
  uint64_t searchBudget;
  /// By operation: dependencies that have not run, and the gate and collective
  /// of starts and waits.
  std::vector<uint32_t> missing, gateOf, collectiveOf;
  std::vector<bool> hasRun;
  std::vector<Gate> gates;
  std::vector<uint32_t> ready;
  /// Gates where somebody has arrived, by the first operation that has.
  std::set<std::pair<uint32_t, uint32_t>> held;
  /// By gate: the last search that visited it.
  std::vector<uint32_t> searched;
  uint32_t numSearches = 0;
  std::vector<BucketPart> parts;
  /// By collective.
  std::vector<uint32_t> partOf;
};
} // namespace

BucketCutter::BucketCutter(const DependencyGraph &graph,
                           const std::vector<CollectiveOps> &collectives,
                           const std::vector<CollectiveBucket> &buckets,
                           BucketWork &work)
    : graph(graph), users(graph), collectives(collectives), buckets(buckets),
      work(work),
      searchBudget(kSearchSteps * (graph.getNumOps() + graph.sources.size())),
      missing(graph.getNumOps()), gateOf(graph.getNumOps(), kNone),
      collectiveOf(graph.getNumOps(), kNone), hasRun(graph.getNumOps()),
      partOf(collectives.size(), kNone) {
  for (uint32_t op = 0; op != graph.getNumOps(); ++op)
    missing[op] = graph.begins[op + 1] - graph.begins[op];
  for (uint32_t bucket = 0; bucket != buckets.size(); ++bucket) {
    for (uint32_t member : buckets[bucket]) {
      assert(gateOf[collectives[member].start] == kNone &&
             "a collective is in two buckets");
      collectiveOf[collectives[member].start] = member;
      collectiveOf[collectives[member].wait] = member;
    }
    addGate(bucket, /*isStart=*/true, buckets[bucket]);
  }
}

void BucketCutter::addGate(uint32_t bucket, bool isStart,
                           std::vector<uint32_t> members) {
  Gate &gate = gates.emplace_back();
  gate.bucket = bucket;
  gate.isStart = isStart;
  gate.numMissing = members.size();
  for (uint32_t member : members)
    gateOf[getOp(gate, member)] = gates.size() - 1;
  gate.members = std::move(members);
  searched.push_back(0);
}

/// All that `op` depends on has run.
void BucketCutter::arrive(uint32_t op) {
  uint32_t number = gateOf[op];
  if (number == kNone)
    return ready.push_back(op);
  Gate &gate = gates[number];
  if (op < gate.firstArrived) {
    held.erase({gate.firstArrived, number});
    held.insert({op, number});
    gate.firstArrived = op;
  }
  gate.arrived.push_back(collectiveOf[op]);
  if (--gate.numMissing == 0)
    open(number);
}

/// Runs what has arrived at a gate. If some members are missing, which is
/// because of the bucket `cause`, it goes on as the gate of these.
void BucketCutter::open(uint32_t number, std::optional<uint32_t> cause) {
  held.erase({gates[number].firstArrived, number});
  gates[number].firstArrived = kNone;
  std::vector<uint32_t> arrived = std::move(gates[number].arrived);
  gates[number].arrived.clear();
  std::sort(arrived.begin(), arrived.end());
  bool isStart = gates[number].isStart;
  uint32_t bucket = gates[number].bucket;
  for (uint32_t member : arrived) {
    uint32_t op = getOp(gates[number], member);
    gateOf[op] = kNone;
    ready.push_back(op);
  }
  // If waits cannot be one, what starts as one becomes two parts.
  if (isStart || cause) {
    uint32_t origin = isStart ? bucket : parts[bucket].bucket;
    for (uint32_t member : arrived)
      partOf[member] = parts.size();
    parts.push_back({origin, {}, cause});
  }
  if (isStart)
    addGate(parts.size() - 1, /*isStart=*/false, std::move(arrived));
}

void BucketCutter::drain() {
  while (!ready.empty()) {
    uint32_t op = ready.back();
    ready.pop_back();
    hasRun[op] = true;
    ++work.steps;
    for (uint32_t i = users.begins[op]; i != users.begins[op + 1]; ++i) {
      ++work.steps;
      if (--missing[users.targets[i]] == 0)
        arrive(users.targets[i]);
    }
  }
}

/// The gate that holds back what the first missing member of `number` depends
/// on. Nothing can run.
uint32_t BucketCutter::findBlocker(uint32_t number) {
  Gate &gate = gates[number];
  while (missing[getOp(gate, gate.members[gate.firstMissing])] == 0)
    ++gate.firstMissing;
  uint32_t op = getOp(gate, gate.members[gate.firstMissing]);
  while (missing[op] > 0) {
    uint32_t i = graph.begins[op];
    while (hasRun[graph.sources[i]])
      ++i;
    uint64_t steps = 1 + i - graph.begins[op];
    work.steps += steps;
    searchBudget -= std::min(searchBudget, steps);
    op = graph.sources[i];
  }
  return gateOf[op];
}

void BucketCutter::cutOne() {
  uint32_t gate = held.begin()->second;
  ++numSearches;
  std::vector<uint32_t> path;
  while (searchBudget > 0 && searched[gate] != numSearches) {
    searched[gate] = numSearches;
    path.push_back(gate);
    gate = findBlocker(gate);
  }
  // Of the circle, the one that comes first.
  auto isFirst = [&](uint32_t a, uint32_t b) {
    return gates[a].firstArrived < gates[b].firstArrived;
  };
  auto circle = std::find(path.begin(), path.end(), gate);
  if (circle == path.end())
    return open(gate, gates[gate].bucket);
  auto first = std::min_element(circle, path.end(), isFirst);
  const Gate &blocker = gates[first + 1 == path.end() ? *circle : first[1]];
  open(*first, blocker.isStart ? blocker.bucket : parts[blocker.bucket].bucket);
}

std::vector<BucketPart> BucketCutter::run() {
  std::vector<uint32_t> first;
  for (uint32_t op = 0; op != missing.size(); ++op)
    if (missing[op] == 0)
      first.push_back(op);
  for (uint32_t op : first)
    arrive(op);
  drain();
  while (!held.empty()) {
    cutOne();
    drain();
  }
  for (const CollectiveBucket &bucket : buckets)
    for (uint32_t member : bucket)
      parts[partOf[member]].members.push_back(member);
  return std::move(parts);
}

std::vector<BucketPart> regather::cutCyclicBuckets(
    const DependencyGraph &graph, const std::vector<CollectiveOps> &collectives,
    const std::vector<CollectiveBucket> &buckets, BucketWork *work) {
  BucketWork ignored;
  return BucketCutter(graph, collectives, buckets, work ? *work : ignored)
      .run();
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

namespace {
/// Orders by place: of operations that could run, the one with the smallest
/// place comes first. Places of operations are odd, so that a wait can come
/// before its reader.
class BucketOrder {
public:
  BucketOrder(const DependencyGraph &graph,
              const std::vector<CollectiveOps> &collectives,
              const std::vector<BucketPart> &parts,
              const std::vector<bool> &isEarly, BucketWork &work);

  std::vector<uint32_t> run();

private:
  void placeWait(const BucketPart &part, uint32_t wait);
  void placeStart(const BucketPart &part, uint32_t start);
  void pull(uint32_t op, uint64_t place);

  const DependencyGraph &graph;
  const Users users;
  const std::vector<CollectiveOps> &collectives;
  const std::vector<bool> &isEarly;
  BucketWork &work;
  /// By operation: the one that stands for it, and where it wants to be.
  std::vector<uint32_t> leaders;
  std::vector<uint64_t> places;
  /// By leader, for those that stand for several.
  std::vector<std::vector<uint32_t>> members;
};
} // namespace

BucketOrder::BucketOrder(const DependencyGraph &graph,
                         const std::vector<CollectiveOps> &collectives,
                         const std::vector<BucketPart> &parts,
                         const std::vector<bool> &isEarly, BucketWork &work)
    : graph(graph), users(graph), collectives(collectives), isEarly(isEarly),
      work(work), leaders(graph.getNumOps()), places(graph.getNumOps()),
      members(graph.getNumOps()) {
  for (uint32_t op = 0; op != graph.getNumOps(); ++op) {
    leaders[op] = op;
    places[op] = 2 * uint64_t(op) + 1;
  }
  for (const BucketPart &part : parts) {
    if (part.members.size() < 2)
      continue;
    uint32_t start = collectives[part.members.front()].start;
    uint32_t wait = collectives[part.members.front()].wait;
    for (uint32_t member : part.members) {
      leaders[collectives[member].start] = start;
      leaders[collectives[member].wait] = wait;
      members[start].push_back(collectives[member].start);
      members[wait].push_back(collectives[member].wait);
    }
    placeWait(part, wait);
    placeStart(part, start);
  }
}

void BucketOrder::placeWait(const BucketPart &part, uint32_t wait) {
  uint64_t firstUse = ~uint64_t(0), last = 0;
  for (uint32_t member : part.members) {
    uint32_t op = collectives[member].wait;
    last = std::max(last, 2 * uint64_t(op) + 1);
    for (uint32_t i = users.begins[op]; i != users.begins[op + 1]; ++i)
      firstUse = std::min(firstUse, 2 * uint64_t(users.targets[i]));
  }
  places[wait] = std::min(firstUse, last);
}

void BucketOrder::placeStart(const BucketPart &part, uint32_t start) {
  uint64_t first = ~uint64_t(0);
  for (uint32_t member : part.members)
    first = std::min(first, 2 * uint64_t(collectives[member].start) + 1);
  places[start] = first;
  for (uint32_t member : part.members)
    pull(collectives[member].start, first);
}

/// Lets the early operations that `op` depends on run by `place`.
void BucketOrder::pull(uint32_t op, uint64_t place) {
  std::vector<uint32_t> worklist = {op};
  while (!worklist.empty()) {
    uint32_t next = worklist.back();
    worklist.pop_back();
    for (uint32_t i = graph.begins[next]; i != graph.begins[next + 1]; ++i) {
      ++work.steps;
      uint32_t source = graph.sources[i];
      if (!isEarly[source] || places[source] <= place)
        continue;
      places[source] = place;
      worklist.push_back(source);
    }
  }
}

std::vector<uint32_t> BucketOrder::run() {
  uint32_t numOps = graph.getNumOps(), numLeft = 0;
  std::vector<uint32_t> missing(numOps);
  for (uint32_t op = 0; op != numOps; ++op) {
    missing[leaders[op]] += graph.begins[op + 1] - graph.begins[op];
    numLeft += leaders[op] == op;
  }
  using Entry = std::pair<uint64_t, uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (uint32_t op = 0; op != numOps; ++op)
    if (leaders[op] == op && missing[op] == 0)
      ready.push({places[op], op});
  std::vector<uint32_t> order;
  order.reserve(numLeft);
  auto finish = [&](uint32_t op) {
    for (uint32_t i = users.begins[op]; i != users.begins[op + 1]; ++i) {
      ++work.steps;
      uint32_t leader = leaders[users.targets[i]];
      if (--missing[leader] == 0)
        ready.push({places[leader], leader});
    }
  };
  while (!ready.empty()) {
    uint32_t op = ready.top().second;
    ready.pop();
    ++work.steps;
    order.push_back(op);
    if (members[op].empty())
      finish(op);
    else
      std::for_each(members[op].begin(), members[op].end(), finish);
  }
  assert(order.size() == numLeft && "the buckets depend on each other");
  return order;
}

std::vector<uint32_t>
regather::orderBuckets(const DependencyGraph &graph,
                       const std::vector<CollectiveOps> &collectives,
                       const std::vector<BucketPart> &parts,
                       const std::vector<bool> &isEarly, BucketWork *work) {
  BucketWork ignored;
  return BucketOrder(graph, collectives, parts, isEarly, work ? *work : ignored)
      .run();
}
