//===- Score.cpp - What a change of an order takes ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Score.h"

#include "Contention.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace regather;
using namespace regather::overlap;

IncrementalScore::IncrementalScore(const Graph &graph, Order order,
                                   const Limits &limits)
    : graph(graph), order(std::move(order)), limits(limits),
      times(graph.size() + 1), ends(graph.size()), newEnds(graph.size()),
      seen(graph.buffers.size(), 0) {
  recompute();
}

double IncrementalScore::getExposedSeconds(uint32_t op) const {
  uint32_t place = places[op];
  return graph.isWait(op) ? times[place + 1] - times[place] : 0;
}

void IncrementalScore::recompute() {
  places = getPlaces(order);
  live = computeLiveBytes(graph, order);
  lastUse.assign(graph.buffers.size(), 0);
  for (uint32_t buffer = 0; buffer != graph.buffers.size(); ++buffer) {
    lastUse[buffer] = places[graph.buffers[buffer].writer];
    for (uint32_t user : graph.users[buffer])
      lastUse[buffer] = std::max(lastUse[buffer], places[user]);
    if (graph.buffers[buffer].isLiveOut)
      lastUse[buffer] = graph.size();
  }
  Clock clock(graph.numStreams);
  std::vector<uint32_t> numInFlight(graph.numStreams, 0);
  checkpoints.clear();
  for (auto [place, op] : enumerate(order)) {
    if (place % kStride == 0)
      checkpoints.push_back({clock.streamFree, numInFlight});
    times[place] = clock.now;
    startOrWait(op, numInFlight);
    clock.run(graph, op, ends);
  }
  times[order.size()] = clock.now;
  seconds = clock.getEnd();
  if (graph.hasContention)
    seconds = computeScore(graph, order, &times).seconds;
  newEnds = ends;
  work += order.size();
}

/// Counts the collectives in flight; false if they are too many.
bool IncrementalScore::startOrWait(uint32_t op,
                                   std::vector<uint32_t> &numInFlight) const {
  if (graph.isWait(op))
    --numInFlight[graph.streams[graph.partner[op]]];
  if (!graph.isStart(op) || !graph.hasWait(op))
    return true;
  uint32_t stream = graph.streams[op];
  ++numInFlight[stream];
  return (limits.inFlight == 0 || numInFlight[stream] <= limits.inFlight) &&
         none_of(graph.conflicts[stream],
                 [&](uint32_t other) { return numInFlight[other] != 0; });
}

/// Memory changes only within the window.
bool IncrementalScore::fitsMemory(uint32_t begin, ArrayRef<uint32_t> window) {
  uint32_t end = begin + window.size();
  dying.assign(window.size(), 0);
  ++stamp;
  for (size_t i = window.size(); i-- != 0;) {
    auto visit = [&](uint32_t buffer) {
      if (lastUse[buffer] >= end || seen[buffer] == stamp)
        return;
      seen[buffer] = stamp;
      dying[i] += graph.buffers[buffer].bytes;
    };
    llvm::for_each(graph.used[window[i]], visit);
    // Buffers that nobody uses are live at their writer alone.
    llvm::for_each(graph.written[window[i]], visit);
  }
  int64_t bytes = live[begin];
  for (auto [op, dead] : zip_equal(window, dying)) {
    bytes += graph.writtenBytes[op];
    if (bytes > limits.bytes)
      return false;
    bytes -= dead;
  }
  return true;
}

/// True if everything from `place` on happens as before the change, but for a
/// constant delay. Collectives that were started before the change are complete
/// at `latestBefore`.
bool IncrementalScore::hasConverged(uint32_t place, const Clock &clock,
                                    double latestBefore) {
  double delay = clock.now - times[place];
  double earliest = std::min(clock.now, times[place]);
  if (delay != 0 && latestBefore > earliest)
    return false;
  for (auto [now, before] :
       zip_equal(clock.streamFree, checkpoints[place / kStride].streamFree))
    if (now - before != delay && (now > clock.now || before > times[place]))
      return false;
  llvm::erase_if(started, [&](uint32_t start) {
    return graph.hasWait(start) && places[graph.partner[start]] < place;
  });
  return llvm::all_of(started, [&](uint32_t start) {
    return newEnds[start] - ends[start] == delay ||
           (newEnds[start] <= clock.now && ends[start] <= times[place]);
  });
}

std::optional<double> IncrementalScore::evaluate(uint32_t begin,
                                                 ArrayRef<uint32_t> window) {
  work += window.size();
  if (!fitsMemory(begin, window))
    return std::nullopt;
  uint32_t end = begin + window.size();
  const Checkpoint &checkpoint = checkpoints[begin / kStride];
  std::vector<uint32_t> numInFlight = checkpoint.numInFlight;
  Clock clock(graph.numStreams);
  clock.streamFree = checkpoint.streamFree;
  for (uint32_t place = begin / kStride * kStride; place != begin; ++place) {
    startOrWait(order[place], numInFlight);
    if (graph.isStart(order[place]))
      clock.streamFree[graph.streams[order[place]]] = ends[order[place]];
  }
  if (graph.hasContention)
    return evaluateWithContention(begin, window, numInFlight);
  clock.now = times[begin];
  double latestBefore = 0;
  for (double free : clock.streamFree)
    latestBefore = std::max(latestBefore, free);

  // Undoes the changes of the last evaluation.
  started.clear();
  std::vector<uint32_t> changed;
  auto run = [&](uint32_t op) {
    clock.run(graph, op, newEnds);
    if (graph.isStart(op)) {
      started.push_back(op);
      changed.push_back(op);
    }
  };
  auto restore = [&] {
    for (uint32_t start : changed)
      newEnds[start] = ends[start];
  };
  for (uint32_t op : window) {
    if (!startOrWait(op, numInFlight)) {
      restore();
      return std::nullopt;
    }
    run(op);
  }
  std::optional<double> total;
  uint32_t place = end;
  for (; place != order.size() && !total; ++place) {
    if (place % kStride == 0 && hasConverged(place, clock, latestBefore)) {
      total = seconds + (clock.now - times[place]);
      break;
    }
    run(order[place]);
  }
  work += place - begin;
  restore();
  return total ? *total : clock.getEnd();
}

/// Runs all operations again, since speeds depend on everything under way.
std::optional<double>
IncrementalScore::evaluateWithContention(uint32_t begin,
                                         ArrayRef<uint32_t> window,
                                         std::vector<uint32_t> &numInFlight) {
  for (uint32_t op : window)
    if (!startOrWait(op, numInFlight))
      return std::nullopt;
  ContentionClock clock(graph);
  for (uint32_t op : ArrayRef(order).take_front(begin))
    clock.run(op);
  for (uint32_t op : window)
    clock.run(op);
  for (uint32_t op : ArrayRef(order).drop_front(begin + window.size()))
    clock.run(op);
  work += order.size();
  return clock.finish();
}

void IncrementalScore::accept(uint32_t begin, ArrayRef<uint32_t> window) {
  llvm::copy(window, order.begin() + begin);
  recompute();
}
