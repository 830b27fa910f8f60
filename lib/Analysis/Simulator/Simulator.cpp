//===- Simulator.cpp - When everything in a step happens ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   until nothing is under way any more:
//     begin all that can begin now
//     find the speed at which each thing under way goes on
//     go to the instant at which the first of them is done
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Simulator/Simulator.h"

#include "../Activity.h"
#include "SimulationTrace.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>
#include <limits>

using namespace llvm;
using namespace regather;

namespace {
/// The groups of one class on one stream.
struct Communicator {
  uint32_t stream = 0;
  uint32_t link = 0;
  uint32_t placement = 0;
  ArrayRef<uint32_t> members;
  Activity activity;
  /// Number of collectives that are complete.
  uint32_t numDone = 0;
};

/// The ranks of one class.
struct Rank {
  /// By stream.
  std::vector<uint32_t> communicators;
  std::vector<uint32_t> numIssued;
  Activity compute;
  /// Of the next operation to issue.
  size_t place = 0;
  /// The compute stream is blocked at a wait.
  bool isWaiting = false;
  /// By link, collectives in flight.
  std::vector<uint32_t> inFlight;
  bool isCommunicating = false;
};

class Simulation {
public:
  Simulation(const TimedGraph &graph, ArrayRef<uint32_t> order,
             const RankClasses &classes, const SimulationOptions &options);
  SimulationResult run();

private:
  bool advance(Rank &rank, RankTimeline &times);
  bool isArrived(const Rank &rank, uint32_t collective) const;
  bool canBegin(const Communicator &communicator) const;
  bool begin(Communicator &communicator);
  void finish(Communicator &communicator);
  void beginAll();
  void setSpeeds();
  bool goToNextEvent();
  void summarize(const Rank &rank, RankTimeline &times) const;

  uint32_t getNext(const Communicator &communicator) const {
    return queues.collectives[communicator.stream][communicator.numDone];
  }

  const TimedGraph &graph;
  ArrayRef<uint32_t> order;
  const SimulationOptions &options;
  StreamQueues queues;
  std::vector<Rank> ranks;
  std::vector<Communicator> communicators;
  SimulationResult result;
  double now = 0;
};
} // namespace

Simulation::Simulation(const TimedGraph &graph, ArrayRef<uint32_t> order,
                       const RankClasses &classes,
                       const SimulationOptions &options)
    : graph(graph), order(order), options(options), queues(graph, order),
      ranks(classes.ranks.size()) {
  result.ranks.resize(ranks.size());
  for (auto [rank, times] : zip(ranks, result.ranks)) {
    rank.numIssued.resize(graph.streams.size());
    rank.communicators.resize(graph.streams.size());
    rank.inFlight.resize(graph.links.size());
    for (std::vector<double> *list : {&times.issued, &times.begin, &times.end})
      list->resize(graph.ops.size());
    times.streamSeconds.resize(graph.streams.size());
    times.linkSeconds.resize(graph.links.size());
  }
  for (uint32_t stream = 0; stream != graph.streams.size(); ++stream) {
    for (const GroupClass &group : classes.groups[stream]) {
      Communicator communicator;
      communicator.stream = stream;
      communicator.link = graph.streams[stream].link;
      communicator.placement = group.placement;
      communicator.members = group.rankClasses;
      for (uint32_t member : group.rankClasses)
        ranks[member].communicators[stream] = communicators.size();
      communicators.push_back(std::move(communicator));
    }
  }
}

bool Simulation::isArrived(const Rank &rank, uint32_t collective) const {
  uint32_t stream = graph.ops[collective].stream;
  return communicators[rank.communicators[stream]].numDone >
         queues.placeInStream[collective];
}

/// Issues operations until the compute stream has something to do or has to
/// wait. True if it got any further.
bool Simulation::advance(Rank &rank, RankTimeline &times) {
  size_t first = rank.place;
  while (!rank.compute.isActive() && rank.place != order.size()) {
    uint32_t number = order[rank.place];
    const TimedOp &op = graph.ops[number];
    if (!rank.isWaiting)
      times.issued[number] = times.begin[number] = now;
    if (op.kind == TimedOpKind::Compute && op.seconds > 0) {
      rank.compute.begin(op.seconds, now);
      return true;
    }
    if (op.kind == TimedOpKind::Wait) {
      rank.isWaiting = !isArrived(rank, op.collective);
      if (rank.isWaiting)
        break;
    }
    if (op.kind == TimedOpKind::Collective)
      ++rank.numIssued[op.stream];
    else
      times.end[number] = now;
    ++rank.place;
  }
  return rank.place != first;
}

bool Simulation::canBegin(const Communicator &communicator) const {
  uint32_t stream = communicator.stream;
  if (communicator.activity.isActive() ||
      communicator.numDone == queues.collectives[stream].size())
    return false;
  for (uint32_t member : communicator.members)
    if (ranks[member].numIssued[stream] == communicator.numDone)
      return false;
  if (!options.serializesConflicts)
    return true;
  ArrayRef<uint32_t> earlier = queues.earlier[stream][communicator.numDone];
  for (auto [other, count] : zip(graph.streams[stream].conflicts, earlier))
    for (uint32_t member : communicator.members)
      if (communicators[ranks[member].communicators[other]].numDone < count)
        return false;
  return true;
}

bool Simulation::begin(Communicator &communicator) {
  if (!canBegin(communicator))
    return false;
  uint32_t number = getNext(communicator);
  for (uint32_t member : communicator.members)
    result.ranks[member].begin[number] = now;
  double seconds = options.groupSeconds
                       ? options.groupSeconds(number, communicator.placement)
                       : graph.ops[number].seconds;
  communicator.activity.begin(seconds, now);
  if (seconds <= 0)
    finish(communicator);
  return true;
}

void Simulation::finish(Communicator &communicator) {
  uint32_t number = getNext(communicator);
  for (uint32_t member : communicator.members)
    result.ranks[member].end[number] = now;
  communicator.activity.finish();
  ++communicator.numDone;
}

void Simulation::beginAll() {
  bool isChanged;
  do {
    isChanged = false;
    for (auto [rank, times] : zip(ranks, result.ranks))
      isChanged |= advance(rank, times);
    for (Communicator &communicator : communicators)
      isChanged |= begin(communicator);
  } while (isChanged);
}

void Simulation::setSpeeds() {
  for (Rank &rank : ranks) {
    llvm::fill(rank.inFlight, 0);
    rank.isCommunicating = false;
    double slowdown = 1;
    for (uint32_t number : rank.communicators) {
      const Communicator &communicator = communicators[number];
      if (!communicator.activity.isActive())
        continue;
      rank.isCommunicating = true;
      ++rank.inFlight[communicator.link];
      slowdown =
          std::max(slowdown, graph.links[communicator.link].computeSlowdown);
    }
    rank.compute.setSpeed(1 / slowdown, now);
  }
  for (Communicator &communicator : communicators) {
    if (!communicator.activity.isActive())
      continue;
    // The slowest rank of the group decides the speed.
    double slowdown = 1;
    for (uint32_t member : communicator.members) {
      const Rank &rank = ranks[member];
      double factor = 1;
      if (options.sharesLinks)
        factor *= rank.inFlight[communicator.link];
      if (rank.compute.isActive())
        factor *= graph.links[communicator.link].collectiveSlowdown;
      slowdown = std::max(slowdown, factor);
    }
    communicator.activity.setSpeed(1 / slowdown, now);
  }
}

/// False if nothing is under way.
bool Simulation::goToNextEvent() {
  double next = std::numeric_limits<double>::infinity();
  for (const Rank &rank : ranks)
    if (rank.compute.isActive())
      next = std::min(next, rank.compute.getEnd());
  for (const Communicator &communicator : communicators)
    if (communicator.activity.isActive())
      next = std::min(next, communicator.activity.getEnd());
  if (next == std::numeric_limits<double>::infinity())
    return false;
  for (auto [rank, times] : zip(ranks, result.ranks)) {
    for (auto [seconds, inFlight] : zip(times.linkSeconds, rank.inFlight))
      if (inFlight > 0)
        seconds += next - now;
    if (rank.isCommunicating)
      times.communicationSeconds += next - now;
  }
  now = next;
  ++result.numEvents;
  for (auto [rank, times] : zip(ranks, result.ranks)) {
    if (!rank.compute.isActive() || rank.compute.getEnd() > now)
      continue;
    times.end[order[rank.place++]] = now;
    rank.compute.finish();
  }
  for (Communicator &communicator : communicators)
    if (communicator.activity.isActive() &&
        communicator.activity.getEnd() <= now)
      finish(communicator);
  return true;
}

void Simulation::summarize(const Rank &rank, RankTimeline &times) const {
  assert(rank.place == order.size() && "the order is one of the graph");
  double issueEnd = 0;
  for (uint32_t number : order) {
    const TimedOp &op = graph.ops[number];
    double seconds = times.end[number] - times.begin[number];
    times.seconds = std::max(times.seconds, times.end[number]);
    if (op.kind == TimedOpKind::Collective) {
      times.streamSeconds[op.stream] += seconds;
      issueEnd = std::max(issueEnd, times.issued[number]);
      continue;
    }
    issueEnd = std::max(issueEnd, times.end[number]);
    if (op.kind == TimedOpKind::Wait)
      times.exposedSeconds += seconds;
    else
      times.computeSeconds += seconds;
  }
  times.exposedSeconds += times.seconds - issueEnd;
}

SimulationResult Simulation::run() {
  do {
    beginAll();
    setSpeeds();
  } while (goToNextEvent());
  for (auto [rank, times] : zip(ranks, result.ranks)) {
    summarize(rank, times);
    result.seconds = std::max(result.seconds, times.seconds);
  }
  return std::move(result);
}

SimulationResult regather::simulate(const TimedGraph &graph,
                                    ArrayRef<uint32_t> order,
                                    const RankClasses &classes,
                                    const SimulationOptions &options) {
  SimulationResult result = Simulation(graph, order, classes, options).run();
  result.criticalPath = traceCriticalPath(
      graph, order, StreamQueues(graph, order), classes, result);
  return result;
}
