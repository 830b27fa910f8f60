//===- ScheduleGraph.cpp - A scheduling problem, indexed ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Contention.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace llvm;
using namespace regather;
using namespace regather::overlap;

/// Rounds to multiples of 2^-40 s, of which sums and differences up to two
/// hours are exact: two orders that take equally long compare equal, and a
/// delay moves what follows without rounding.
static double roundSeconds(double seconds) {
  return std::ldexp(std::round(std::ldexp(seconds, 40)), -40);
}

Graph::Graph(const TimedGraph &timed, bool allowsConflicts)
    : predecessors(timed.predecessors), buffers(timed.buffers),
      residentBytes(timed.residentBytes), numStreams(timed.streams.size()),
      conflicts(numStreams), links(timed.links) {
  uint32_t numOps = timed.ops.size();
  partner.assign(numOps, kNone);
  writtenBytes.resize(numOps);
  for (const auto &[number, op] : enumerate(timed.ops)) {
    kinds.push_back(op.kind);
    streams.push_back(op.stream);
    seconds.push_back(roundSeconds(op.seconds));
    if (op.kind == TimedOpKind::Wait) {
      partner[number] = op.collective;
      partner[op.collective] = number;
    }
  }
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  for (uint32_t op = 0; op != numOps; ++op)
    for (uint32_t predecessor : predecessors[op])
      pairs.emplace_back(predecessor, op);
  successors = IndexLists(numOps, pairs);

  pairs.clear();
  for (const auto &[number, buffer] : enumerate(buffers)) {
    pairs.emplace_back(buffer.writer, number);
    writtenBytes[buffer.writer] += buffer.bytes;
  }
  written = IndexLists(numOps, pairs);

  pairs.clear();
  for (uint32_t buffer = 0; buffer != buffers.size(); ++buffer) {
    SmallVector<uint32_t> list(timed.users[buffer]);
    llvm::sort(list);
    list.erase(llvm::unique(list), list.end());
    users.push(list);
    for (uint32_t user : list)
      pairs.emplace_back(user, buffer);
  }
  used = IndexLists(numOps, pairs);

  ownedBytes.resize(numOps);
  for (const auto &[number, buffer] : enumerate(buffers)) {
    ArrayRef<uint32_t> list = users[number];
    if (buffer.isLiveOut || list.empty())
      continue;
    uint32_t first = list.front();
    if (list.size() == 1 ||
        (list.size() == 2 && isStart(first) && partner[first] == list.back()))
      ownedBytes[first] += buffer.bytes;
  }

  std::vector<bool> isUsed(links.size());
  for (const auto &[number, stream] : enumerate(timed.streams)) {
    if (!allowsConflicts)
      conflicts[number] = stream.conflicts;
    linkOf.push_back(stream.link);
    const TimedLink &link = links[stream.link];
    hasContention |= isUsed[stream.link] || link.computeSlowdown != 1 ||
                     link.collectiveSlowdown != 1 || !conflicts[number].empty();
    isUsed[stream.link] = true;
  }
  tails.resize(numOps);
  for (uint32_t op = numOps; op-- != 0;) {
    for (uint32_t successor : successors[op])
      tails[op] = std::max(tails[op], tails[successor]);
    tails[op] += seconds[op];
  }
  priorities = tails;
  heads.resize(numOps);
  for (uint32_t op = 0; op != numOps; ++op)
    for (uint32_t predecessor : predecessors[op])
      heads[op] =
          std::max(heads[op], heads[predecessor] + seconds[predecessor]);
}

ScheduleScore overlap::computeScore(const Graph &graph,
                                    ArrayRef<uint32_t> order,
                                    std::vector<double> *times) {
  ScheduleScore score;
  if (times)
    times->clear();
  auto finish = [&](double now, double end) {
    score.seconds = end;
    score.exposedSeconds += end - now;
    if (times)
      times->push_back(now);
  };
  if (graph.hasContention) {
    ContentionClock clock(graph);
    for (uint32_t op : order) {
      if (times)
        times->push_back(clock.getNow());
      score.exposedSeconds += clock.run(op);
    }
    double now = clock.getNow();
    finish(now, clock.finish());
  } else {
    Clock clock(graph.numStreams);
    std::vector<double> ends(graph.size());
    for (uint32_t op : order) {
      if (times)
        times->push_back(clock.now);
      score.exposedSeconds += clock.run(graph, op, ends);
    }
    finish(clock.now, clock.getEnd());
  }
  score.peakBytes = computePeakBytes(graph, order);
  return score;
}

std::vector<int64_t> overlap::computeLiveBytes(const Graph &graph,
                                               ArrayRef<uint32_t> order) {
  std::vector<uint32_t> places = getPlaces(order);
  std::vector<int64_t> live(order.size() + 1, 0);
  live[0] = graph.residentBytes;
  for (const auto &[number, buffer] : enumerate(graph.buffers)) {
    // Live from the place behind its writer up to that of its last user.
    uint32_t begin = places[buffer.writer] + 1;
    live[begin] += buffer.bytes;
    if (buffer.isLiveOut)
      continue;
    uint32_t end = begin;
    for (uint32_t user : graph.users[number])
      end = std::max(end, places[user] + 1);
    live[end] -= buffer.bytes;
  }
  for (size_t place = 1; place < live.size(); ++place)
    live[place] += live[place - 1];
  return live;
}

int64_t overlap::computePeakBytes(const Graph &graph,
                                  ArrayRef<uint32_t> order) {
  std::vector<int64_t> live = computeLiveBytes(graph, order);
  int64_t peak = live.front();
  for (auto [place, op] : enumerate(order))
    peak = std::max(peak, live[place] + graph.writtenBytes[op]);
  return peak;
}

bool overlap::keepsStreamLimits(const Graph &graph, ArrayRef<uint32_t> order,
                                uint32_t inFlight) {
  std::vector<uint32_t> flying(graph.numStreams, 0);
  for (uint32_t op : order) {
    if (graph.isWait(op))
      --flying[graph.streams[graph.partner[op]]];
    if (!graph.isStart(op) || !graph.hasWait(op))
      continue;
    uint32_t stream = graph.streams[op];
    if (inFlight != 0 && flying[stream] == inFlight)
      return false;
    ++flying[stream];
    for (uint32_t other : graph.conflicts[stream])
      if (flying[other] != 0)
        return false;
  }
  return true;
}
